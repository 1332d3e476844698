"""A reply as the Messages API writes it: one JSON message, or the bytes of its event stream."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import Any

import orjson

from gateway.demo.connection import LAST_CHUNK, Act, Stamp, chunk, head

Event = dict[str, Any] | bytes | Stamp
"""One event of a stream: its data, or the finished bytes of its frame."""

SSE_HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "transfer-encoding": "chunked",
}
_DELTA = b"event: content_block_delta\n"
_WRITE_TOGETHER = 64
_TOKEN = re.compile(
    r"[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]{1,2}"  # Chinese, Japanese, Korean: by characters
    r"|[^\s\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef]+\s*|\s+"
)


@dataclass(frozen=True, slots=True)
class GeneratedText:
    """A text block of `count` pieces that cost nothing to make: `000 `, `001 `, … or, stamped, send times."""

    count: int
    stamped: bool = False


@dataclass(frozen=True, slots=True)
class Raw:
    """An event that goes into the stream as it is."""

    event: dict[str, Any]


Part = dict[str, Any] | GeneratedText | Raw


@dataclass(frozen=True, slots=True)
class InputUsage:
    input_tokens: int = 0
    cache_creation_input_tokens: int = 0
    cache_read_input_tokens: int = 0


@dataclass(frozen=True, slots=True)
class DemoReply:
    """An answer of the demo: content blocks as the API returns them (with `GeneratedText` and `Raw` between),
    and how it is sent. `pace` is in seconds between deltas; `burst` sends everything in one write."""

    id: str
    model: str
    parts: Sequence[Part]
    stop_reason: str | None = "end_turn"
    usage: InputUsage = field(default_factory=InputUsage)
    pace: float = 0.0
    burst: bool = False

    @property
    def output_tokens(self) -> int:
        """An estimate: one token for each piece."""
        return max(1, sum(_weight(part) for part in self.parts))


def _weight(part: Part) -> int:
    match part:
        case GeneratedText(count):
            return count
        case Raw():
            return 0
        case _:
            return len(orjson.dumps(part)) // 4


def message(reply: DemoReply) -> dict[str, Any]:
    """The answer to a request that does not stream."""
    content = [
        {"type": "text", "text": "".join(f"{n % 1000:03d} " for n in range(part.count))}
        if isinstance(part, GeneratedText)
        else part
        for part in reply.parts
        if not isinstance(part, Raw)
    ]
    usage = usage_of(reply, reply.output_tokens)
    return {**_envelope(reply), "content": content, **_stop(reply), "usage": usage}


def _envelope(reply: DemoReply) -> dict[str, Any]:
    return {"id": reply.id, "type": "message", "role": "assistant", "model": reply.model}


def _stop(reply: DemoReply) -> dict[str, Any]:
    sequence = "STOP" if reply.stop_reason == "stop_sequence" else None
    return {"stop_reason": reply.stop_reason, "stop_sequence": sequence}


def usage_of(reply: DemoReply, output_tokens: int) -> dict[str, int]:
    return {**asdict(reply.usage), "output_tokens": output_tokens}


def events(reply: DemoReply) -> list[Event]:
    """Every event of the stream, in order: message_start, the blocks, message_delta, message_stop."""
    return [start(reply), {"type": "ping"}, *blocks(reply.parts), *end(reply)]


def start(reply: DemoReply) -> dict[str, Any]:
    """message_start."""
    empty = {"content": [], "stop_reason": None, "stop_sequence": None, "usage": usage_of(reply, 1)}
    return {"type": "message_start", "message": {**_envelope(reply), **empty}}


def end(reply: DemoReply) -> list[Event]:
    """message_delta, with the usage so far, and message_stop."""
    usage = usage_of(reply, reply.output_tokens)
    return [{"type": "message_delta", "delta": _stop(reply), "usage": usage}, {"type": "message_stop"}]


def blocks(parts: Iterable[Part], first: int = 0) -> list[Event]:
    """The events of content blocks, numbered from `first`."""
    found: list[Event] = []
    index = first
    for part in parts:
        if isinstance(part, Raw):
            found.append(part.event)
            continue
        found += block(index, part)
        index += 1
    return found


def block(index: int, part: dict[str, Any] | GeneratedText) -> list[Event]:
    """One content block: its start, its deltas, its stop."""
    stop: Event = {"type": "content_block_stop", "index": index}
    match part:
        case GeneratedText(count, stamped):
            return [block_start(index, text_block("")), *_generated(index, count, stamped), stop]
        case {"type": "text", "text": str(text)}:
            return [block_start(index, text_block("")), *text_deltas(index, text), stop]
        case {"type": "thinking", "thinking": str(text), "signature": str(signature)}:
            empty = {"type": "thinking", "thinking": "", "signature": ""}
            signed = delta(index, {"type": "signature_delta", "signature": signature})
            return [block_start(index, empty), *thinking_deltas(index, text), signed, stop]
        case {"type": "tool_use"}:
            written = orjson.dumps(part["input"]).decode()
            return [block_start(index, {**part, "input": {}}), *input_deltas(index, written), stop]
        case _:
            return [block_start(index, part), stop]


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def block_start(index: int, content_block: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_start", "index": index, "content_block": dict(content_block)}


def block_stop(index: int) -> dict[str, Any]:
    return {"type": "content_block_stop", "index": index}


def delta(index: int, change: dict[str, Any]) -> dict[str, Any]:
    return {"type": "content_block_delta", "index": index, "delta": change}


def split(text: str) -> list[str]:
    """A text in pieces as a model writes them: words, or one or two Chinese characters."""
    return _TOKEN.findall(text)


def text_deltas(index: int, text: str) -> list[Event]:
    return _deltas(index, "text", split(text))


def thinking_deltas(index: int, text: str) -> list[Event]:
    return _deltas(index, "thinking", split(text))


def input_deltas(index: int, written: str, size: int = 12) -> list[Event]:
    """The JSON text of a tool's input in pieces of `size`; the first one is empty, as the API writes it."""
    parts = ["", *(written[at : at + size] for at in range(0, len(written), size))]
    return [delta(index, {"type": "input_json_delta", "partial_json": part}) for part in parts]


