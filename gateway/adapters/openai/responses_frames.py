"""Parts of a turn as a response of OpenAI's API: its events, numbered, and the response itself. Pure.

https://platform.openai.com/docs/api-reference/responses-streaming; fields and values are those of the package
`openai`. The numbers follow from the parts alone: every reader gets the same events with the same numbers,
and one that comes back gets the events after a number.

A turn that waits for its client ends a response; what comes behind is the next one:

    resp_<turn>        … mcp_approval_request │ response.completed
    resp_<turn>.<seq>                           response.created │ mcp_call … response.completed
"""

from collections.abc import Iterator, Mapping, Sequence

import orjson

from gateway.adapters.answer_usage import AnswerUsage
from gateway.adapters.foreign_ids import call_name
from gateway.adapters.openai.openai_frames import REASONS
from gateway.adapters.openai.responses_items import (
    CONSTANT,
    FORMS,
    SERVER,
    Item,
    Json,
    response_id,
    usage_of_response,
)
from gateway.adapters.turn_parts import (
    ApprovalAsked,
    ApprovalGiven,
    AttemptWithdrawn,
    CallAnswered,
    CallMade,
    Closed,
    Data,
    Grew,
    Noted,
    Opened,
    Part,
    Span,
    TurnBegan,
    TurnEnded,
    TurnToolCall,
    Waiting,
    runs_on_client,
)
from gateway.errors import GatewayError
from gateway.events.tool_calls import AUTOMATIC_DECIDERS

CODES: Mapping[str, str] = {
    "upstream_rate_limited": "rate_limit_exceeded",
    "context_overflow": "invalid_prompt",
    "content_refused": "invalid_prompt",
}
"""Of failures; `server_error` of all others. The gateway's own code is the error's `type`."""
INCOMPLETE = {"length": "max_output_tokens", "content_filter": "content_filter"}


