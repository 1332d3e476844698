"""Parts of a turn as a message of Anthropic's Messages API, as a stream or whole. Pure.

https://platform.claude.com/docs/en/api/messages and its page on streaming.
"""

from collections.abc import Iterator, Sequence

import orjson

from gateway.adapters.answer_remarks import STARTS_OVER, asks_approval
from gateway.adapters.answer_usage import AnswerUsage
from gateway.adapters.anthropic.anthropic_message import (
    Json,
    called,
    citations_of,
    error_body,
    signature_of,
    stop_reason_of,
    text_block,
    tool_use,
    usage_of,
)
from gateway.adapters.turn_parts import (
    AttemptWithdrawn,
    CallMade,
    Closed,
    Grew,
    ModelAnswered,
    Noted,
    Opened,
    Part,
    Span,
    StepBegan,
    TurnBegan,
    TurnEnded,
    Waiting,
)
from gateway.errors import GatewayError

GAP = "\n\n"
"""Before each text of a message but the first: programs read them one behind the other."""


class _Message:
    """The state of one answer."""

    def __init__(self, turn_id: str, model: str, page: str, estimate: int, *, shows_calls: bool) -> None:
        """`page` is the address at which a person decides, `estimate` the tokens of the prompt. With
        `shows_calls` calls that run here are sent."""
        self._turn_id = turn_id
        self._model = model
        self._page = page
        self._estimate = estimate
        self._shows_calls = shows_calls
        self._usage = AnswerUsage()
        self._step = 0
        self._stopped_at: str | None = None

    def _about(self) -> Json:
        """Of a turn that waited each answer has an id: programs keep messages by them."""
        name = f"msg_{self._turn_id}" + (f"_{self._step}" if self._step else "")
        return {"id": name, "type": "message", "role": "assistant", "model": self._model}

    def _count(self, part: Part) -> None:
        self._usage.count(part)
        if isinstance(part, StepBegan):
            self._step, self._stopped_at = part.number, None
        elif isinstance(part, ModelAnswered):
            self._stopped_at = part.data.get("stop_sequence")

    def _called(self, part: Part) -> Sequence[Json]:
        return [*called(self._turn_id, part)] if self._shows_calls else ()

    def _asked(self, waits_for: Sequence[Waiting]) -> tuple[Sequence[Json], str]:
        """The last blocks of an answer whose turn waits, and its stop reason."""
        self._usage.waits()
        asks = asks_approval(waits_for, self._page)
        calls = [tool_use(self._turn_id, each.call) for each in waits_for if isinstance(each, CallMade)]
        return [*([text_block(asks)] if asks else []), *calls], "tool_use" if calls else "end_turn"

    def _stops(self, reason: str) -> Json:
        is_told = reason == "stop_sequence"
        return {"stop_reason": reason, "stop_sequence": self._stopped_at if is_told else None}

    def _used(self, ended: TurnEnded | None) -> Json:
        return usage_of(self._usage.of(ended), self._estimate)


