"""One streamed message, from event data to chunks.

Source: docs.claude.com "Streaming Messages", and what servers of its API send that take it less strictly: a
block is known by its index, as in the SDKs, so that several may be open side by side and be stopped in any
order or not at all. Arguments of tools are never guessed at; event, delta and block types that are not known
pass.
"""

from collections.abc import Iterable
from typing import Any

from gateway.errors import ModelError
from gateway.model.base import Answer, Chunk, KeyOwner, Started
from gateway.model.bounds import Bounds
from gateway.model.content_block import TEXT_OF
from gateway.model.error_bodies import error_words
from gateway.model.event_fields import cleaned, object_in, string_in, text_or_none
from gateway.model.message_blocks import MessageBlocks, bytes_of
from gateway.model.sse import DONE, ErrorData
from gateway.model.strict_json import parse_event
from gateway.model.text_deltas import text_in
from gateway.model.upstream_failures import (
    failure_in_event,
    failure_of_event,
    failure_of_other_api,
    failure_of_stop,
    protocol_failure,
    too_large,
)
from gateway.model.usage import ReportedUsage

MAX_PARTS = 100_000
"""Objects and lists in one event, with brackets in its texts: each takes far more work than a character."""
_TEXT_DELTAS = {"text_delta": "text", "thinking_delta": "thinking"}
"""The block type, and the field with the text, of a delta that is shown."""
_MEANS = {
    "content_filter": "refusal",
    "function_call": "tool_use",
    "length": "max_tokens",
    "sensitive": "refusal",
    "stop": "end_turn",
    "tool_calls": "tool_use",
}
"""Stop reasons of OpenAI's API and of Zhipu's, which servers that translate it leave as they are."""
_CUT = frozenset({"max_tokens", "model_context_window_exceeded"})
"""Stop reasons that may cut the last block short."""