class ResponseEvents:
    """Encodes a response as server-sent events, those behind the number `after`; `body` is the response as
    of the last part."""

    def __init__(
        self,
        turn_id: str,
        model: str,
        created: int,
        session_id: str,
        *,
        behind: int | None = None,
        after: int = -1,
    ) -> None:
        """`created`: Unix seconds; `behind`: see `response_id`."""
        about: Json = {"id": response_id(turn_id, behind), "object": "response", "created_at": created}
        self._head = orjson.dumps({**about, "model": model, "conversation": {"id": session_id}, **CONSTANT})[
            :-1
        ]
        self._turn_id = turn_id
        self._after = after
        self._number = 0
        self._status = "queued"
        self.failure: tuple[str, str] | None = None
        self._details: Json | None = None
        self._usage = AnswerUsage()
        if behind is not None:
            self._usage.waits()
        self._total: Json | None = None
        self._items: list[Item] = []
        self._spans: dict[str, Item] = {}
        self._calls: dict[str, Item] = {}
        self._closing: Item | None = None
        self._grew: tuple[bytes, bytes, Item] | None = None

    def encode(self, parts: Sequence[Part]) -> bytes:
        frames: list[bytes] = []
        for part in parts:
            if type(part) is Grew and self._grew is not None:
                before, between, item = self._grew
                item.text.append(part.text[1:-1])
                if self._number > self._after:
                    frames.append(b"%b%d%b%b}\n\n" % (before, self._number, between, part.text))
                self._number += 1
            else:
                frames += self._of(part)
        return b"".join(frames)

    def pause(self, waits_for: Sequence[Waiting]) -> bytes:
        """The end of a response whose turn waits for its client: the next one tells what comes behind."""
        return b"".join(self._end("completed", "completed"))

    def trouble(self, error: GatewayError) -> bytes:
        """Has the number of the event before: nothing is missed by a reader who comes back with it."""
        last = max(self._number - 1, self._after, 0)
        members = {"code": error.code, "message": error.message, "param": None}
        return _written("error", last, orjson.dumps(members)[1:-1])

    def body(self) -> bytes:
        """What is done of it, or has begun."""
        items = (item.done_json or item.json("in_progress") for item in self._items if not item.is_withdrawn)
        error: Json | None = None
        if self.failure is not None:
            code, message = self.failure
            error = {"code": CODES.get(code, "server_error"), "message": message, "type": code}
        return b'%b,"status":"%b","error":%b,"incomplete_details":%b,"output":[%b],"usage":%b}' % (
            self._head,
            self._status.encode(),
            orjson.dumps(error),
            orjson.dumps(self._details),
            b",".join(items),
            orjson.dumps(self._total),
        )

    def _of(self, part: Part) -> Iterator[bytes]:
        closing, self._closing = self._closing, None
        if closing is not None:
            yield from self._close(closing, is_whole=not isinstance(part, AttemptWithdrawn))
        self._usage.count(part)
        match part:
            case TurnBegan():
                self._status = "in_progress"
                for kind in ("created", "in_progress"):
                    yield from self._frame(f"response.{kind}", b'"response":' + self.body())
            case Opened(span):
                yield from self._open(span)
            case Closed(span):
                self._closing, self._grew = self._spans[span.id], None
            case AttemptWithdrawn(_, spans):
                for span in spans:
                    self._spans[span.id].is_withdrawn = True
            case Noted("retrieval", data, seq) if data.get("results") and "mode" not in data:
                yield from self._search(data, seq)
            case TurnEnded():
                yield from self._end_turn(part)
            case CallMade() | CallAnswered() | ApprovalAsked() | ApprovalGiven():
                yield from self._of_call(part)
            case _:
                pass

    def _of_call(self, part: Part) -> Iterator[bytes]:
        match part:
            case CallMade(call) if runs_on_client(call):
                about = {"call_id": call_name(self._turn_id, call.id), "name": call.name}
                yield from self._begin_call(call, "function_call", "fc", about)
                yield from self._done(self._calls.pop(call.id))
            case CallMade(call) if not call.data.get("needs_approval"):
                yield from self._begin_call(call, "mcp_call", "mcp", _on_server(call))
            case ApprovalAsked(call):
                name = call_name(self._turn_id, call.id)
                asked = {**_on_server(call), "arguments": orjson.dumps(call.arguments).decode()}
                item = self._new({"id": name, "type": "mcp_approval_request", **asked})
                yield from self._added(item)
                yield from self._done(item)
            case ApprovalGiven(call, data) if call.id not in self._calls:
                is_asked = data["by"] not in AUTOMATIC_DECIDERS
                by = {"approval_request_id": call_name(self._turn_id, call.id)} if is_asked else {}
                given = call._replace(arguments=data.get("arguments") or call.arguments)
                yield from self._begin_call(given, "mcp_call", "mcp", {**_on_server(call), **by})
            case CallAnswered(call, data) if not runs_on_client(call):
                if call.id not in self._calls:
                    yield from self._begin_call(call, "mcp_call", "mcp", _on_server(call))
                yield from self._answer(self._calls.pop(call.id), data)
            case _:
                pass

    def _open(self, span: Span) -> Iterator[bytes]:
        if span.kind == "text":
            item = self._new({"id": f"msg_{span.id}", "type": "message", "role": "assistant", "content": []})
        else:
            item = self._new({"id": f"rs_{span.id}", "type": "reasoning", "summary": []})
        self._spans[span.id] = item
        form = FORMS[item.type]
        yield from self._added(item)
        yield from self._of_item(item, f"{form.parts}.added", form.place + b'"part":' + form.content % b"")
        kind = f"{form.deltas}.delta".encode()
        before = b'event: %b\ndata: {"type":"%b","sequence_number":' % (kind, kind)
        self._grew = before, b"," + item.where + form.place + form.beside + b'"delta":', item

    def _close(self, item: Item, *, is_whole: bool) -> Iterator[bytes]:
        form, text = FORMS[item.type], b"".join(item.text)
        members = form.place + form.beside + b'"text":"%b"' % text
        yield from self._of_item(item, f"{form.deltas}.done", members)
        yield from self._of_item(item, f"{form.parts}.done", form.place + b'"part":' + form.content % text)
        yield from self._done(item, "completed" if is_whole else "incomplete")

    def _begin_call(self, call: TurnToolCall, kind: str, prefix: str, about: Json) -> Iterator[bytes]:
        """A call, with all of its arguments."""
        item_id = f"{prefix}_{self._turn_id}-{call.id}"
        item = self._calls[call.id] = self._new({"id": item_id, "type": kind, **about, "arguments": ""})
        yield from self._added(item)
        if kind == "mcp_call":
            yield from self._of_item(item, "response.mcp_call.in_progress")
        text = orjson.dumps(call.arguments).decode()
        for name, what in (("delta", b"delta"), ("done", b"arguments")):
            members = b'"%b":%b' % (what, orjson.dumps(text))
            yield from self._of_item(item, f"response.{kind}_arguments.{name}", members)
        item.about["arguments"] = text

    def _answer(self, item: Item, data: Data) -> Iterator[bytes]:
        """The result of a call that ran here."""
        if data["status"] == "ok":
            item.about["output"], kind = data["content"], "completed"
        else:
            content = [{"type": "text", "text": data["content"]}]
            item.about["error"], kind = {"type": "mcp_tool_execution_error", "content": content}, "failed"
        yield from self._of_item(item, f"response.mcp_call.{kind}")
        yield from self._done(item, kind)

    def _search(self, data: Data, seq: int) -> Iterator[bytes]:
        """Sources that were found; memories are none."""
        about: Json = {"id": f"fs_{self._turn_id}-{seq}", "type": "file_search_call"}
        item = self._new({**about, "queries": [data["query"]], "results": None})
        yield from self._added(item)
        for kind in ("in_progress", "searching", "completed"):
            yield from self._of_item(item, f"response.file_search_call.{kind}")
        item.about["results"] = [
            {
                "file_id": hit["id"],
                "filename": hit["source"],
                "score": hit["score"],
                "text": hit["snippet"],
                "attributes": {},  # @ai-sdk/openai refuses a result without them
            }
            for hit in data["results"]
        ]
        yield from self._done(item)

    def _end_turn(self, ended: TurnEnded) -> Iterator[bytes]:
        self.failure, status = ended.failure, ended.data["status"]
        reason = "length" if status == "limit_reached" else REASONS.get(ended.data.get("stop_reason"))
        if self.failure is not None:
            yield from self._end("failed", "failed", ended)
        elif status == "cancelled":
            yield from self._end("incomplete", "cancelled", ended)
        elif reason is not None:
            self._details = {"reason": INCOMPLETE[reason]}
            yield from self._end("incomplete", "incomplete", ended)
        else:
            yield from self._end("completed", "completed", ended)

    def _end(self, kind: str, status: str, ended: TurnEnded | None = None) -> Iterator[bytes]:
        for item in [each for each in self._items if not each.done_json]:
            item.is_withdrawn = True
            yield from self._done(item, "incomplete")
        self._status, self._total = status, usage_of_response(self._usage.of(ended))
        yield from self._frame(f"response.{kind}", b'"response":' + self.body())

    def _new(self, about: Json) -> Item:
        item = Item(len(self._items), about)
        self._items.append(item)
        return item

    def _added(self, item: Item) -> Iterator[bytes]:
        members = b'"output_index":%d,"item":%b' % (item.index, item.json("in_progress"))
        return self._frame("response.output_item.added", members)

    def _done(self, item: Item, status: str = "completed") -> Iterator[bytes]:
        item.done_json = item.json(status)
        members = b'"output_index":%d,"item":%b' % (item.index, item.done_json)
        return self._frame("response.output_item.done", members)

    def _of_item(self, item: Item, kind: str, members: bytes = b"") -> Iterator[bytes]:
        return self._frame(kind, (item.where + members).removesuffix(b","))

    def _frame(self, kind: str, members: bytes) -> Iterator[bytes]:
        number = self._number
        self._number += 1
        if number > self._after:
            yield _written(kind, number, members)


def _written(kind: str, number: int, members: bytes) -> bytes:
    name = kind.encode()
    return b'event: %b\ndata: {"type":"%b","sequence_number":%d,%b}\n\n' % (name, name, number, members)


def _on_server(call: TurnToolCall) -> Json:
    return {"name": call.name, "server_label": SERVER}
