"""One streamed message, from event data to chunks: a strict reader of the Messages API's stream.

Source: docs.claude.com "Streaming Messages". A stream that breaks the order of events is refused rather than
guessed at; block, delta and event types that are not known pass.
"""

from collections.abc import Iterable
from typing import Any

from gateway.errors import ModelError, TooManyToolCalls
from gateway.messages import Block
from gateway.model.base import Answer, Chunk, Delta, KeyOwner, Started
from gateway.model.bounds import Bounds
from gateway.model.content_block import (
    TEXT_OF,
    OpenBlock,
    text_block_of,
    thinking_block_of,
    tool_block_of,
    unknown_block_of,
)
from gateway.model.event_fields import cleaned, object_in, string_in, text_or_none
from gateway.model.strict_json import parse_event
from gateway.model.text_deltas import delta_head, text_in
from gateway.model.upstream_failures import failure_of_event, protocol_failure, too_large
from gateway.model.usage import ReportedUsage

MAX_DELTA = 16_384
"""Characters of a delta, so that a write to the database, which others wait for, takes little of one
stream."""

_BLOCK_OF = {
    "text_delta": "text",
    "citations_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "thinking",
}
"""The one block type that a delta type belongs to."""
_CUT = frozenset({"max_tokens", "model_context_window_exceeded"})
"""Stop reasons that may cut the last block short."""


