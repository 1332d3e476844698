"""How long the readers of a turn wait when the replica that runs it is killed, frozen or told to end."""

import asyncio
import signal
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, suppress
from itertools import pairwise
from pathlib import Path

import aiohttp

from bench import servers
from bench.client import percentile
from bench.figures import Figure
from bench.reader import AWAY, body_of, frames
from bench.scale.cluster import Cluster
from bench.scale.gateways import settings_of
from bench.victim import Victim

ROUNDS, QUICK_ROUNDS = 8, 1
TURNS = 25
"""Turns that run on the replica; each is a wait."""
LEASE = 10.0
BOUNDS = {signal.SIGKILL: 3.0, signal.SIGSTOP: LEASE + 3, signal.SIGTERM: 1.0}
STEPS = "\n/then\n".join(["/pieces 20 /pace 25\n/call current_time {}"] * 60)
"""Half a second of text and a tool, again and again."""
BEFORE = 1.5
"""Seconds of a turn before something happens to its replica."""
SSE = {"accept": "text/event-stream"}


def takeovers(cluster: Cluster, *, quick: bool) -> Iterator[Figure]:
    """The longest pause between two events of a turn, as its reader on another replica sees them."""
    for how, bound in BOUNDS.items():
        waits: list[float] = []
        for _ in range(QUICK_ROUNDS if quick else ROUNDS):
            waits += asyncio.run(_round(cluster, how, bound))
        name = f"take-over after {how.name}, {len(waits)} turns"
        yield Figure(f"{name}, p50", percentile(waits, 0.5), "s", bound)
        yield Figure(f"{name}, p99", percentile(waits, 0.99), "s", bound)


async def _round(cluster: Cluster, how: signal.Signals, bound: float) -> Sequence[float]:
    async with AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-")))
        model = await asyncio.to_thread(stack.enter_context, servers.demo())
        shared = settings_of(
            cluster, f"{folder}/blobs", GATEWAY_LEASE=str(LEASE), GATEWAY_MAX_ITERATIONS="100"
        )
        runs, follows = (Victim(model.port, folder / name, None, **shared) for name in ("runs", "follows"))
        for each in (runs, follows):
            each.folder.mkdir()
            stack.push_async_callback(each.end, signal.SIGKILL)
        await asyncio.gather(runs.start(), follows.start())
        http = await stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        until = time.perf_counter() + BEFORE + bound + 4
        waiting = [
            asyncio.create_task(_pause(http, runs.url, follows.url, f"s_{number}", until))
            for number in range(TURNS)
        ]
        await asyncio.sleep(BEFORE)
        runs.send(how)
        return await asyncio.gather(*waiting)


async def _pause(http: aiohttp.ClientSession, runs: str, follows: str, session: str, until: float) -> float:
    """The longest pause; infinite when nothing came at the end."""
    body = {"message": STEPS}
    await http.post(f"{runs}/api/sessions", json={"id": session})
    async with http.post(f"{runs}/api/sessions/{session}/turns", json=body) as answer:
        turn_id = (await answer.json())["turn_id"]
    times = [time.perf_counter()]
    with suppress(TimeoutError, *AWAY):
        async with asyncio.timeout_at(asyncio.get_running_loop().time() + until - times[0]):
            url = f"{follows}/api/sessions/{session}/events?turn_id={turn_id}"
            async with http.get(url, headers=SSE) as stream:
                async for frame in frames(stream):
                    times.append(time.perf_counter())
                    if body_of(frame)["type"] == "done":
                        break
    last = times[-1]
    if until - last > 2:
        return float("inf")
    return max(later - earlier for earlier, later in pairwise(times))
