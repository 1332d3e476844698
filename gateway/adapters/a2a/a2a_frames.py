"""Parts of a turn as a task of the Agent2Agent protocol, version 1: whole, or as a stream of updates. Pure.

https://a2a-protocol.org/latest/specification; each frame is an answer of JSON-RPC whose result has the form
of `StreamResponse` in the package `a2a-sdk`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import orjson

from gateway.adapters.turn_answer import TurnAnswer
from gateway.adapters.turn_parts import (
    ApprovalAsked,
    AttemptWithdrawn,
    CallAnswered,
    CallMade,
    CallProgressed,
    Data,
    Grew,
    Noted,
    Opened,
    Part,
    Span,
    StepBegan,
    TurnBegan,
    TurnEnded,
    Waiting,
)
from gateway.errors import (
    Conflict,
    GatewayError,
    NotFound,
    RequestRefused,
    TurnInProgress,
)
from gateway.events.envelope import StoredEvent
from gateway.thinking_in_text import without_thinking

Json = dict[str, Any]

SUBMITTED, WORKING, INPUT_REQUIRED = "SUBMITTED", "WORKING", "INPUT_REQUIRED"
ENDS: Mapping[str, str] = {"failed": "FAILED", "interrupted": "FAILED", "cancelled": "CANCELED"}
"""By the status of `done`; all others are completed."""
ANSWER = "answer"
TASK_NOT_FOUND, NOT_CANCELABLE, UNSUPPORTED = -32001, -32002, -32004
NO_METHOD, BAD_PARAMS, INTERNAL = -32601, -32602, -32603
ERROR_INFO = "type.googleapis.com/google.rpc.ErrorInfo"


class TaskStream:
    """Encodes a turn as server-sent events, and keeps what the task has come to."""

    def __init__(self, turn_id: str, session_id: str, call_id: str | int | None, page: str) -> None:
        """`call_id` is that of the client's call, `page` the address at which a person decides."""
        self._named = {"taskId": turn_id, "contextId": session_id}
        self._page = page
        self._head = b'data: {"jsonrpc":"2.0","id":%b,"result":' % orjson.dumps(call_id)
        artifact = orjson.dumps({**self._named, "append": True})[:-1]
        self._grew = (self._head + b'{"artifactUpdate":' + artifact).replace(
            b"%", b"%%"
        ) + b',"artifact":{"artifactId":"answer","parts":[{"text":%b}]}}}}\n\n'
        self._status: Json = {"state": f"TASK_STATE_{SUBMITTED}"}
        self._asked: Json = {}
        self._about: Json = {}
        self._texts: list[tuple[Span, bytes]] = []
        self._kept: list[Json] = []
        self._has_answer = False
        self._status_messages = 0

    def encode(self, parts: Sequence[Part]) -> bytes:
        frames: list[bytes] = []
        for part in parts:
            if type(part) is Grew:
                if part.span.kind == "text":
                    frames.append(self._add(part.span, part.text))
                continue
            frames += map(self._frame, self._of(part))
        return b"".join(frames)

    def pause(self, waits_for: Sequence[Waiting]) -> bytes:
        approvals = [
            {"id": each.call.id, **each.data} for each in waits_for if isinstance(each, ApprovalAsked)
        ]
        names = ", ".join(each.call.name for each in waits_for)
        text = f"Waiting for approval of {names}." if approvals else f"Waiting for the result of {names}."
        parts: list[Json] = [{"text": text}]
        if approvals:
            parts.append({"data": {"approvals": approvals, "page": self._page}})
        return self._frame(self._status_update(INPUT_REQUIRED, parts))

    def trouble(self, error: GatewayError) -> bytes:
        head = self._head.removesuffix(b'"result":')
        return head + b'"error":%b}\n\n' % orjson.dumps(error_of(error))

    def snapshot(self) -> bytes:
        return self._frame({"task": self.task()})

    def task(self, *, with_history: bool = True) -> Json:
        """What the task has come to."""
        task: Json = {"id": self._named["taskId"], "contextId": self._named["contextId"]}
        task["status"] = self._status
        if self._has_answer:
            task["artifacts"] = [self._answer(), *self._kept]
        elif self._kept:
            task["artifacts"] = self._kept
        if with_history and self._asked:
            task["history"] = [self._asked]
        return {**task, "metadata": {"gateway": self._about}} if self._about else task

    def begin(self, state: str) -> None:
        """The turn is in that state, though its events do not say so."""
        self._status = {"state": f"TASK_STATE_{state}"}

    def _of(self, part: Part) -> Iterator[Json]:
        match part:
            case TurnBegan():
                if self._asked:  # it waited, and goes on
                    self._status = {"state": f"TASK_STATE_{WORKING}"}
                else:
                    self._asked = self._question(part)
                    self._about = {"seq": part.seq, "model": part.data["model"]}
                yield {"task": self.task()}
            case StepBegan(number):
                yield self._status_update(WORKING, metadata={"iteration": number})
            case Opened(span) if span.kind == "text" and self._texts:
                yield from self._blank(span)
            case CallMade(call):
                data = {"type": "tool_call", "id": call.id, "name": call.name, "arguments": call.arguments}
                yield self._status_update(WORKING, [{"data": data}])
            case CallProgressed(call, data) | CallAnswered(call, data):
                kind = "tool_progress" if isinstance(part, CallProgressed) else "tool_result"
                fields = {"type": kind, "id": call.id, "name": call.name, **data}
                yield self._status_update(WORKING, [{"data": fields}])
            case AttemptWithdrawn(_, spans):
                yield from self._withdraw(spans)
            case Noted(kind, data):
                yield self._status_update(WORKING, [{"data": {"type": kind, **data}}])
                if kind == "artifact":
                    yield from self._keep(data)
            case TurnEnded():
                yield from self._ended(part)
            case _:
                pass

    def _add(self, span: Span, text: bytes) -> bytes:
        self._texts.append((span, text))
        if self._has_answer:
            return self._grew % text
        self._has_answer = True
        return (self._grew % text).replace(b'"append":true,', b"", 1)

    def _blank(self, span: Span) -> Iterator[Json]:
        """Between the texts of two iterations."""
        self._texts.append((span, b'"\\n\\n"'))
        yield self._artifact_update({"artifactId": ANSWER, "parts": [{"text": "\n\n"}]}, append=True)

    def _withdraw(self, spans: Sequence[Span]) -> Iterator[Json]:
        """The artifact comes anew, as it was before: without `append` it takes the place of what was sent."""
        gone = {span.id for span in spans}
        kept = [each for each in self._texts if each[0].id not in gone]
        if len(kept) < len(self._texts):
            self._texts = kept
            yield self._artifact_update(self._answer())

    def _keep(self, data: Data) -> Iterator[Json]:
        self._kept.append({"artifactId": data["ref"], "name": data["ref"], "parts": [self._file(data)]})
        yield self._artifact_update(self._kept[-1], lastChunk=True)

    def _ended(self, ended: TurnEnded) -> Iterator[Json]:
        if self._has_answer:
            last = {"artifactId": ANSWER, "parts": [{"text": ""}]}
            yield self._artifact_update(last, append=True, lastChunk=True)
        parts: list[Json] = []
        if ended.failure is not None:
            code, message = ended.failure
            parts = [{"text": f"{code}: {message}"}]
        self._about = {**self._about, **ended.data}
        yield self._status_update(ENDS.get(ended.data["status"], "COMPLETED"), parts, metadata=ended.data)

    def _answer(self) -> Json:
        text: str = "".join(orjson.loads(text) for _, text in self._texts)
        return {"artifactId": ANSWER, "parts": [{"text": without_thinking(text)}]}

    def _question(self, began: TurnBegan) -> Json:
        attached = began.data.get("attachments", ())
        files = [{**self._file(each), "filename": each["name"], **_read(each)} for each in attached]
        name = began.data.get("client_message_id", f"{began.turn_id}-user")
        return {
            "messageId": name,
            **self._named,
            "role": "ROLE_USER",
            "parts": [*([{"text": text}] if (text := began.data["input"]) or not files else []), *files],
        }

    def _file(self, artifact: Data) -> Json:
        url = f"{self._page.partition('#')[0]}api/artifacts/{artifact['ref']}"
        return {"url": url, "mediaType": artifact["mime"]}

    def _status_update(
        self, state: str, parts: Sequence[Json] = (), metadata: Mapping[str, Any] | None = None
    ) -> Json:
        self._status = {"state": f"TASK_STATE_{state}"}
        if parts:
            self._status_messages += 1
            name = f"{self._named['taskId']}-{self._status_messages}"
            status_message = {"messageId": name, **self._named, "role": "ROLE_AGENT", "parts": parts}
            self._status["message"] = status_message
        update: Json = {**self._named, "status": self._status}
        return {"statusUpdate": {**update, "metadata": {"gateway": metadata}} if metadata else update}

    def _artifact_update(self, artifact: Json, **how: bool) -> Json:
        return {"artifactUpdate": {**self._named, "artifact": artifact, **how}}

    def _frame(self, result: Json) -> bytes:
        return self._head + orjson.dumps(result) + b"}\n\n"


