"""What is measured: each cell puts the same load on every server and says which figures it takes from it."""

import asyncio
import tempfile
from collections.abc import Callable, Coroutine, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from bench import client, servers
from bench.client import GATEWAY, Load, percentile
from bench.servers import Server

Figures = dict[str, float]
Start = Callable[[], AbstractContextManager[Server]]
Measure = Callable[[Server, bool], Coroutine[Any, Any, Figures]]
"""Takes the figures of a server; the flag asks for the short form."""

SETTLE = 0.3
"""Seconds between two measurements, so that what one server still tidies up is not charged to the next."""
INDEXED = 2.0
"""Seconds after which what is done beside the turns, the search index above all, has been done."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A load, and how its figures are taken. `fresh` cells start a server of their own for each measurement;
    `servers` are those it is about, if not any, and `rounds` how often it is measured, if not as often as the
    others."""

    name: str
    about: str
    measure: Measure
    fresh: bool = False
    servers: tuple[str, ...] = ()
    rounds: int | None = None

    def measured(self, chosen: Sequence[str]) -> Sequence[str]:
        """The servers that are measured when `chosen` are to be."""
        return self.servers or chosen


async def loaded(
    server: Server, message: str, *, chats: int, at_once: int, ramp: float = 0
) -> tuple[Load, float]:
    """The load and the CPU seconds the server spent on it."""
    await asyncio.sleep(SETTLE)
    before = server.cpu()
    load = await client.run(server.port, server.dialect, message, chats=chats, at_once=at_once, ramp=ramp)
    return load, server.cpu() - before


