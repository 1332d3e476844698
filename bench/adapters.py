"""`python -m bench.adapters`: what a piece costs in the dialects of other clients, beside the native stream,
and how much later the first text comes; and how often a thousand followers of one session behind a cache
(nginx) ask the gateway."""

import asyncio
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from time import monotonic, process_time
from typing import Any

import aiohttp
import orjson

from bench import client, servers
from bench.cache import PROGRAM, cached
from bench.client import A2A, AG_UI, AI_SDK, GATEWAY, MESSAGES, OPENAI, RESPONSES, Dialect
from bench.figures import Figure, show
from bench.servers import Server
from gateway.adapters.a2a.a2a_frames import TaskStream
from gateway.adapters.ag_ui.ag_ui_frames import AgUiRun, RunStream
from gateway.adapters.ai_sdk.ai_sdk_frames import UiMessageStream
from gateway.adapters.anthropic.anthropic_frames import AnthropicMessageStream
from gateway.adapters.openai.openai_frames import CompletionChunks
from gateway.adapters.openai.responses_frames import ResponseEvents
from gateway.adapters.turn_answer import Encoder
from gateway.adapters.turn_fold import Fold
from gateway.events.envelope import StoredEvent, encode, encode_scope
from gateway.sse_frames import encode_frames

DIALECTS: Mapping[str, Dialect] = {
    "a2a": A2A,
    "ai-sdk": AI_SDK,
    "ag-ui": AG_UI,
    "anthropic": MESSAGES,
    "openai": OPENAI,
    "responses": RESPONSES,
}
ENCODERS: Mapping[str, Callable[[], Encoder]] = {
    "a2a": lambda: TaskStream("t_bench", "s_bench", 1, "http://localhost/#s=s_bench"),
    "ai-sdk": lambda: UiMessageStream(7),
    "ag-ui": lambda: RunStream(AgUiRun("t", "r")),
    "anthropic": lambda: AnthropicMessageStream(
        "t_bench", "m", "http://localhost/#s=s_bench", 1, shows_calls=True
    ),
    "openai": lambda: CompletionChunks("t_bench", "m", 1, "http://localhost/#s=s_bench", with_usage=True),
    "responses": lambda: ResponseEvents("t_bench", "m", 1, "s_bench"),
}
PIECES = 20_000
CHATS, MESSAGE = 40, "/pieces 200 /pace 10"
ROUNDS = 5
ASKED = 60
"""Chats of each dialect, one after the other, by turns: of two messages each."""
BRIEF = "/pieces 3 /pace 1"
FOLLOWERS, SECONDS = 1000, 6.0
"""The turn takes so long. The followers take longer, here: they all are one process, which reads what the
cache has."""
PAGE = Path(__file__).resolve().parents[1] / "docs" / "durable-streams.md"


