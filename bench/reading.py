"""`python -m bench.reading`: a long stored session, read again: from the log in this process, and over HTTP
from a gateway that was started on its data. Events are for each second of CPU, since others may keep the
machine busy."""

import asyncio
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path
from time import process_time

import aiohttp

from bench import servers
from bench.figures import Figure, show
from bench.servers import Server
from bench.sessions import conversation, store
from gateway import wiring
from gateway.auth import LOCAL_USER
from gateway.history.replay import PAGE
from gateway.settings import load_settings
from gateway.sse_frames import encode_frames

EVENTS = 100_000
TIMES = 3
"""How often each is measured; the best counts."""
SESSION = "s_long"
TIMEOUT = aiohttp.ClientTimeout(total=300)
FRAME = b"\nevent: "


def main() -> None:
    parser = ArgumentParser(prog="python -m bench.reading", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the events")
    share = 10 if parser.parse_known_args()[0].quick else 1
    missed = show(asyncio.run(reading(EVENTS // share)))
    sys.exit(0 if share == 10 or not missed else 1)


async def reading(count: int) -> Sequence[Figure]:
    """A session with one turn of `count` events of text, read in every way there is."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        settings = load_settings(data_dir=Path(folder), model="demo")
        async with wiring.open_storage(settings) as storage:
            await store(storage, SESSION, conversation(4), pieces=count, owner=LOCAL_USER.user_id)
            head = (await storage.sessions.get(SESSION, LOCAL_USER.user_id)).head
            figures = [await from_the_log(storage, head)]
        with servers.upstream() as model, servers.gateway(model.port, GATEWAY_DATA_DIR=folder) as server:
            for what, path in (
                ("replay?speed=max", "replay?speed=max"),
                ("events", "events?follow=0"),
                ("events, resumed in the middle", f"events?follow=0&after={head // 2}"),
            ):
                figures.append(await over_http(server, what, path))
    return figures


async def from_the_log(storage: wiring.Storage, head: int) -> Figure:
    """Pages of the log, made the bytes that readers get."""
    best = 0.0
    for _ in range(TIMES):
        began, after, size = process_time(), 0, 0
        while after < head:
            page = await storage.log.read(SESSION, after=after, limit=PAGE, until=head)
            size += len(encode_frames(page))
            after = page[-1].seq
        best = max(best, head / (process_time() - began))
        assert size > head
    return Figure(f"{head:,} events of the log as frames", best, "events/s", 400_000, at_most=False)


async def over_http(server: Server, what: str, path: str) -> Figure:
    """The whole stream of one GET."""
    best, url = 0.0, f"http://127.0.0.1:{server.port}/api/sessions/{SESSION}/{path}"
    async with aiohttp.ClientSession(headers={"accept": "text/event-stream"}, timeout=TIMEOUT) as http:
        for _ in range(TIMES):
            began, count = server.cpu(), 0
            async with http.get(url) as answer:
                assert answer.status == 200, await answer.text()
                rest = b""
                async for data in answer.content.iter_any():
                    rest += data
                    count += rest.count(FRAME)
                    rest = rest[-len(FRAME) + 1 :]
            best = max(best, count / (server.cpu() - began))
    return Figure(f"  GET {what}", best, "events/s", 0, at_most=False)


if __name__ == "__main__":
    main()