def burst(at_once: int, chats: int, call: str = "") -> Measure:
    """As many pieces as the server can take, 300 in each chat. The gateway makes `call` first."""

    async def measure(server: Server, quick: bool) -> Figures:
        count = max(at_once, chats // 2) if quick else chats
        message = "/pieces 300" + (call if server.dialect is GATEWAY else "")
        load, cpu = await loaded(server, message, chats=count, at_once=at_once)
        return {
            "pieces/s": load.pieces / load.seconds,
            "pieces per CPU s": load.pieces / cpu,
            "us CPU per piece": cpu / max(load.pieces, 1) * 1e6,
            "pieces per event": load.pieces / max(load.events, 1),
            "first text p99 ms": percentile(load.first_text, 0.99) * 1e3,
            "failures": len(load.failures),
        }

    return measure


def slow(at_once: int, ramp: float) -> Measure:
    """Streams of 20 pieces a second, all open together."""

    async def measure(server: Server, quick: bool) -> Figures:
        pieces = 100 if quick else 240
        message = f"/pieces {pieces} /pace 50 /stamp"
        load, cpu = await loaded(server, message, chats=at_once, at_once=at_once, ramp=ramp)
        return {
            "us CPU per piece": cpu / max(load.pieces, 1) * 1e6,
            "latency p50 ms": percentile(load.latencies, 0.5) * 1e3,
            "latency p99 ms": percentile(load.latencies, 0.99) * 1e3,
            "first text p99 ms": percentile(load.first_text, 0.99) * 1e3,
            "failures": len(load.failures),
        }

    return measure


def one_stream(message: str) -> Measure:
    """One chat after the other."""

    async def measure(server: Server, quick: bool) -> Figures:
        load, _ = await loaded(server, message, chats=30 if quick else 60, at_once=1)
        return {"first text p50 ms": percentile(load.first_text, 0.5) * 1e3, "failures": len(load.failures)}

    return measure


def short(message: str) -> Measure:
    """Chats of ten pieces, ten at a time."""

    async def measure(server: Server, quick: bool) -> Figures:
        chats = 200 if quick else 500
        load, cpu = await loaded(server, message, chats=chats, at_once=10)
        return {
            "ms CPU per chat": cpu / chats * 1e3,
            "chats/s": chats / load.seconds,
            "failures": len(load.failures),
        }

    return measure


async def warm_up(server: Server) -> None:
    """Lets a server load what it loads at the first chats."""
    await client.run(server.port, server.dialect, "/pieces 10", chats=20, at_once=5)
    await asyncio.sleep(SETTLE)


async def memory(server: Server, quick: bool) -> Figures:
    """What 300 open streams add to a fresh, warmed-up server."""
    await warm_up(server)
    idle, streams = server.memory(), 300
    pieces = 40 if quick else 80
    message = f"/pieces {pieces} /pace 100"
    load = asyncio.create_task(
        client.run(server.port, server.dialect, message, chats=streams, at_once=streams, ramp=1)
    )
    await asyncio.sleep(pieces * 0.1 - 0.5)  # all have begun, none has ended
    grown = server.memory() - idle
    return {
        "kB per stream": grown / streams / 1024,
        "idle MB": idle / 1024**2,
        "failures": len((await load).failures),
    }


async def turns(server: Server, quick: bool) -> Figures:
    """What thousands of turns leave behind in a fresh server, after as many that filled what is bounded."""
    chats = 1_000 if quick else 5_000
    await client.run(server.port, server.dialect, "/pieces 3", chats=chats, at_once=10)
    server.series()  # counts itself, so that the next time it is the same
    memory, series = server.memory(), server.series()
    load = await client.run(server.port, server.dialect, "/pieces 3", chats=chats, at_once=10)
    return {
        "MB grown": (server.memory() - memory) / 1024**2,
        "series grown": server.series() - series,
        "failures": len(load.failures),
    }


async def disk(server: Server, quick: bool) -> Figures:
    """What the turns of 20 slow streams add to the database, each piece an event of its own, once there are
    as many loose events as there ever are."""
    pieces = 200 if quick else 500
    message = f"/pieces {pieces} /pace 20"
    await client.run(server.port, server.dialect, message, chats=20, at_once=20)
    await asyncio.sleep(INDEXED)
    before = server.stored()
    load = await client.run(server.port, server.dialect, message, chats=20, at_once=20)
    await asyncio.sleep(INDEXED)
    return {
        "bytes per text event": (server.stored() - before) / max(load.events, 1),
        "pieces per event": load.pieces / max(load.events, 1),
        "failures": len(load.failures),
    }


async def start(server: Server, quick: bool) -> Figures:
    """The CPU until a server answers, on a folder that was used before and on an empty one, and that of
    `gateway --help`; all with the byte code that another start has left. The server that runs already only
    lends its address for a model's."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        cached = {"PYTHONPYCACHEPREFIX": f"{folder}/code", "PYTHONDONTWRITEBYTECODE": ""}
        with servers.gateway(server.port, **cached):
            pass
        with servers.gateway(server.port, GATEWAY_DATA_DIR=folder, **cached) as second:
            empty = second.cpu()
        with servers.gateway(server.port, GATEWAY_DATA_DIR=folder, **cached) as third:
            ready = third.cpu()
        helped = servers.cpu_of(["gateway", "--help"], cached)
    return {"s of CPU to ready": ready, "  on an empty folder": empty, "s of CPU for help": helped}


CALL = " /call current_time {} "

CELLS = {
    cell.name: cell
    for cell in (
        Cell("c1", "one stream: time to first text", one_stream("/pieces 10 /pace 2")),
        Cell(
            "c1tool",
            "the same after a tool round; relays are asked twice",
            one_stream("/pieces 10 /pace 2" + CALL),
        ),
        Cell("c50", "50 chats at once, 300 pieces each, as fast as they come", burst(50, 400)),
        Cell(
            "c50tool",
            "50 chats at once, 300 pieces each, after a tool round; relays are asked once, for the text",
            burst(50, 400, CALL),
        ),
        Cell("c200", "200 chats at once, 300 pieces each, as fast as they come", burst(200, 800)),
        Cell("slow100", "100 streams of 20 pieces a second", slow(100, 1.0)),
        Cell("slow500", "500 streams of 20 pieces a second", slow(500, 2.0)),
        Cell("chat", "short chats: one model call, 10 pieces", short("/pieces 10")),
        Cell("tool", "short chats with a tool round; relays are asked twice", short("/pieces 10" + CALL)),
        Cell("memory", "300 open streams on a fresh server", memory, fresh=True),
        Cell("disk", "what slow streams leave on disk", disk, fresh=True, servers=("gateway",)),
        Cell("start", "the start of `gateway serve`, and `gateway --help`", start, servers=("gateway",)),
        Cell(
            "telemetry",
            "50 streams of 20 pieces a second, telemetry out, in, and with one trace in ten sent",
            slow(50, 0.5),
            servers=("untold", "gateway", "traced"),
        ),
        Cell(
            "durability",
            "100 streams of 20 pieces a second, each on the disk before it is shown, or left to the system",
            slow(100, 1.0),
            servers=("relaxed", "gateway"),
        ),
        Cell(
            "durability50",
            "50 chats at once, 300 pieces each, with every flush on the disk, or pieces left to the system",
            burst(50, 400),
            servers=("relaxed", "gateway"),
        ),
        Cell(
            "turns",
            "10,000 short chats on a fresh server",
            turns,
            fresh=True,
            servers=("untold", "traced"),
            rounds=1,
        ),
    )
}


@contextmanager
def at_hand(cell: Cell, server: Server, start: Start) -> Generator[Server]:
    """The server to measure: the one that runs, or a fresh one."""
    if cell.fresh:
        with start() as fresh:
            yield fresh
    else:
        yield server
