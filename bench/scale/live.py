"""How soon a replica hears of what another one did: events that follow each other, and a cancel."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import suppress
from typing import ClassVar

import aiohttp
import uvloop

from bench import servers
from bench.client import percentile
from bench.figures import Figure
from bench.reader import body_of, frames, seq_of
from bench.scale.cluster import Cluster
from bench.scale.gateways import replicas
from bench.upstream import Endpoint

STREAMS = 100
CANCELS = 200
SSE = {"accept": "text/event-stream"}


def live(cluster: Cluster, *, quick: bool) -> Iterator[Figure]:
    """100 streams of 20 events a second on one replica, each followed on another. An event is late by what
    its copy from elsewhere comes behind the one from its own replica, which is sent once it is committed."""
    with servers.upstream() as upstream, replicas(2, upstream.port, cluster) as fleet:
        here, elsewhere = (f"http://127.0.0.1:{server.port}" for server in fleet.gateways)
        pieces = 60 if quick else 200
        before = [server.cpu() for server in fleet.gateways]
        late, missing = uvloop.run(_follow(here, elsewhere, pieces))
        took = [server.cpu() - since for server, since in zip(fleet.gateways, before, strict=True)]
    yield Figure("events elsewhere, p50", percentile(late, 0.5) * 1e3, "ms", 5)
    yield Figure("events elsewhere, p99", percentile(late, 0.99) * 1e3, "ms", 50)
    yield Figure("  events that did not come", missing, "", 0)
    for name, seconds in zip(("where it is written", "elsewhere"), took, strict=True):
        cost = seconds / (STREAMS * pieces) * 1e6
        yield Figure(f"  us per piece that is read in both, {name}", cost, "us", float("inf"))


async def _follow(here: str, elsewhere: str, pieces: int) -> tuple[list[float], int]:
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as http:

        async def one(number: int) -> tuple[dict[int, float], dict[int, float]]:
            await asyncio.sleep(number / STREAMS)
            session = f"s_{number}"
            begun = asyncio.Event()
            told: dict[int, float] = {}
            heard: dict[int, float] = {}

            async def follow() -> None:
                await begun.wait()
                url = f"{elsewhere}/api/sessions/{session}/events"
                async with http.get(url, headers=SSE) as answer:
                    async for frame in frames(answer):
                        heard[seq_of(frame)] = time.perf_counter()
                        if body_of(frame)["type"] == "done":
                            return

            following = asyncio.create_task(follow())
            body = {"message": f"/pieces {pieces} /pace 50", "session_id": session}
            async with http.post(f"{here}/api/chat", json=body, headers=SSE) as answer:
                async for frame in frames(answer):
                    told[seq_of(frame)] = time.perf_counter()
                    begun.set()
            with suppress(TimeoutError):
                await asyncio.wait_for(following, 10)
            return told, heard

        found = await asyncio.gather(*(one(number) for number in range(STREAMS)))
    # The follower came when the first events were there already.
    late = [heard[seq] - told[seq] for told, heard in found for seq in list(told)[10:] if seq in heard]
    missing = sum(seq not in heard for told, heard in found for seq in told)
    return [max(each, 0) for each in late], missing


class Noting(Endpoint):
    """The upstream, which notes when a connection was closed while it answered, by what was asked."""

    closed: ClassVar[dict[bytes, asyncio.Future[float]]] = {}

    def on_message_complete(self) -> None:
        self.asked = bytes(self.body)
        super().on_message_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        for name, future in self.closed.items():
            if name in self.asked and not future.done():
                future.set_result(time.perf_counter())
        self.transport.close()

    asked = b""


def cancels(cluster: Cluster, *, quick: bool) -> Iterator[Figure]:
    """From the request to one replica until the other one has closed its connection to the model."""
    uvloop.install()
    times = asyncio.run(_cancelled(cluster, 40 if quick else CANCELS))
    yield Figure("cancel through another replica, p50", percentile(times, 0.5) * 1e3, "ms", 200)
    yield Figure("cancel through another replica, p99", percentile(times, 0.99) * 1e3, "ms", 200)


async def _cancelled(cluster: Cluster, count: int) -> list[float]:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Noting, "127.0.0.1", 0, backlog=256)
    port = server.sockets[0].getsockname()[1]
    times: list[float] = []
    fleet_of = replicas(2, port, cluster)
    fleet = await asyncio.to_thread(fleet_of.__enter__)
    try:
        here, elsewhere = (f"http://127.0.0.1:{each.port}" for each in fleet.gateways)
        async with aiohttp.ClientSession() as http:
            for number in range(count):
                times.append(await _cancel(http, here, elsewhere, f"cancel{number:04}"))
    finally:
        server.close()
        await asyncio.to_thread(fleet_of.__exit__, None, None, None)
    return times


async def _cancel(http: aiohttp.ClientSession, here: str, elsewhere: str, name: str) -> float:
    closed = Noting.closed[name.encode()] = asyncio.get_running_loop().create_future()
    body = {"message": f"/pieces 2000 /pace 20 {name}", "session_id": name}
    async with http.post(f"{here}/api/chat", json=body, headers=SSE) as answer:
        texts, turn_id = 0, ""
        async for frame in frames(answer):
            event = body_of(frame)
            turn_id = event["turn_id"]
            texts += event["type"] == "text"
            if texts == 5:
                break
        url = f"{elsewhere}/api/sessions/{name}/turns/{turn_id}/cancel"
        began = time.perf_counter()
        async with http.post(url) as cancelled:
            await cancelled.read()
        return await asyncio.wait_for(closed, 30) - began