def _deltas(index: int, kind: str, texts: Iterable[str]) -> list[Event]:
    before = _DELTA + b'data: {"type":"content_block_delta","index":%d,"delta":{"type":"%b_delta","%b":' % (
        index,
        kind.encode(),
        kind.encode(),
    )
    return [b"%b%b}}\n\n" % (before, orjson.dumps(written)) for written in texts]


@lru_cache(maxsize=32)
def _generated(index: int, count: int, stamped: bool) -> list[Event]:
    if stamped:
        whole = _deltas(index, "text", ["@ "])[0]
        assert isinstance(whole, bytes)
        before, _, after = whole.partition(b"@")
        return [Stamp(before, after)] * count
    cycle = _deltas(index, "text", [f"{n:03d} " for n in range(min(count, 1000))])
    return [cycle[n % 1000] for n in range(count)]


def frame(event: Event) -> bytes | Stamp:
    """The SSE frame of one event."""
    if not isinstance(event, dict):
        return event
    return b"event: %b\ndata: %b\n\n" % (str(event.get("type")).encode(), orjson.dumps(event))


def acts(events: Iterable[Event], pace: float = 0.0, burst: bool = False) -> list[Act]:
    """A stream's body as chunks: one chunk per event, a wait of `pace` seconds after each delta; without a
    pace many chunks share a write, and a burst is one chunk."""
    frames = [frame(event) for event in events]
    plain = [part for part in frames if isinstance(part, bytes)]
    if burst and len(plain) == len(frames):
        return [_bytes(chunk(b"".join(plain)))]
    found: list[Act] = []
    waiting: list[bytes] = []
    for part in frames:
        written = chunk(part)
        is_delta = isinstance(part, Stamp) or part.startswith(_DELTA)
        if isinstance(written, Stamp):
            written = Stamp(b"".join([*waiting, written.before]), written.after)
            waiting.clear()
            found.append(written)
        else:
            waiting.append(written)
        if waiting and (len(waiting) >= _WRITE_TOGETHER or (is_delta and pace)):
            found.append(b"".join(waiting))
            waiting.clear()
        if is_delta and pace and not burst:
            found.append(pace)
    if waiting:
        found.append(b"".join(waiting))
    return found


def _bytes(part: bytes | Stamp) -> bytes:
    assert isinstance(part, bytes)
    return part


def stream(
    reply: DemoReply, changed: Iterable[Event] | None = None, headers: Mapping[str, str] | None = None
) -> list[Act]:
    """A whole streamed response; `changed` stands in for the reply's own events."""
    body = acts(events(reply) if changed is None else changed, reply.pace, reply.burst)
    return [head(200, {**SSE_HEADERS, **(headers or {})}), *body, LAST_CHUNK]
