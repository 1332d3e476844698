"""A model's endpoint that costs next to nothing: Messages API streams of ready-made bytes.

It is also a collector that takes spans and metrics and forgets them.

It understands a few of the demo model's directives in the user's message: `/pieces N`, `/pace MS` (else all
come at once), `/stamp` (each piece is the time it was sent at), `/call NAME {json}` (a tool first).
"""

import asyncio
import re
import sys
import time
from argparse import ArgumentParser
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import httptools
import orjson
import uvloop

PIECE = 20
"""Bytes of text in each piece: the digits of a time in nanoseconds, padded."""
CLUMP = 8
"""Pieces in one write when everything comes at once: about what one network packet carries."""

HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    b"request-id: req_bench\r\ntransfer-encoding: chunked\r\n\r\n"
)
LAST_CHUNK = b"0\r\n\r\n"
COLLECTED = frozenset({b"/v1/traces", b"/v1/metrics"})
PIECES = re.compile(r"/pieces (\d+)")
PACE = re.compile(r"/pace (\d+)")
CALL = re.compile(r"/call (\w+) (\{.*?\})(?:\s|$)")


@dataclass(frozen=True, slots=True)
class Plan:
    """What to answer: `pace` is the seconds between pieces, `call` a tool with its arguments as JSON."""

    pieces: int
    pace: float
    stamp: bool
    call: tuple[str, str] | None


def chunk(*events: dict[str, Any]) -> bytes:
    """Events as SSE, each in an HTTP chunk of its own, as the real endpoint sends them."""
    frames = (b"event: %b\ndata: %b\n\n" % (event["type"].encode(), orjson.dumps(event)) for event in events)
    return b"".join(b"%x\r\n%b\r\n" % (len(frame), frame) for frame in frames)


def opening(block: dict[str, Any]) -> bytes:
    message = {
        "id": "msg_bench",
        "type": "message",
        "role": "assistant",
        "model": "bench",
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {"input_tokens": 100, "output_tokens": 1},
    }
    start = {"type": "content_block_start", "index": 0, "content_block": block}
    return chunk({"type": "message_start", "message": message}, start, {"type": "ping"})


def closing(stop_reason: str, output_tokens: int) -> bytes:
    delta = {"stop_reason": stop_reason, "stop_sequence": None}
    return (
        chunk(
            {"type": "content_block_stop", "index": 0},
            {"type": "message_delta", "delta": delta, "usage": {"output_tokens": output_tokens}},
            {"type": "message_stop"},
        )
        + LAST_CHUNK
    )


def delta(kind: str, field: str, value: str) -> bytes:
    return chunk({"type": "content_block_delta", "index": 0, "delta": {"type": kind, field: value}})


TEXT_OPENING = HEAD + opening({"type": "text", "text": ""})
BEFORE, AFTER = delta("text_delta", "text", "?" * PIECE).split(b"?" * PIECE)
PLAIN = delta("text_delta", "text", "a piece of an answer")


def plan(body: dict[str, Any]) -> Plan:
    """The directives of the newest user message that has any."""
    messages = cast("list[dict[str, Any]]", body.get("messages", []))
    answered = (
        any(block.get("type") == "tool_result" for block in blocks(messages[-1])) if messages else False
    )
    for message in reversed(messages):
        text = "\n".join(block["text"] for block in blocks(message) if block.get("type") == "text")
        count = PIECES.search(text)
        if message["role"] == "user" and count:
            pace, call = PACE.search(text), None if answered else CALL.search(text)
            return Plan(
                pieces=int(count[1]),
                pace=int(pace[1]) / 1000 if pace else 0,
                stamp="/stamp" in text,
                call=(call[1], call[2]) if call else None,
            )
    return Plan(pieces=10, pace=0, stamp=False, call=None)


def blocks(message: dict[str, Any]) -> list[dict[str, Any]]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


class Endpoint(asyncio.Protocol):
    """One connection, kept for many requests, without pipelining."""

    def __init__(self) -> None:
        self.parser = httptools.HttpRequestParser(self)
        self.url = b""
        self.body = bytearray()
        self.calls = 0
        self.paused = False
        self.resume: partial[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)
        self.loop = asyncio.get_running_loop()

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        url, self.url = self.url, b""
        body, self.body = self.body, bytearray()
        if not body or b"/count_tokens" in url or url in COLLECTED:
            answer = b'{"input_tokens":100}'
            head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
            self.transport.write(head % len(answer) + answer)
        else:
            self.answer(plan(orjson.loads(body)))

    def answer(self, plan: Plan) -> None:
        if plan.call:
            name, arguments = plan.call
            self.calls += 1
            block = {"type": "tool_use", "id": f"toolu_{id(self)}_{self.calls}", "name": name, "input": {}}
            piece = delta("input_json_delta", "partial_json", arguments)
            self.transport.write(HEAD + opening(block) + piece + closing("tool_use", 20))
            return
        self.transport.write(TEXT_OPENING)
        self.send(plan, plan.pieces, self.loop.time())

    def send(self, plan: Plan, left: int, due: float) -> None:
        """Writes what is due now and comes back for the rest."""
        if self.transport.is_closing():
            return
        if self.paused:
            self.resume = partial(self.send, plan, left, due)
            return
        count = min(left, 1 if plan.pace else CLUMP)
        self.transport.write(b"".join([stamped() for _ in range(count)]) if plan.stamp else PLAIN * count)
        if left == count:
            self.transport.write(closing("end_turn", plan.pieces))
        elif plan.pace:
            self.loop.call_at(due + plan.pace, self.send, plan, left - count, due + plan.pace)
        else:
            self.loop.call_soon(self.send, plan, left - count, due)

    def pause_writing(self) -> None:
        self.paused = True

    def resume_writing(self) -> None:
        self.paused = False
        if self.resume:
            resume, self.resume = self.resume, None
            resume()


def stamped() -> bytes:
    return b"%b%020d%b" % (BEFORE, time.time_ns(), AFTER)


async def serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Endpoint, "127.0.0.1", port, backlog=2048)
    print(f"listening on http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def main() -> None:
    parser = ArgumentParser(prog="python -m bench.upstream", description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    try:
        uvloop.run(serve(parser.parse_args().port))
    except KeyboardInterrupt:
        sys.exit(0)


if __name__ == "__main__":
    main()
