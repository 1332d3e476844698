"""`python -m bench.hostile`: an endpoint that knows no end, a user who asks without one, and what others
notice of them.

The gateway is a process of its own on core 0, the endpoint and the clients share the other core. A message
`/pieces 1 /call NAME {}` has the endpoint answer with the flood of that name.
"""

import asyncio
import secrets
import sys
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from functools import partial
from statistics import median
from typing import cast

import httptools
import orjson
import uvloop

from bench import servers
from bench.cells import warm_up
from bench.client import GATEWAY, Load, chat, percentile, run
from bench.figures import Figure, show
from bench.servers import Server
from bench.upstream import HEAD, Endpoint, Plan, chunk, closing, delta, opening

PIECE = 65_536
MEGABYTE = 1_000_000
LOOK = 0.01
"""Seconds between two looks at the memory."""

STREAMS, PACE = 20, 0.05
"""Streams of others that a flood must not hold up, and the seconds between two pieces of each: 400 latencies
a second."""
ROUNDS, WINDOW = 10, 5.0
"""Rounds, each of so many seconds without floods and so many with them: 20,000 latencies of either kind, 200
of them above the 99th percentile. They take turns, so that what slows the machine for a while slows both."""
FLOOD_RATE, FLOOD_CONNECTIONS = 1000, 20
"""Requests that one user makes in a second, and on how many connections. They are not held back by answers
that do not come, but for those in front of it on the same connection."""
FLOOD_ROUNDS, FLOOD_WINDOW = 6, 10.0
"""Rounds, each of so many seconds without that user and so many with them: a minute of either."""
KEYS = {name: f"{name}-{secrets.token_urlsafe(32)}" for name in ("bench", "hostile")}
REST = 1.0
"""Seconds between two floods: so long after the last one nobody feels it any more."""


