"""Of all processes of a store one leads, and another one as soon as that does not."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psycopg
import pytest

from gateway.service import leader as leader_module
from gateway.service.leader import Leader
from gateway.storage.exclusive import Exclusive, LocalExclusive
from gateway.storage.postgres import exclusive
from gateway.storage.postgres.exclusive import PostgresExclusive
from tests.loopback import TIMEOUT
from tests.postgres import database_in, needs_postgres
from tests.product import ServerAddress, Supervisor

pytestmark = pytest.mark.anyio


@dataclass
class Process:
    """One that would lead: `works` is set while it does. Its end is that of `task`."""

    name: str
    exclusive: Exclusive
    at_work: list[str]
    works: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.leader = Leader(self.exclusive, Supervisor(), [(self._work, "work")])
        self.task = asyncio.create_task(self.leader.run())

    async def _work(self) -> None:
        assert self.at_work == []  # never two
        self.at_work.append(self.name)
        self.works.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # what it does last is done before another one begins
            self.at_work.remove(self.name)
            self.works.clear()

    async def end(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])


@asynccontextmanager
async def processes(*exclusives: Exclusive) -> AsyncGenerator[list[Process]]:
    at_work = list[str]()
    found = [Process(str(number), exclusive, at_work) for number, exclusive in enumerate(exclusives)]
    try:
        async with asyncio.timeout(TIMEOUT):
            yield found
    finally:
        for each in found:
            await each.end()


async def test_another_one_leads_when_the_leader_ends() -> None:
    """And not before."""
    async with processes(*[LocalExclusive()] * 2) as (one, other):
        await one.works.wait()
        assert (one.leader.leads, other.leader.leads) == (True, False)
        await one.end()
        await other.works.wait()
        assert (one.leader.leads, other.leader.leads) == (False, True)


@pytest.mark.parametrize("_", [pytest.param(None, marks=needs_postgres)])
async def test_a_leader_that_is_cut_off_stops_before_another_one_leads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, _: None
) -> None:
    """And whoever was cut off may lead again."""
    monkeypatch.setattr(leader_module, "RETRY", 0.2)
    monkeypatch.setattr(exclusive, "LAST_PAUSE", 0.1)
    url = database_in(tmp_path)
    others = "FROM pg_stat_activity WHERE datname = current_database() AND pid != pg_backend_pid()"
    async with AsyncExitStack() as stack:
        exclusives = [
            await stack.enter_async_context(PostgresExclusive(ServerAddress(url), ping=60)) for _ in range(2)
        ]
        found = await stack.enter_async_context(processes(*exclusives))
        for _round in range(2):
            waiting = [asyncio.create_task(each.works.wait()) for each in found]
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            leading = next(each for each in found if each.works.is_set())
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(f"SELECT pg_terminate_backend(pid) {others}")
            while leading.works.is_set():
                await asyncio.sleep(0.001)
            for task in waiting:
                task.cancel()
