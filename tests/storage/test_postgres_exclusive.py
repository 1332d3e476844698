"""Who holds a name on PostgreSQL holds it by a connection: what becomes of it with that."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import psycopg
import pytest

from gateway.storage.postgres.connections import NAME, ServerAddress
from gateway.storage.postgres.exclusive import PostgresExclusive
from tests.loopback import TIMEOUT
from tests.postgres import database_in, needs_postgres
from tests.product import Conflict, StorageError

pytestmark = [*needs_postgres, pytest.mark.anyio]

Two = tuple[PostgresExclusive, PostgresExclusive]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return database_in(tmp_path)


@pytest.fixture
async def two(url: str, anyio_backend: str) -> AsyncGenerator[Two]:
    """Two processes."""
    server = ServerAddress(url)
    async with (
        asyncio.timeout(TIMEOUT),
        PostgresExclusive(server, ping=60) as one,
        PostgresExclusive(server) as other,
    ):
        yield one, other


def cut(url: str) -> int:
    """Ends all connections of gateways to the database; how many these were."""
    others = f"FROM pg_stat_activity WHERE datname = current_database() AND application_name = '{NAME}'"
    with psycopg.connect(url, autocommit=True) as connection:
        return len(connection.execute(f"SELECT pg_terminate_backend(pid) {others}").fetchall())


async def for_ever(exclusive: PostgresExclusive, name: str) -> asyncio.Task[None]:
    """A task that has the name."""
    entered = asyncio.Event()

    async def work() -> None:
        async with exclusive.hold(name):
            entered.set()
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await entered.wait()
    return task


async def is_free(exclusive: PostgresExclusive, name: str) -> bool:
    try:
        async with exclusive.hold(name, refusal=Conflict("busy")):
            return True
    except Conflict:
        return False


async def lost(task: asyncio.Task[None]) -> bool:
    """Whether the task ended as what it held was lost, and no cancellation is left in it."""
    with pytest.raises(StorageError) as raised:
        await task
    return (raised.value.code, raised.value.retryable, task.cancelling()) == ("hold_lost", True, 0)


async def test_who_loses_the_connection_is_told_and_stops(two: Two, url: str) -> None:
    """At once, although it asks nothing of the database; and then another one has the name."""
    one, other = two
    tasks = [await for_ever(one, name) for name in "ab"]
    assert cut(url) == 1

    assert [await lost(task) for task in tasks] == [True, True]
    assert await is_free(other, "a")
    assert await is_free(one, "b")


async def test_who_was_cancelled_too_stays_so(two: Two, url: str) -> None:
    """A lost connection takes no cancellation away."""
    one, _ = two
    entered = asyncio.Event()

    async def work() -> None:
        async with one.hold("a"):
            entered.set()
            try:
                await asyncio.Event().wait()
            finally:
                cut(url)
                await asyncio.sleep(0)

    task = asyncio.create_task(work())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_who_is_done_when_the_loss_is_seen_is_done(url: str) -> None:
    async with PostgresExclusive(ServerAddress(url), ping=60) as exclusive:
        async with exclusive.hold("a"):
            cut(url)
        assert await is_free(exclusive, "a")


async def test_a_process_that_gives_no_sign_of_life_loses_what_it_holds(url: str) -> None:
    """As one that was stopped: another one ends its connection. When it goes on it is told."""
    server = ServerAddress(url)
    async with (
        asyncio.timeout(TIMEOUT),
        PostgresExclusive(server, ping=0.5) as silent,
        PostgresExclusive(server, stale=0.05) as other,
    ):
        task = await for_ever(silent, "a")
        async with other.hold("a"):
            assert await lost(task)


async def test_where_there_is_no_database_nothing_is_held(tmp_path: Path) -> None:
    """The caller is told so, and the next one asks again."""
    url = database_in(tmp_path)
    async with PostgresExclusive(ServerAddress("postgresql://127.0.0.1:9/none")) as exclusive:
        for _ in range(2):
            with pytest.raises(StorageError):
                async with exclusive.hold("a"):
                    pass
        exclusive._server = ServerAddress(url)  # pyright: ignore[reportPrivateUsage]
        async with exclusive.hold("a"):
            pass