def endless(kind: str, field: str, unit: str, size: int) -> Callable[[], Generator[bytes]]:
    """One block with `size` bytes of deltas."""

    def written() -> Generator[bytes]:
        block = {"type": "tool_use", "id": "toolu_flood", "name": "calculate", "input": {}}
        yield opening(block if field == "partial_json" else {"type": field, field: ""})
        piece = delta(kind, field, unit * (PIECE // len(unit)))
        yield from (piece for _ in range(size // PIECE))
        yield closing("end_turn", 10)

    return written


def many_calls(count: int) -> Generator[bytes]:
    """One message with `count` tool calls."""
    yield opening({"type": "text", "text": ""})
    yield chunk({"type": "content_block_stop", "index": 0})
    for index in range(1, count + 1):
        block = {"type": "tool_use", "id": f"toolu_{index}", "name": "current_time", "input": {}}
        start = {"type": "content_block_start", "index": index, "content_block": block}
        yield chunk(start, {"type": "content_block_stop", "index": index})
    message_delta = {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use"},
        "usage": {"output_tokens": 9},
    }
    yield chunk(message_delta, {"type": "message_stop"}) + b"0\r\n\r\n"


FLOODS: dict[str, tuple[str, Callable[[], Generator[bytes]]]] = {
    "text": ("100 MB of text", endless("text_delta", "text", "x", 100 * MEGABYTE)),
    "thinking": ("100 MB of thinking", endless("thinking_delta", "thinking", "x", 100 * MEGABYTE)),
    "input": ("50 MB of arguments", endless("input_json_delta", "partial_json", "[0,", 50 * MEGABYTE)),
    "calls": ("10,000 tool calls", partial(many_calls, 10_000)),
}


class HostileEndpoint(Endpoint):
    """The bench's upstream, which also floods: as fast as the client reads, and no longer than it does."""

    def answer(self, plan: Plan) -> None:
        if plan.call is None or plan.call[0] not in FLOODS:
            super().answer(plan)
            return
        self.transport.write(HEAD)
        self.flood(FLOODS[plan.call[0]][1]())

    def flood(self, parts: Generator[bytes]) -> None:
        while not self.transport.is_closing():
            if self.paused:
                self.resume = partial(self.flood, parts)
                return
            part = next(parts, None)
            if part is None:
                return
            self.transport.write(part)


async def serve(port: int) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(HostileEndpoint, "127.0.0.1", port, backlog=2048)
    await server.serve_forever()


@contextmanager
def hostile_gateway() -> Generator[Server]:
    """A gateway before a hostile endpoint."""
    command, path = ["bench.hostile", "--port", "{port}"], "/v1/messages/count_tokens"
    with (
        servers.running("hostile", command, {}, core=1, path=path) as endpoint,
        servers.gateway(endpoint.port) as server,
    ):
        yield server


async def flooded(server: Server, name: str) -> float:
    """The seconds until the turn that meets a flood has ended."""
    began = time.perf_counter()
    await run(server.port, GATEWAY, f"/pieces 1 /call {name} {{}}", chats=1, at_once=1)
    return time.perf_counter() - began


@asynccontextmanager
async def memory_seen(server: Server) -> AsyncGenerator[list[int]]:
    """The resident bytes of the server, looked at again and again while the context lasts."""
    seen = [server.memory()]

    async def look() -> None:
        while True:
            seen.append(server.memory())
            await asyncio.sleep(LOOK)

    looking = asyncio.create_task(look())
    try:
        yield seen
    finally:
        looking.cancel()


async def growing(name: str) -> list[Figure]:
    """What a flood adds to the memory of a gateway, at its most."""
    with hostile_gateway() as server:
        await warm_up(server)
        async with memory_seen(server) as seen:
            seconds = await flooded(server, name)
    message = FLOODS[name][0]
    return [
        Figure(f"{message}: memory grown at its most", (max(seen) - seen[0]) / MEGABYTE, "MB", 32),
        Figure(f"{message}: until the turn has ended", seconds, "s", 2),
    ]


@asynccontextmanager
async def others(server: Server) -> AsyncGenerator[Load]:
    """Streams of others, which say something as long as the context lasts; their pieces come evenly."""
    load, message = Load(), f"/pieces {10**6} /pace {PACE * 1000:g} /stamp"
    streams: list[asyncio.Task[None]] = []
    for _ in range(STREAMS):
        streams.append(asyncio.create_task(chat(server.port, server.dialect, message, load)))
        await asyncio.sleep(PACE * (1 + 1 / STREAMS))
    try:
        yield load
        assert not load.failures, load.failures
    finally:
        for stream in streams:
            stream.cancel()
        await asyncio.gather(*streams, return_exceptions=True)


async def latencies(load: Load, server: Server, *floods: str) -> list[float]:
    """The others' latencies, in milliseconds, of WINDOW seconds in which floods come one after another."""
    begin, end = len(load.latencies), time.perf_counter() + WINDOW
    for name in floods:
        await flooded(server, name)
        await asyncio.sleep(REST)
    await asyncio.sleep(end - time.perf_counter())
    return [seconds * 1e3 for seconds in load.latencies[begin:]]


async def disturbing(rounds: int) -> list[Figure]:
    """What others notice: seconds with floods between seconds without."""
    alone, beside = list[float](), list[float]()
    ratios: list[float] = []
    with hostile_gateway() as server:
        await warm_up(server)
        async with others(server) as load:
            for _ in range(rounds):
                without, within = await latencies(load, server), await latencies(load, server, *FLOODS)
                ratios.append(percentile(within, 0.99) / percentile(without, 0.99))
                alone += without
                beside += within
    tell("others alone", alone)
    tell("others beside floods", beside)
    ratio = percentile(beside, 0.99) / percentile(alone, 0.99)
    return [
        Figure("others' p99 beside floods, median of the rounds", median(ratios), "x alone", 1.2),
        Figure("  of all rounds together", ratio, "x alone", float("inf")),
    ]


def hostile_requests() -> list[bytes]:
    """What one user asks in turn: small things, searches, chats, and what is refused."""
    broken = b"{" * 1000
    asked = [
        ("GET", "/api/me", None),
        ("GET", "/api/sessions?q=common+words", None),
        ("POST", "/api/chat", orjson.dumps({"message": "/pieces 1"})),
        ("GET", "/api/sessions/no-such-session", None),
        ("POST", "/api/sessions", broken),
        ("GET", "/api/memory?q=anything", None),
        ("GET", "/api/usage", None),
        ("POST", "/api/sessions", orjson.dumps({"messages": [{"role": "user", "content": "x" * 10_000}]})),
    ]
    requests = list[bytes]()
    for method, path, body in asked:
        head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {KEYS['hostile']}\r\n"
        if body is not None:
            head += f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
        requests.append(head.encode() + b"\r\n" + (body or b""))
    return requests


class HostileConnection(asyncio.Protocol):
    """A connection of that user, which is made anew when it is closed; counts the statuses of `answers`."""

    def __init__(self, answers: Counter[int]) -> None:
        self.answers = answers
        self.transport: asyncio.Transport | None = None
        self.parser = httptools.HttpResponseParser(self)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_message_complete(self) -> None:
        self.answers[self.parser.get_status_code()] += 1

    def connection_lost(self, exc: Exception | None) -> None:
        self.transport = None


async def flood_of_one_user(port: int, seconds: float) -> Counter[int]:
    """Asks so often for so long; the answers by their status (0: could not be sent)."""
    loop, answers, requests = asyncio.get_running_loop(), Counter[int](), hostile_requests()
    connections = list[HostileConnection]()
    began, sent = time.perf_counter(), 0
    while (now := time.perf_counter() - began) < seconds:
        for _ in range(int(now * FLOOD_RATE) - sent):
            place = sent % FLOOD_CONNECTIONS
            if place == len(connections) or connections[place].transport is None:
                made, fresh = await loop.create_connection(
                    lambda: HostileConnection(answers), "127.0.0.1", port
                )
                connections[place : place + 1] = [fresh]
                del made
            if (transport := connections[place].transport) is not None:
                transport.write(requests[sent % len(requests)])
            else:
                answers[0] += 1
            sent += 1
        await asyncio.sleep(0.01)
    await asyncio.sleep(REST)
    for connection in connections:
        if connection.transport is not None:
            connection.transport.abort()
    answers[0] += sent - answers.total()
    return answers


async def one_user_flood(rounds: int) -> list[Figure]:
    """What others notice of one user's requests: seconds with them between seconds without."""
    alone, beside, ratios = list[float](), list[float](), list[float]()
    answers, costs = Counter[int](), list[float]()
    keys = {"GATEWAY_API_KEYS": ",".join(f"{name}:{key}" for name, key in KEYS.items())}
    with servers.upstream() as upstream, servers.gateway(upstream.port, **keys) as server:
        head = f"authorization: Bearer {KEYS['bench']}\r\n"
        known = replace(server, dialect=replace(GATEWAY, head=head))
        await warm_up(known)
        async with others(known) as load:
            await asyncio.sleep(REST)
            for _ in range(rounds):
                begin = len(load.latencies)
                started = server.cpu()
                await asyncio.sleep(FLOOD_WINDOW)
                middle, rested = len(load.latencies), server.cpu()
                answers += await flood_of_one_user(server.port, FLOOD_WINDOW)
                costs.append(server.cpu() - rested - (rested - started))
                without = [seconds * 1e3 for seconds in load.latencies[begin:middle]]
                within = [seconds * 1e3 for seconds in load.latencies[middle:]]
                ratios.append(percentile(within, 0.99) / percentile(without, 0.99))
                alone += without
                beside += within
    tell("others alone", alone)
    tell("others beside one user's flood", beside)
    told = ", ".join(f"{status or 'none'} {count:,}" for status, count in sorted(answers.items()))
    print(f"answers to that user: {told}", file=sys.stderr)
    return [
        Figure("others' p99 beside one user's flood, median of the rounds", median(ratios), "x alone", 1.5),
        Figure("  gateway CPU for that user", median(costs) / FLOOD_WINDOW * 100, "% core", float("inf")),
        Figure(
            "  requests of that user in a second", answers.total() / rounds / FLOOD_WINDOW, "", float("inf")
        ),
    ]


def tell(about: str, values: Sequence[float]) -> None:
    """Prints how latencies are distributed, in milliseconds."""
    shares = ", ".join(f"p{share:g} {percentile(values, share / 100):.1f}" for share in (50, 90, 99, 99.9))
    print(f"{about}, {len(values):,} latencies, ms: {shares}", file=sys.stderr)


def main() -> None:
    parser = ArgumentParser(prog="python -m bench.hostile", description=__doc__)
    parser.add_argument("--port", type=int, help="serve the endpoint there, and measure nothing")
    parser.add_argument("--only", help="measures with this in their name")
    parser.add_argument("--quick", action="store_true", help="one round")
    given = parser.parse_known_args()[0]
    if given.port is not None:
        uvloop.run(serve(given.port))
    servers.pin(0, 1)
    measures = [
        *(partial(growing, name) for name in FLOODS),
        partial(disturbing, 1 if given.quick else ROUNDS),
        partial(one_user_flood, 1 if given.quick else FLOOD_ROUNDS),
    ]
    if given.only:
        measures = [each for each in measures if given.only in each.func.__name__]
    missed = show(figure for measure in measures for figure in uvloop.run(measure()))
    sys.exit(0 if given.quick or not missed else 1)


if __name__ == "__main__":
    main()