class TaskSubscription(TurnAnswer):
    """Tells a task as it is, and then what becomes of it."""

    def __init__(self, stream: TaskStream, head: int, decided: frozenset[str]) -> None:
        super().__init__(stream, head, decided)
        self._stream = stream
        self._is_sent = False
        self._until = head

    def read(self, events: Sequence[StoredEvent]) -> bool:
        may_wait = super().read(events)
        if not self._is_sent:
            self._unsent = b""
            if self.is_finished or events[-1].seq >= self._until:
                self._unsent, self._is_sent = self._stream.snapshot(), True
        return may_wait


def _read(attached: Data) -> Json:
    """What the model gets of a file, beside it; nothing of older turns."""
    return {"metadata": {"gateway": {"reading": attached["reading"]}}} if "reading" in attached else {}


def error_of(error: GatewayError) -> Json:
    """An error of JSON-RPC, with what the gateway says of it as its details."""
    about = {"code": error.code, "retryable": str(error.retryable).lower()}
    info = {"@type": ERROR_INFO, "reason": error.code.upper(), "domain": "chat-gateway", "metadata": about}
    return {"code": _code_of(error), "message": error.message, "data": [info]}


def _code_of(error: GatewayError) -> int:
    match error:
        case NotFound(code="turn_not_found"):
            return TASK_NOT_FOUND
        case NotFound(code="method_not_found"):
            return NO_METHOD
        case Conflict(code="task_over"):
            return NOT_CANCELABLE
        case TurnInProgress() | Conflict():
            return UNSUPPORTED
        case RequestRefused() if not error.retryable:
            return BAD_PARAMS
        case _:
            return INTERNAL
