"""`python -m bench.soak`: a gateway under half of what a core gives, for hours, and what it keeps of that.

Slow turns whose readers drop their connection and resume, short chats with a tool, uploads, searches,
memories that are saved and erased, sessions that are deleted, and readers of quiet sessions. The middle third
of the run is compared with the last: what grows from the one to the other never stops growing. Then all
clients leave, and an idle gateway is looked at.
"""

import asyncio
import itertools
import random
import sys
import time
from argparse import ArgumentParser
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import aiohttp

from bench import servers
from bench.figures import Figure, show
from bench.outcome import Outcome, compare
from bench.progress import progress
from bench.reader import TIMEOUT, Reader
from bench.servers import Server

HOURS = 2.0
LOAD = 0.5
"""CPU of the gateway that the short chats aim at, in cores; what the others take counts."""
SLOW, SHORT, IDLE = 10, 4, 20
"""Slow turns, loops of short chats, and readers of quiet sessions, at the same time."""
SLOW_MESSAGE = "/pieces 150\n/pace 100\n/say a piece of a slow answer"
SHORT_MESSAGE = "/call current_time {}\n/then\n/say it is late"
BREAK = (1.0, 6.0)
"""Seconds after which a reader of a slow turn drops its connection."""
LOOK = 10.0
"""Seconds between two looks at the process."""
REST = 60.0
"""Seconds without any client after which, and for which, the idle gateway is measured."""
GROWTH = 5.0
"""Percent by which the memory may be larger in the last third than in the middle one."""
FEW = 5
"""Threads and files by which the two thirds may differ."""
IDLE_CPU = 0.3
"""Percent of a core."""


@dataclass(frozen=True, slots=True)
class Sample:
    """The process at one moment: MB resident, threads, open files, MB of the write-ahead log."""

    memory: float
    threads: int
    files: int
    wal: float


@dataclass(slots=True)
class Soak:
    """A run: its server, what it looked like, what its clients met."""

    server: Server
    until: float
    began: float = field(default_factory=time.monotonic)
    samples: list[Sample] = field(default_factory=list[Sample])
    outcome: Outcome = field(default_factory=Outcome)
    requests: int = 0
    cpu_before: float = 0.0

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.until

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"

    async def look(self) -> None:
        while not self.is_over:
            self.samples.append(sample_of(self.server))
            await asyncio.sleep(LOOK)

    async def leave_room(self) -> None:
        """Waits while the gateway has taken more than its share of CPU."""
        while not self.is_over:
            cpu = self.server.cpu() - self.cpu_before
            if cpu <= LOAD * (time.monotonic() - self.began):
                return
            await asyncio.sleep(0.1)

    def line(self) -> str:
        left = max(self.until - time.monotonic(), 0)
        memory = f"{self.samples[-1].memory:.0f} MB" if self.samples else ""
        return f"{left / 60:.0f} minutes left, {self.outcome.turns} turns, {self.requests} requests, {memory}"


def sample_of(server: Server) -> Sample:
    process, folder = Path(f"/proc/{server.pid}"), server.folder
    assert folder is not None
    wal = sum(path.stat().st_size for path in folder.glob("*.db-wal"))
    threads, files = (sum(1 for _ in (process / name).iterdir()) for name in ("task", "fd"))
    return Sample(server.memory() / 1024**2, threads, files, wal / 1024**2)


async def slow_turns(soak: Soak, http: aiohttp.ClientSession, chance: random.Random) -> None:
    """Turns of fifteen seconds, each read over several connections, and compared with the replay."""
    while not soak.is_over:
        reader = Reader(http, [soak.url], chance, drops_after=BREAK)
        turn = await reader.take_turn(SLOW_MESSAGE)
        soak.outcome.turns += 1
        soak.outcome.ended[turn.status or "?"] += 1
        compare(reader.turns, await reader.replay(), soak.outcome)


async def short_chats(soak: Soak, http: aiohttp.ClientSession, chance: random.Random) -> None:
    """Chats with a tool, some of them in sessions that are deleted afterwards."""
    while not soak.is_over:
        await soak.leave_room()
        reader = Reader(http, [soak.url], chance)
        for _ in range(chance.randint(1, 4)):
            turn = await reader.take_turn(SHORT_MESSAGE)
            soak.outcome.turns += 1
            soak.outcome.ended[turn.status or "?"] += 1
        if chance.random() < 0.5:
            await asked(soak, http, "DELETE", f"/api/sessions/{reader.session_id}")


async def other_requests(soak: Soak, http: aiohttp.ClientSession, _chance: random.Random) -> None:
    """Uploads, searches, and memories that come and go."""
    for number in itertools.count():
        if soak.is_over:
            return
        text = f"Report {number}\n" + f"line of report {number}\n" * 2000
        body = {"content": text, "name": f"report-{number}.txt"}
        ref = (await asked(soak, http, "POST", "/api/artifacts", body)).get("ref")
        await asked(soak, http, "GET", f"/api/sessions?q=late+{number}")
        content = f"The user's locker of week {number} is number {number * 7}."
        memory = (await asked(soak, http, "POST", "/api/memory", {"content": content})).get("id")
        await asked(soak, http, "GET", "/api/memory?q=locker")
        await asked(soak, http, "POST", f"/api/memory/{memory}/erase")
        await asked(soak, http, "DELETE", f"/api/artifacts/{ref}")
        await asyncio.sleep(1)