class MessageStream:
    """Reads the events of one stream. `started` is set by `message_start`, `finished` with the `Answer` (what
    follows it is ignored). `failure` is set once something is wrong: the chunks returned so far are good,
    nothing follows. `progress` is whether the last `feed` brought the message further: pings, empty deltas
    and events of unknown types do not.

    What is kept is bounded: beyond `bounds`, by at most what arrived together, the stream has failed."""

    def __init__(self, bounds: Bounds | None = None, key_of: KeyOwner | None = None) -> None:
        self._key_of: KeyOwner | None = key_of
        self.failure: ModelError | None = None
        self.started = self.finished = self.progress = False
        self._bounds = bounds or Bounds()
        self._size = self._arguments = 0
        self._closing = False
        self._response_id: str | None = None
        self._model: str | None = None
        self._stop_reason: str | None = None
        self._usage = ReportedUsage()
        self._block: OpenBlock | None = None
        self._blocks = 0
        self._content: list[Block] = []
        self._tool_ids: set[str] = set()
        self._bad_inputs: dict[str, str] = {}
        self._unwritten_input: str | None = None
        self._chunks: list[Chunk] = []

    @property
    def model(self) -> str | None:
        """What the endpoint calls the model that answers; None before `message_start`."""
        return self._model

    def feed(self, events: Iterable[bytes]) -> list[Chunk]:
        """The chunks that `events`, the data that arrived together, make. Text of one block is one delta,
        up to MAX_DELTA."""
        self.progress = False
        try:
            for data in events:
                if self.finished:
                    break
                block = self._block
                if block is not None and (text := text_in(data, block.delta_head)):
                    block.fresh.append(text)
                    self.progress = True
                elif data:
                    self._take(data)
            self._show_text()
            self._check_size()
        except ModelError as failure:
            self._show_text()
            self.failure = failure.with_traceback(None)  # which would hold this stream
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
        if kind == "content_block_delta":
            self._on_delta(event, len(data))
        elif kind == "content_block_start":
            self._on_block_start(event, len(data))
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
        message = object_in(event, "message")
        self.started = self.progress = True
        self._response_id = text_or_none(message.get("id"))
        self._model = text_or_none(message.get("model"))
        self._stop_reason = text_or_none(message.get("stop_reason"))
        self._usage.take(message)
        self._chunks.append(Started(self._response_id, self._model, self._usage.now(), self._key_of))

    def _on_message_delta(self, event: dict[str, Any]) -> None:
        self._expect_between_blocks("message_delta")
        self.progress = self.progress or not self._closing
        self._closing = True
        delta = object_in(event, "delta")
        self._stop_reason = text_or_none(delta.get("stop_reason")) or self._stop_reason
        self._usage.take(event)

    def _on_stop(self) -> None:
        self._expect_between_blocks("message_stop")
        self._check_size()
        if self._stop_reason in _CUT and self._unwritten_input is not None:
            self._bad_inputs[self._unwritten_input] = f"cut off ({self._stop_reason})"
        self.finished = self.progress = True
        self._chunks.append(
            Answer(
                content=self._content,
                stop_reason=self._stop_reason,
                usage=self._usage.now(),
                model=self._model,
                response_id=self._response_id,
                bad_inputs=self._bad_inputs,
                key_of=self._key_of,
            )
        )

    def _expect_between_blocks(self, kind: str) -> None:
        if not self.started:
            raise protocol_failure(f"{kind} before message_start")
        if self._block is not None:
            raise protocol_failure(f"{kind} inside a content block")

    # Blocks

    def _on_block_start(self, event: dict[str, Any], size: int) -> None:
        self._expect_between_blocks("content_block_start")
        index, start = event.get("index"), object_in(event, "content_block")
        if self._closing:
            raise protocol_failure("a content block after message_delta")
        if type(index) is not int or index != self._blocks:
            raise protocol_failure(f"content block {index!r:.20} where {self._blocks} is due")
        if self._blocks == self._bounds.blocks:
            raise too_large(f"it has over {self._bounds.blocks} content blocks")
        kind = start.get("type")
        if not isinstance(kind, str):
            raise protocol_failure("a content block without a type")
        self._unwritten_input = None
        self._block = OpenBlock(index, kind, cleaned(start))
        self._blocks += 1
        self._size += size
        self.progress = True
        if kind == "tool_use":
            self._expect_new_tool(self._block.start)
        elif kind in TEXT_OF:
            self._block.delta_head = delta_head(index, kind)
            text = start.get(TEXT_OF[kind])
            self._block.fresh.append(text if isinstance(text, str) else "")

    def _expect_new_tool(self, start: Block) -> None:
        call_id, name = start.get("id"), start.get("name")
        if not (isinstance(call_id, str) and call_id and isinstance(name, str) and name):
            raise protocol_failure("a tool call without an id or a name")
        if call_id in self._tool_ids:
            raise protocol_failure("two tool calls with one id")
        if len(self._tool_ids) == self._bounds.tool_calls:
            raise TooManyToolCalls(self._bounds.tool_calls)
        self._tool_ids.add(call_id)

    def _on_delta(self, event: dict[str, Any], size: int) -> None:
        block, delta = self._block, event.get("delta")
        if block is None or event.get("index") != block.index:
            raise protocol_failure("a delta for a content block that is not open")
        if type(delta) is not dict:
            raise protocol_failure("a delta that is not an object")
        kind = delta.get("type")
        if kind == "input_json_delta":
            self._on_input(block, string_in(delta, "partial_json"))
            return
        belongs = _BLOCK_OF.get(kind) if isinstance(kind, str) else None
        if belongs is None or (block.type not in TEXT_OF and block.type != "tool_use"):
            return
        if block.type != belongs:
            raise protocol_failure(f"{kind} in a {block.type} block")
        if kind == "citations_delta":
            block.citations.append(cleaned(delta.get("citation")))
            self._size += size
            self.progress = True
            return
        text = string_in(delta, "signature" if kind == "signature_delta" else belongs)
        if not text:
            return
        self.progress = True
        if kind == "signature_delta":
            block.signature.append(text)
            self._size += _bytes_of(text)
        else:
            block.fresh.append(text)

    def _on_input(self, block: OpenBlock, written: str) -> None:
        if block.type in TEXT_OF:
            raise protocol_failure(f"input_json_delta in a {block.type} block")
        if not written:
            return
        block.written.append(written)
        size = _bytes_of(written)
        self._size += size
        self._arguments += size
        self.progress = True

    def _on_block_stop(self, event: dict[str, Any]) -> None:
        block = self._block
        if block is None or event.get("index") != block.index:
            raise protocol_failure("content_block_stop for a content block that is not open")
        self._show_text(last=True)
        self._check_size()  # before anything is parsed
        self._block = None
        self.progress = True
        match block.type:
            case "text":
                content = text_block_of(block)
            case "thinking":
                content = thinking_block_of(block)
            case "tool_use":
                content = self._tool_block(block)
            case _:
                content = unknown_block_of(block)
        if content is not None:
            self._content.append(content)

    def _tool_block(self, block: OpenBlock) -> Block:
        content, problem = tool_block_of(block)
        if problem is not None:
            self._bad_inputs[content["id"]] = problem
        elif not block.written and not content["input"]:
            self._unwritten_input = content["id"]
        return content

    def _show_text(self, last: bool = False) -> None:
        """Makes deltas of what is fresh: one, unless very much came at once."""
        block = self._block
        if block is None or not (text := block.show(last)):
            return
        self._size += _bytes_of(text)
        kind = "thinking" if block.type == "thinking" else "text"
        self._chunks += [Delta(kind, text[at : at + MAX_DELTA]) for at in range(0, len(text), MAX_DELTA)]

    def _check_size(self) -> None:
        """What is over its bound ends the stream: once for all that arrived together, not for each delta."""
        if self._size > self._bounds.size:
            raise too_large(f"it has over {self._bounds.size} bytes (GATEWAY_MAX_ANSWER_SIZE)")
        if self._arguments > self._bounds.arguments:
            raise too_large(
                f"the arguments of its tool calls have over {self._bounds.arguments} bytes, a quarter of "
                "GATEWAY_MAX_ANSWER_SIZE"
            )


def _bytes_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode(errors="surrogatepass"))
