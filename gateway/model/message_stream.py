"""One streamed message, from event data to chunks: a strict reader of the Messages API's stream.

Source: docs.claude.com "Streaming Messages". A stream that breaks the order of events is refused rather than
guessed at; block, delta and event types that are not known pass.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from gateway.errors import ModelError
from gateway.messages import Block, Usage, clean_text
from gateway.model.base import Answer, Chunk, Piece, Started
from gateway.model.failures import failure_of_event, protocol_failure
from gateway.model.strict_json import clean_json, parse_event, parse_object

_TEXT_OF = {"text": "text", "thinking": "thinking"}
"""The block types whose text is shown, and the field that holds it."""
_BLOCK_OF = {
    "text_delta": "text",
    "citations_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
}
"""The one block type that a delta type belongs to."""
_USAGE = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
_CUT = frozenset({"max_tokens", "model_context_window_exceeded"})
"""Stop reasons that may cut the last block short."""


@dataclass(slots=True)
class _OpenBlock:
    """A block between its start and its stop. `fresh` is text that no piece carries yet."""

    index: int
    type: str
    start: Block
    fresh: list[str] = field(default_factory=list[str])
    texts: list[str] = field(default_factory=list[str])
    written: list[str] = field(default_factory=list[str])
    signature: list[str] = field(default_factory=list[str])
    citations: list[Any] = field(default_factory=list[Any])


class MessageStream:
    """Reads the events of one stream. `started` is set by `message_start`, `finished` with the `Answer` (what
    follows it is ignored). `failure` is set once something is wrong: the chunks returned so far are good,
    nothing follows. `progress` says whether the last `feed` held any event but pings."""

    def __init__(self) -> None:
        self.failure: ModelError | None = None
        self.started = self.finished = self.progress = False
        self._closing = False
        self._response_id: str | None = None
        self._model: str | None = None
        self._stop_reason: str | None = None
        self._usage: dict[str, int | None] = {name: None if name in _USAGE[:2] else 0 for name in _USAGE}
        self._block: _OpenBlock | None = None
        self._blocks = 0
        self._content: list[Block] = []
        self._tool_ids: set[str] = set()
        self._bad_inputs: dict[str, str] = {}
        self._unwritten_input: str | None = None
        self._chunks: list[Chunk] = []

    def feed(self, events: Iterable[bytes]) -> list[Chunk]:
        """The chunks that `events`, the data that arrived together, make. Text of one block is one piece."""
        self.progress = False
        try:
            for data in events:
                if self.finished:
                    break
                if data:
                    self._take(data)
            self._show_text()
        except ModelError as failure:
            self._show_text()
            self.failure = failure
        chunks, self._chunks = self._chunks, []
        return chunks

    def _take(self, data: bytes) -> None:
        try:
            event = parse_event(data)
        except ValueError:
            raise protocol_failure("an event is not valid JSON") from None
        if type(event) is not dict:
            raise protocol_failure("an event is not a JSON object")
        kind = event.get("type")
        if kind == "ping":
            return
        self.progress = True
        if kind == "content_block_delta":
            self._on_delta(event)
        elif kind == "content_block_start":
            self._on_block_start(event)
        elif kind == "content_block_stop":
            self._on_block_stop(event)
        elif kind == "message_start":
            self._on_start(event)
        elif kind == "message_delta":
            self._on_message_delta(event)
        elif kind == "message_stop":
            self._on_stop()
        elif kind == "error" or (kind is None and "error" in event):
            raise failure_of_event(event)

    # The message

    def _on_start(self, event: dict[str, Any]) -> None:
        if self.started:
            raise protocol_failure("a second message_start")
        message = _object(event, "message")
        self.started = True
        self._response_id = _text_or_none(message.get("id"))
        self._model = _text_or_none(message.get("model"))
        self._stop_reason = _text_or_none(message.get("stop_reason"))
        self._count(message)
        self._chunks.append(Started(self._response_id, self._model, self._usage_now()))

    def _on_message_delta(self, event: dict[str, Any]) -> None:
        self._expect_between_blocks("message_delta")
        self._closing = True
        delta = _object(event, "delta")
        self._stop_reason = _text_or_none(delta.get("stop_reason")) or self._stop_reason
        self._count(event)

    def _on_stop(self) -> None:
        self._expect_between_blocks("message_stop")
        if self._stop_reason in _CUT and self._unwritten_input is not None:
            self._bad_inputs[self._unwritten_input] = f"cut off ({self._stop_reason})"
        self.finished = True
        self._chunks.append(
            Answer(
                content=self._content,
                stop_reason=self._stop_reason,
                usage=self._usage_now(),
                model=self._model,
                response_id=self._response_id,
                bad_inputs=self._bad_inputs,
            )
        )

    def _expect_between_blocks(self, kind: str) -> None:
        if not self.started:
            raise protocol_failure(f"{kind} before message_start")
        if self._block is not None:
            raise protocol_failure(f"{kind} inside a content block")

    # Blocks

    def _on_block_start(self, event: dict[str, Any]) -> None:
        self._expect_between_blocks("content_block_start")
        index, start = event.get("index"), _object(event, "content_block")
        if self._closing:
            raise protocol_failure("a content block after message_delta")
        if type(index) is not int or index != self._blocks:
            raise protocol_failure(f"content block {index!r:.20} where {self._blocks} is due")
        kind = start.get("type")
        if not isinstance(kind, str):
            raise protocol_failure("a content block without a type")
        self._unwritten_input = None
        self._block = _OpenBlock(index, kind, _cleaned(start))
        self._blocks += 1
        if kind == "tool_use":
            self._expect_new_tool(self._block.start)
        elif kind in _TEXT_OF:
            text = start.get(_TEXT_OF[kind])
            self._block.fresh.append(text if isinstance(text, str) else "")

    def _expect_new_tool(self, start: Block) -> None:
        call_id, name = start.get("id"), start.get("name")
        if not (isinstance(call_id, str) and call_id and isinstance(name, str) and name):
            raise protocol_failure("a tool call without an id or a name")
        if call_id in self._tool_ids:
            raise protocol_failure("two tool calls with one id")
        self._tool_ids.add(call_id)

    def _on_delta(self, event: dict[str, Any]) -> None:
        block, delta = self._block, event.get("delta")
        if block is None or event.get("index") != block.index:
            raise protocol_failure("a delta for a content block that is not open")
        if type(delta) is not dict:
            raise protocol_failure("a delta that is not an object")
        kind = delta.get("type")
        if kind == "input_json_delta":
            if block.type in _TEXT_OF:
                raise protocol_failure(f"input_json_delta in a {block.type} block")
            block.written.append(_string(delta, "partial_json"))
            return
        belongs = _BLOCK_OF.get(kind) if isinstance(kind, str) else None
        if belongs is None or (block.type not in _TEXT_OF and block.type != "tool_use"):
            return
        if block.type != belongs:
            raise protocol_failure(f"{kind} in a {block.type} block")
        if kind == "signature_delta":
            block.signature.append(_string(delta, "signature"))
        elif kind == "citations_delta":
            block.citations.append(_cleaned(delta.get("citation")))
        else:
            block.fresh.append(_string(delta, belongs))

    def _on_block_stop(self, event: dict[str, Any]) -> None:
        block = self._block
        if block is None or event.get("index") != block.index:
            raise protocol_failure("content_block_stop for a content block that is not open")
        self._show_text(last=True)
        self._block = None
        match block.type:
            case "text":
                content = self._text_block(block)
            case "thinking":
                content = self._thinking_block(block)
            case "tool_use":
                content = self._tool_block(block)
            case _:
                content = _unknown_block(block)
        if content is not None:
            self._content.append(content)

    def _show_text(self, last: bool = False) -> None:
        """Makes one piece of what is fresh. Half a surrogate pair at its end waits for the other half."""
        block = self._block
        if block is None or not block.fresh:
            return
        text = block.fresh[0] if len(block.fresh) == 1 else "".join(block.fresh)
        block.fresh = []
        if text.endswith("\x00"):  # which is taken out, and must not part the halves of a pair
            text = text.rstrip("\x00")
        if not last and text and "\ud800" <= text[-1] <= "\udbff":
            text, half = text[:-1], text[-1]
            block.fresh.append(half)
        text = clean_text(text)
        if text:
            block.texts.append(text)
            self._chunks.append(Piece("thinking" if block.type == "thinking" else "text", text))

    def _text_block(self, block: _OpenBlock) -> Block | None:
        text = "".join(block.texts)
        if not text:  # the API refuses an empty text block when it comes back
            return None
        given = block.start.get("citations")
        citations = [*(given if isinstance(given, list) else []), *block.citations]
        content = {name: value for name, value in block.start.items() if name != "citations"}
        return {**content, "text": text, **({"citations": citations} if citations else {})}

    def _thinking_block(self, block: _OpenBlock) -> Block | None:
        given = block.start.get("signature")
        signature = (given if isinstance(given, str) else "") + "".join(block.signature)
        if not signature:  # the API refuses unsigned thinking when it comes back
            return None
        return {**block.start, "thinking": "".join(block.texts), "signature": clean_text(signature)}

    def _tool_block(self, block: _OpenBlock) -> Block:
        call_id, written = block.start["id"], "".join(block.written)
        found: Any = block.start.get("input") or {}
        if written:
            try:
                found = parse_object(written)
            except ValueError as why:
                self._bad_inputs[call_id] = str(why)
        elif not found:
            self._unwritten_input = call_id
        elif not isinstance(found, dict):
            self._bad_inputs[call_id] = "not a JSON object"
        return {**block.start, "input": {} if call_id in self._bad_inputs else found}

    # Usage

    def _count(self, holder: dict[str, Any]) -> None:
        """Takes over the counts that are given; one that cannot be a count makes that field unknown."""
        usage = holder.get("usage")
        if not isinstance(usage, dict):
            return
        for name in _USAGE:
            count = usage.get(name)
            if count is not None:
                self._usage[name] = count if type(count) is int and 0 <= count < 2**53 else None

    def _usage_now(self) -> Usage | None:
        known = {name: count for name, count in self._usage.items() if count is not None}
        return Usage(**known) if len(known) == len(_USAGE) else None


def _unknown_block(block: _OpenBlock) -> Block:
    """As it came; a server tool's input, which is written in deltas too, is put where it belongs."""
    try:
        return (
            {**block.start, "input": parse_object("".join(block.written))} if block.written else block.start
        )
    except ValueError:
        return block.start


def _object(event: dict[str, Any], name: str) -> dict[str, Any]:
    value = event.get(name)
    if not isinstance(value, dict):
        raise protocol_failure(f"{event['type']} without {name}")
    return value


def _string(delta: dict[str, Any], name: str) -> str:
    value = delta.get(name)
    if not isinstance(value, str):
        raise protocol_failure(f"{delta['type']} without {name}")
    return value


def _cleaned(value: Any) -> Any:
    try:
        return clean_json(value)
    except ValueError as why:
        raise protocol_failure(str(why)) from None


def _text_or_none(value: object) -> str | None:
    return clean_text(value) if isinstance(value, str) and value else None
