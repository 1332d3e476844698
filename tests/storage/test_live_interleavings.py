"""Whatever the order in which two replicas write and readers come and go, each reader gets the log."""

import asyncio
import random
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from gateway.service.follower import Follower, following_from
from gateway.storage.postgres import PostgresDatabase, listener
from gateway.wiring import storage_on_server
from gateway.wiring.storage import open_blobs
from tests.loopback import TIMEOUT
from tests.postgres import database_in, needs_postgres
from tests.product import Storage, StoredEvent, Text
from tests.storage.writing import Writer, accepted, writer_of

pytestmark = [*needs_postgres, pytest.mark.anyio]

STEPS = 120
CUT = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE query LIKE 'LISTEN%' AND datname = current_database()
"""


@dataclass(slots=True)
class Reader:
    """Follows from a place; now and then its client is slow."""

    after: int
    slow: bool
    seen: list[StoredEvent] = field(default_factory=list[StoredEvent])
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    follower: Follower | None = None
    task: asyncio.Task[None] | None = None

    async def take(self, events: Sequence[StoredEvent]) -> None:
        if self.slow:
            await asyncio.sleep(0)
        self.seen += events
        self.moved.set()

    async def until(self, head: int) -> None:
        async with asyncio.timeout(TIMEOUT):
            while self.after + len(self.seen) < head:
                self.moved.clear()
                await self.moved.wait()


class Story:
    """A session that two replicas write in turn."""

    def __init__(self, storages: Sequence[Storage], url: str, seed: int) -> None:
        self.storages = storages
        self.url = url
        self.random = random.Random(seed)
        self.owner = 0
        self.turns = 0
        self.writer: Writer | None = None
        self.readers: list[Reader] = []

    async def begin(self) -> None:
        self.turns += 1
        self.owner = self.random.randrange(2)
        storage = self.storages[self.owner]
        now = await accepted(storage, turn_id=f"t{self.turns}")
        storage.bus.expect("s", now.head)
        self.writer = writer_of(storage, now)

    async def end(self) -> None:
        assert self.writer is not None
        assert await self.writer.close() is None
        self.storages[self.owner].bus.release("s")
        self.writer = None

    async def step(self) -> None:
        kind = self.random.choices(
            ["append", "end", "note", "come", "leave", "cut", "breathe"], [9, 3, 2, 4, 3, 0.4, 3]
        )[0]
        if kind == "append":
            if self.writer is None:
                await self.begin()
            assert self.writer is not None
            fate = self.writer.append(*["text"] * self.random.randint(1, 4), sync=self.random.random() < 0.5)
            if self.random.random() < 0.5:
                assert await fate is None
        elif kind == "end" and self.writer is not None:
            await self.end()
        elif kind == "note" and self.writer is None and self.turns:
            storage = self.random.choice(self.storages)
            assert await storage.log.note("s", f"c_{self.random.random()}", Text(text="noted"), 1) is None
        elif kind == "come" and self.turns:
            await self.come()
        elif kind == "leave" and self.readers:
            await self.leave(self.random.choice(self.readers))
        elif kind == "cut":
            with psycopg.connect(self.url, autocommit=True) as connection:
                connection.execute(CUT)
        else:
            await asyncio.sleep(self.random.choice([0, 0.001, 0.01]))

    async def come(self) -> None:
        storage = self.random.choice(self.storages)
        head = (await storage.sessions.get("s", "ann")).head
        reader = Reader(self.random.randint(max(0, head - 6), head), self.random.random() < 0.3)
        place = following_from("s", head, reader.after)
        follower = Follower(place, reader.take, bus=storage.bus, events=storage.log, trouble=lambda _: None)
        reader.follower, reader.task = follower, asyncio.create_task(follower.run())
        self.readers.append(reader)

    async def leave(self, reader: Reader) -> None:
        assert reader.follower is not None
        assert reader.task is not None
        self.readers.remove(reader)
        reader.follower.close()
        await reader.task
        log = await self.storages[0].log.read("s", after=reader.after, limit=10_000)
        assert reader.seen == log[: len(reader.seen)]


@pytest.mark.parametrize("seed", range(4))
async def test_every_reader_gets_the_log(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind its place, once, in order, to the end, without a look for what nobody told of."""
    monkeypatch.setattr(listener, "POLL", 3600)
    monkeypatch.setattr(listener, "UNSURE", 0)
    url = database_in(tmp_path)
    async with AsyncExitStack() as stack:
        storages: list[Storage] = []
        for _ in range(2):
            database = await stack.enter_async_context(await PostgresDatabase.open(url))
            opening = storage_on_server(database, open_blobs(None, tmp_path))
            storages.append(await stack.enter_async_context(opening))
        monkeypatch.undo()  # a connection that is made again may have missed what others follow
        monkeypatch.setattr(listener, "POLL", 3600)
        story = Story(storages, url, seed)
        for _ in range(STEPS):
            await story.step()
        if story.writer is not None:
            await story.end()
        head = (await storages[0].sessions.get("s", "ann")).head
        for reader in list(story.readers):
            await reader.until(head)
            await story.leave(reader)
        log = await storages[1].log.read("s", after=0, limit=10_000)
    assert [event.seq for event in log] == list(range(1, head + 1))