class MessageStream:
    """Reads the events of one stream. `started` is set by `message_start`, `finished` with the `Answer` (what
    follows it is ignored): by `message_stop`, or by DONE, as the end of a stream that has told its stop
    reason. `failure` is set once something is wrong: the chunks returned so far are good, nothing follows.
    `notice` is what an event said that may have been an error, in case that the stream breaks off.
    `progress` is whether the last `feed` brought the message further: pings, empty deltas and events of
    unknown types do not.

    What is kept is bounded: beyond `bounds`, by at most what arrived together, the stream has failed."""

    def __init__(self, bounds: Bounds | None = None, key_of: KeyOwner | None = None) -> None:
        self._key_of: KeyOwner | None = key_of
        self.failure: ModelError | None = None
        self.notice: ModelError | None = None
        self.started = self.finished = self.progress = False
        self._is_told = False
        self._response_id: str | None = None
        self._model: str | None = None
        self._stop_reason: str | None = None
        self._stop_sequence: str | None = None
        self._usage = ReportedUsage()
        self._blocks = MessageBlocks(bounds or Bounds())

    @property
    def model(self) -> str | None:
        """What the endpoint calls the model that answers; None before `message_start`."""
        return self._model

    def feed(self, events: Iterable[bytes]) -> list[Chunk]:
        """The chunks that `events`, the data that arrived together, make. Text of one block is one delta,
        up to MAX_DELTA of message_blocks.py."""
        self.progress = False
        blocks = self._blocks
        try:
            for data in events:
                if self.finished:
                    break
                block = blocks.current
                if block is not None and (text := text_in(data, block.delta_head)):
                    block.fresh.append(text)
                    self.progress = True
                elif data:
                    self._take(data)
            blocks.show_text()
            blocks.check_size()
        except ModelError as failure:
            blocks.show_text()
            self.failure = failure.with_traceback(None)  # which would hold this stream
        chunks, blocks.chunks = blocks.chunks, []
        return chunks

    def _take(self, data: bytes) -> None:
        is_error = type(data) is ErrorData
        if len(data) > MAX_PARTS and data.count(b"{") + data.count(b"[") > MAX_PARTS:
            raise too_large(f"an event has over {MAX_PARTS} objects and lists")
        try:
            event = parse_event(bytes(data))
        except ValueError:
            if data.strip() == DONE:
                if self._is_told:
                    self._on_stop()
                return
            if is_error or not data.lstrip().startswith((b"{", b"[")):
                raise failure_of_event(data.decode(errors="replace")) from None
            raise protocol_failure("an event is not valid JSON") from None
        if is_error or isinstance(event, str):
            raise failure_of_event(event)
        if type(event) is not dict:
            raise protocol_failure("an event is not a JSON object")
        self._take_event(event, len(data))

    def _take_event(self, event: dict[str, Any], size: int) -> None:
        kind = event.get("type")
        if kind == "content_block_delta":
            self._on_delta(event, size)
        elif kind == "content_block_start":
            self._on_block_start(event, size)
        elif kind == "content_block_stop":
            self._on_block_stop(event)
        elif kind == "message_start":
            self._on_start(event)
        elif kind == "message_delta":
            self._on_message_delta(event)
        elif kind == "message_stop":
            self._expect_started(event)
            self._on_stop()
        elif (failure := failure_in_event(event) or self._other_api(event)) is not None:
            raise failure
        elif kind is None and self.notice is None and error_words(event).words:
            self.notice = failure_of_event(event)

    def _other_api(self, event: dict[str, Any]) -> ModelError | None:
        return None if self.started else failure_of_other_api(event)

    def feed_whole(self, message: dict[str, Any]) -> list[Chunk]:
        """The chunks of a message that came whole, as an endpoint sends it that does not stream."""
        head = {name: value for name, value in message.items() if name not in {"content", "stop_reason"}}
        content = message.get("content")
        if isinstance(content, str):
            content = [{"type": "text", "text": content}]
        try:
            self._on_start({"type": "message_start", "message": head})
            for index, block in enumerate(content if isinstance(content, list) else []):
                event = {"type": "content_block_start", "index": index, "content_block": block}
                self._on_block_start(event, 0)
                self._blocks.end_at(index)
            self._on_message_delta({"type": "message_delta", "delta": message})
            self._on_stop()
        except ModelError as failure:
            self.failure = failure.with_traceback(None)
        chunks, self._blocks.chunks = self._blocks.chunks, []
        return chunks

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
        self._blocks.chunks.append(Started(self._response_id, self._model, self._usage.now(), self._key_of))

    def _begin(self) -> None:
        """Content begins a message whose start did not come: llama.cpp leaves it out where the first token is
        a piece of a character."""
        if not self.started:
            self._on_start({"type": "message_start", "message": {}})

    def _on_message_delta(self, event: dict[str, Any]) -> None:
        self._expect_started(event)
        delta = event.get("delta")
        stop_reason = text_or_none(delta.get("stop_reason")) if isinstance(delta, dict) else None
        if stop_reason is not None:
            self.progress = self.progress or not self._is_told
            self._stop_reason, self._is_told = _MEANS.get(stop_reason, stop_reason), True
            self._stop_sequence = (
                text_or_none(delta.get("stop_sequence")) if isinstance(delta, dict) else None
            )
        self._usage.take(event)
        if stop_reason is not None and (failure := failure_of_stop(stop_reason)) is not None:
            raise failure

    def _on_stop(self) -> None:
        self._blocks.end_all(self._stop_reason if self._stop_reason in _CUT else None)
        self._blocks.check_size()
        self.finished = self.progress = True
        self._blocks.chunks.append(
            Answer(
                content=self._blocks.content,
                stop_reason=self._stop_reason,
                usage=self._usage.now(),
                model=self._model,
                response_id=self._response_id,
                bad_inputs=self._blocks.bad_inputs,
                thinks_in_text=self._blocks.thinks_in_text,
                key_of=self._key_of,
                stop_sequence=self._stop_sequence,
            )
        )

    def _expect_started(self, event: dict[str, Any]) -> None:
        if not self.started:
            raise protocol_failure(f"{event['type']} before message_start")

    # Blocks

    def _on_block_start(self, event: dict[str, Any], size: int) -> None:
        self._begin()
        start = object_in(event, "content_block")
        kind = start.get("type")
        if not isinstance(kind, str):
            raise protocol_failure("a content block without a type")
        self._blocks.count(size)
        self._blocks.check_size()  # before it is looked through
        self._blocks.begin(_index_in(event), kind, cleaned(start))
        self.progress = True

    def _on_delta(self, event: dict[str, Any], size: int) -> None:
        self._begin()
        delta = event.get("delta")
        if type(delta) is not dict:
            raise protocol_failure("a delta that is not an object")
        index, kind = _index_in(event), delta.get("type")
        if kind in ("text_delta", "thinking_delta"):
            self._on_text(index, _TEXT_DELTAS[kind], delta)
        elif kind == "input_json_delta":
            self._on_input(index, delta)
        elif kind == "signature_delta":
            self._on_signature(index, delta)
        elif kind == "citations_delta":
            block = self._blocks.at(index, "text")
            if block is not None and block.is_open:
                block.citations.append(cleaned(delta.get("citation")))
                self._blocks.count(size)
                self.progress = True

    def _on_text(self, index: object, kind: str, delta: dict[str, Any]) -> None:
        """Text for the block of that index. Where that is of another type, has ended, or was none, the text
        begins a block of its own."""
        text = None if delta.get(kind) is None else string_in(delta, kind)
        if not text:
            return
        block = self._blocks.at(index, kind)
        if block is None or not block.is_open:
            other = self._blocks.at(index)
            if other is not None and not other.is_open:
                other = None
            if other is not None and other.type not in TEXT_OF and other.type != "tool_use":
                return  # what a block of an unknown type holds is not known either
            block = self._blocks.begin(index, kind, {"type": kind, kind: ""}, is_beside=other is not None)
        self._blocks.current = block
        block.fresh.append(text)
        self.progress = True

    def _on_input(self, index: object, delta: dict[str, Any]) -> None:
        written = None if delta.get("partial_json") is None else string_in(delta, "partial_json")
        if not written:
            return
        block = self._blocks.at(index)
        if block is None or not block.is_open:
            raise protocol_failure("input_json_delta for a content block that is not open")
        if block.type in TEXT_OF:
            raise protocol_failure(f"input_json_delta in a {block.type} block")
        block.written.append(written)
        self._blocks.count(bytes_of(written), is_argument=True)
        self.progress = True

    def _on_signature(self, index: object, delta: dict[str, Any]) -> None:
        """Of thinking, also of thinking that has ended."""
        signature = None if delta.get("signature") is None else string_in(delta, "signature")
        block = self._blocks.at(index, "thinking")
        if not signature or block is None:
            return
        block.signature.append(signature)
        self._blocks.count(bytes_of(signature))
        self.progress = True
        if not block.is_open:
            self._blocks.signed_late(block)

    def _on_block_stop(self, event: dict[str, Any]) -> None:
        self._expect_started(event)
        index = _index_in(event)
        if index is None and (newest := self._blocks.at(None)) is not None:
            index = newest.index
        self.progress = self._blocks.end_at(index) or self.progress


def _index_in(event: dict[str, Any]) -> object:
    """What a block is known by: most often a number, None where an endpoint does not number its blocks."""
    index = event.get("index")
    if index is not None and not isinstance(index, (int, str)):
        raise protocol_failure(f"{event['type']} with the index {index!r:.20}")
    return index