def main() -> None:
    parser = ArgumentParser(prog="python -m bench.adapters", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer rounds, and a tenth of the followers")
    quick = parser.parse_known_args()[0].quick
    missed = show([*encoding(), *streaming(2 if quick else ROUNDS), *first_texts(10 if quick else ASKED)])
    if PROGRAM is None:
        print("nginx is not installed: the followers are left out.")
    else:
        missed += show(asyncio.run(following(FOLLOWERS // 10 if quick else FOLLOWERS)))
    sys.exit(0 if quick or not missed else 1)


def encoding() -> Sequence[Figure]:
    """One piece at a time, as live."""
    events = [*turn(PIECES)]
    figures = [Figure("a piece as native frame", timed(events, encode_frames), "us", 5)]
    for name, encoder in ENCODERS.items():
        fold, made = Fold(), encoder()
        took = timed(events, lambda batch, fold=fold, made=made: made.encode(fold.take(batch)))
        figures.append(Figure(f"  as {name}", took, "us", 5))
    return figures


def turn(pieces: int) -> Sequence[StoredEvent]:
    scope = encode_scope("s_bench", "t_bench")
    told = [("turn_start", {"input": "x", "model": "m"}), ("iteration_start", {"attempt": 1})]
    told += [("text", {"text": "four"})] * pieces
    return [
        StoredEvent(seq, kind, "t_bench", encode(seq, kind, 1, scope, orjson.dumps(data), 1))
        for seq, (kind, data) in enumerate(told, start=1)
    ]


def timed(events: Sequence[StoredEvent], handle: Callable[[Sequence[StoredEvent]], object]) -> float:
    began = process_time()
    for event in events:
        handle((event,))
    return (process_time() - began) / len(events) * 1e6


def streaming(rounds: int) -> Sequence[Figure]:
    """The gateway's whole CPU for each piece of slow streams, the best of some rounds, by turns."""
    servers.pin(0, 1)
    with servers.upstream() as model, servers.gateway(model.port, GATEWAY_ALLOWED_MODELS="demo") as server:
        best = dict.fromkeys(["native", *DIALECTS], float("inf"))
        for _ in range(rounds + 1):
            for name, dialect in {"native": GATEWAY, **DIALECTS}.items():
                best[name] = min(best[name], cost(server, dialect))
    native = best.pop("native")
    figures = [Figure("CPU of a piece, native", native, "us", 1000)]
    for name, own in best.items():
        figures.append(Figure(f"  {name}", own, "us", 1000))
        figures.append(Figure(f"  {name} beside native", own / native, "x", 1.15))
    return figures


def cost(server: Server, dialect: Dialect) -> float:
    before = server.cpu()
    load = asyncio.run(client.run(server.port, dialect, MESSAGE, chats=CHATS, at_once=CHATS))
    assert not load.failures, load.failures[:3]
    return (server.cpu() - before) / load.pieces * 1e6


def first_texts(chats: int) -> Sequence[Figure]:
    """From a request to its first text, the median of new chats and of such that go on, beside the native
    stream."""
    servers.pin(0, 1)
    with servers.upstream() as model, servers.gateway(model.port, GATEWAY_ALLOWED_MODELS="demo") as server:
        found = asyncio.run(_asked_by_turns(server.port, chats))
    figures: list[Figure] = []
    for kind, took in zip(("a new chat", "one that goes on"), found, strict=True):
        medians = {name: median(each) * 1000 for name, each in took.items()}
        native = medians.pop("native")
        figures.append(Figure(f"first text of {kind}, native", native, "ms", 1000))
        for name, own in medians.items():
            figures.append(
                Figure(f"  {name}, {own / native:.2f} times that: later by", own - native, "ms", 1)
            )
    return figures


async def _asked_by_turns(port: int, chats: int) -> Sequence[Mapping[str, list[float]]]:
    dialects = {"native": GATEWAY, **DIALECTS}
    found: Sequence[dict[str, list[float]]] = [{name: [] for name in dialects} for _ in range(2)]
    for number in range(-5, chats):  # the first ones warm it up
        for name, dialect in dialects.items():
            before: list[str] = []
            for took in found:
                chat, message = f"{name}-{number}", f"{BRIEF} {name} {number}"
                seconds, answer = await client.first_text(port, dialect, chat, [*before, message])
                before += [message, answer]
                took[name] += [seconds] if number >= 0 else []
    return found


async def following(followers: int) -> Sequence[Figure]:
    """Followers of one running turn through the cache of the documentation, for one user."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        servers.upstream() as model,
        servers.gateway(model.port) as server,
    ):
        url = f"http://127.0.0.1:{server.port}"
        timeout = aiohttp.ClientTimeout(total=300)
        async with (
            cached(PAGE, url, Path(folder)) as (cache, asked),
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0), timeout=timeout) as http,
        ):
            await http.post(f"{url}/api/sessions", json={"id": "s"})
            message = f"/pieces {int(SECONDS * 50)} /pace 20"
            await http.post(f"{url}/api/sessions/s/turns", json={"message": message})
            began, cpu = monotonic(), server.cpu()
            path = f"{cache}/streams/sessions/s"
            counts = await asyncio.gather(*(followed(http, path) for _ in range(followers)))
            seconds = monotonic() - began
            reads = len(asked())
            cpu = server.cpu() - cpu
    assert len(set(counts)) == 1, "not everybody has the same log"
    return [
        Figure(f"reads of {followers:,} followers that come to the gateway", reads / SECONDS, "/s", 20),
        Figure("  and cost it, for each second of the turn, which it runs", cpu / SECONDS * 1000, "ms", 1000),
        Figure("  the last has all of it after", seconds, "s", 300),
    ]


async def followed(http: aiohttp.ClientSession, url: str) -> int:
    """How many events a follower has seen at the end of the turn."""
    count, query = 0, f"live=long-poll&offset={0:020d}"
    while True:
        async with http.get(f"{url}?{query}") as answer:
            assert answer.status in {200, 204}, answer.status
            events: list[Any] = orjson.loads(await answer.read()) if answer.status == 200 else []
            offset, cursor = answer.headers["stream-next-offset"], answer.headers["stream-cursor"]
        count += len(events)
        if events and events[-1]["type"] == "done":
            return count
        query = f"live=long-poll&offset={offset}&cursor={cursor}"


if __name__ == "__main__":
    main()