class AnthropicMessageStream(_Message):
    """Encodes a turn as server-sent events."""

    def __init__(self, turn_id: str, model: str, page: str, estimate: int, *, shows_calls: bool) -> None:
        super().__init__(turn_id, model, page, estimate, shows_calls=shows_calls)
        self._index = 0
        self._delta = b""
        self._has_text = False
        self._cited: list[Json] = []

    def encode(self, parts: Sequence[Part]) -> bytes:
        frames: list[bytes] = []
        for part in parts:
            if type(part) is Grew:
                frames.append(self._delta % part.text)
            else:
                frames += self._of(part)
        return b"".join(frames)

    def pause(self, waits_for: Sequence[Waiting]) -> bytes:
        blocks, reason = self._asked(waits_for)
        frames = [frame for block in blocks for frame in self._block(block)]
        return b"".join([*frames, *self._end(reason, None)])

    def trouble(self, error: GatewayError) -> bytes:
        return _failed(error.code, error.message)

    def _of(self, part: Part) -> Iterator[bytes]:
        match part:
            case TurnBegan():
                yield from self._begin()
            case Opened(span):
                yield from self._open(span)
            case Closed(span):
                if span.kind == "thinking":
                    yield self._changed({"type": "signature_delta", "signature": signature_of(span)})
                yield self._stop()
            case AttemptWithdrawn(_, spans) if any(span.kind == "text" for span in spans):
                yield from self._block(text_block(STARTS_OVER))
            case Noted("retrieval", data):
                self._cited += citations_of(data)
            case TurnEnded():
                if (reason := stop_reason_of(part)) is not None:
                    yield from self._end(reason, part)
                elif part.failure is not None:
                    yield _failed(*part.failure)
            case _:
                for block in self._called(part):
                    yield from self._block(block)
        self._count(part)

    def _begin(self) -> Iterator[bytes]:
        self._index, self._has_text = 0, False
        self._cited.clear()
        about = self._about() | {"content": [], "stop_reason": None, "stop_sequence": None}
        yield _frame("message_start", {"message": about | {"usage": usage_of([], self._estimate)}})
        yield _frame("ping", {})

    def _open(self, span: Span) -> Iterator[bytes]:
        signed = {"signature": ""} if span.kind == "thinking" else {}
        yield self._start({"type": span.kind, span.kind: "", **signed})
        self._delta = (
            b'event: content_block_delta\ndata: {"type":"content_block_delta","index":%d,'
            b'"delta":{"type":"%b_delta","%b":%%b}}\n\n'
        ) % (self._index, span.kind.encode(), span.kind.encode())
        if span.kind == "text":
            if gap := self._gap():
                yield self._delta % orjson.dumps(gap)
            for cited in self._cited:
                yield self._changed({"type": "citations_delta", "citation": cited})
            self._cited.clear()

    def _block(self, block: Json) -> Iterator[bytes]:
        match block:
            case {"type": "text", "text": text}:
                yield self._start(block | {"text": ""})
                yield self._changed({"type": "text_delta", "text": self._gap() + text})
            case {"type": "tool_use", "input": given}:
                yield self._start(block | {"input": {}})
                yield self._changed(
                    {"type": "input_json_delta", "partial_json": orjson.dumps(given).decode()}
                )
            case _:
                yield self._start(block)
        yield self._stop()

    def _gap(self) -> str:
        """What stands before the next text."""
        gap = GAP if self._has_text else ""
        self._has_text = True
        return gap

    def _start(self, block: Json) -> bytes:
        return _frame("content_block_start", {"index": self._index, "content_block": block})

    def _changed(self, delta: Json) -> bytes:
        return _frame("content_block_delta", {"index": self._index, "delta": delta})

    def _stop(self) -> bytes:
        self._index += 1
        return _frame("content_block_stop", {"index": self._index - 1})

    def _end(self, reason: str, ended: TurnEnded | None) -> Iterator[bytes]:
        yield _frame("message_delta", {"delta": self._stops(reason), "usage": self._used(ended)})
        yield _frame("message_stop", {})


class WholeMessage(_Message):
    """Collects a turn for an answer in one piece. The text of discarded attempts is not in it."""

    def __init__(self, turn_id: str, model: str, page: str, estimate: int, *, shows_calls: bool) -> None:
        super().__init__(turn_id, model, page, estimate, shows_calls=shows_calls)
        self.failure: tuple[str, str] | None = None
        self._message: Json = {}
        self._blocks: dict[str, Json] = {}
        self._pieces: list[str] = []
        self._cited: list[Json] = []

    def encode(self, parts: Sequence[Part]) -> bytes:
        for part in parts:
            self._take(part)
            self._count(part)
        return b""

    def pause(self, waits_for: Sequence[Waiting]) -> bytes:
        blocks, reason = self._asked(waits_for)
        for block in blocks:
            self._add(block)
        self._end(reason, None)
        return b""

    def trouble(self, error: GatewayError) -> bytes:
        self.failure = error.code, error.message
        return b""

    def body(self) -> bytes:
        blocks = [*self._blocks.values()]
        for block in [block for block in blocks if block["type"] == "text"][1:]:
            block["text"] = GAP + block["text"]
        return orjson.dumps(self._message | {"content": blocks})

    def _take(self, part: Part) -> None:
        match part:
            case TurnBegan():
                self._message = self._about()
                self._blocks.clear()
                self._cited.clear()
            case Opened():
                self._pieces = []
            case Grew(_, text):
                self._pieces.append(orjson.loads(text))
            case Closed(span):
                self._close(span, "".join(self._pieces))
            case AttemptWithdrawn(_, spans):
                for span in spans:
                    self._blocks.pop(span.id, None)
            case Noted("retrieval", data):
                self._cited += citations_of(data)
            case TurnEnded():
                if (reason := stop_reason_of(part)) is None:
                    self.failure = part.failure
                else:
                    self._end(reason, part)
            case _:
                for block in self._called(part):
                    self._add(block)

    def _close(self, span: Span, text: str) -> None:
        if span.kind == "thinking":
            block: Json = {"type": "thinking", "thinking": text, "signature": signature_of(span)}
        else:
            block = text_block(text) | ({"citations": [*self._cited]} if self._cited else {})
            self._cited.clear()
        self._blocks[span.id] = block

    def _add(self, block: Json) -> None:
        self._blocks[f"block-{len(self._blocks)}"] = block

    def _end(self, reason: str, ended: TurnEnded | None) -> None:
        self._message |= {**self._stops(reason), "usage": self._used(ended)}


def _frame(kind: str, data: Json) -> bytes:
    return b"event: %b\ndata: %b\n\n" % (kind.encode(), orjson.dumps({"type": kind, **data}))


def _failed(code: str, message: str) -> bytes:
    return b"event: error\ndata: %b\n\n" % error_body(code, message)