async def quiet_reader(soak: Soak, http: aiohttp.ClientSession, chance: random.Random) -> None:
    """A tab that is open, and reloaded now and then."""
    session = (await asked(soak, http, "POST", "/api/sessions", {})).get("id")
    while not soak.is_over:
        with suppress(TimeoutError):
            async with asyncio.timeout(min(chance.uniform(20, 120), max(soak.until - time.monotonic(), 0.1))):
                url = f"{soak.url}/api/sessions/{session}/events?follow=1"
                async with http.get(url, headers={"accept": "text/event-stream"}, timeout=TIMEOUT) as answer:
                    if answer.status != 200:
                        soak.outcome.violations.append(f"a quiet session: {answer.status}")
                        await asyncio.sleep(1)
                    async for _ in answer.content.iter_any():
                        pass


async def asked(
    soak: Soak, http: aiohttp.ClientSession, method: str, path: str, body: object = None
) -> dict[str, str]:
    """The JSON of the answer; an answer that is no success is a violation, and {}."""
    soak.requests += 1
    async with http.request(method, soak.url + path, json=body) as answer:
        if answer.status >= 300:
            refused = f"{method} {path}: {answer.status} {(await answer.text())[:200]}"
            soak.outcome.violations.append(refused)
            return {}
        return await answer.json() if answer.status != 204 else {}


Loop = Callable[[Soak, aiohttp.ClientSession, random.Random], Awaitable[None]]
LOOPS: Sequence[tuple[Loop, int]] = (
    (slow_turns, SLOW),
    (short_chats, SHORT),
    (other_requests, 1),
    (quiet_reader, IDLE),
)


async def load(soak: Soak, seed: int) -> None:
    """All clients until the time is over."""
    soak.cpu_before = soak.server.cpu()
    async with (
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http,
        progress(soak.line),
        asyncio.TaskGroup() as group,
    ):
        group.create_task(soak.look())
        for number, loop in enumerate(loop for loop, count in LOOPS for _ in range(count)):
            group.create_task(_awaited(loop(soak, http, random.Random(seed + number))))


async def _awaited(work: Awaitable[None]) -> None:
    await work


def thirds(samples: Sequence[Sample]) -> tuple[Sample, Sample]:
    """The medians of the middle and of the last third."""
    size = len(samples) // 3

    def middle_of(part: Sequence[Sample]) -> Sample:
        return Sample(
            median(each.memory for each in part),
            int(median(each.threads for each in part)),
            int(median(each.files for each in part)),
            median(each.wal for each in part),
        )

    return middle_of(samples[size : 2 * size]), middle_of(samples[2 * size :])


def idle_cpu(server: Server, seconds: float) -> float:
    """Percent of a core that the gateway takes when nobody is there."""
    time.sleep(seconds)
    before, at = server.cpu(), time.monotonic()
    time.sleep(seconds)
    return (server.cpu() - before) / (time.monotonic() - at) * 100


def figures(soak: Soak, cpu: float, rest: float) -> Iterator[Figure]:
    middle, last = thirds(soak.samples)
    after = sample_of(soak.server)
    none = float("inf")
    yield Figure("turns", soak.outcome.turns, "", none)
    yield Figure("other requests", soak.requests, "", none)
    yield Figure("violations", len(soak.outcome.violations), "", 0)
    yield Figure("gateway CPU under load", cpu * 100, "%", none)
    yield Figure("memory, last third", last.memory, "MB", none)
    yield Figure("  more than in the middle third", (last.memory / middle.memory - 1) * 100, "%", GROWTH)
    yield Figure("threads, last third against the middle", last.threads - middle.threads, "", FEW)
    yield Figure("open files, last third against the middle", last.files - middle.files, "", FEW)
    yield Figure("write-ahead logs, last third", last.wal, "MB", none)
    yield Figure("idle: open files", after.files, "", none)
    yield Figure("idle: CPU of a core", idle_cpu(soak.server, rest), "%", IDLE_CPU)


def main() -> int:
    """How many figures missed their aim."""
    parser = ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--hours", type=float, default=HOURS)
    parser.add_argument("--quick", action="store_true", help="two minutes, which say little about memory")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    seconds, rest = (120.0, 10.0) if options.quick else (options.hours * 3600, REST)
    with servers.demo() as upstream, servers.gateway(upstream.port) as server:
        soak = Soak(server, time.monotonic() + seconds)
        asyncio.run(load(soak, options.seed))
        cpu = (server.cpu() - soak.cpu_before) / (time.monotonic() - soak.began)
        missed = show(figures(soak, cpu, rest))
    for violation in soak.outcome.violations[:20]:
        print(violation)
    return missed


if __name__ == "__main__":
    sys.exit(min(main(), 1))
