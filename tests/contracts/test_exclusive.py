"""What is owed by `Exclusive`: one at a time, of all that have the store open."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path

import pytest

from gateway.storage.exclusive import Exclusive, LocalExclusive
from gateway.storage.postgres.connections import ServerAddress
from gateway.storage.postgres.exclusive import PostgresExclusive
from tests.loopback import TIMEOUT
from tests.postgres import database_in, needs_postgres
from tests.product import Conflict

pytestmark = pytest.mark.anyio

Two = tuple[Exclusive, Exclusive]


@asynccontextmanager
async def in_one_process(_: Path) -> AsyncGenerator[Two]:
    exclusive = LocalExclusive()
    yield exclusive, exclusive


@asynccontextmanager
async def on_postgres(folder: Path) -> AsyncGenerator[Two]:
    server = ServerAddress(database_in(folder))
    async with PostgresExclusive(server) as one, PostgresExclusive(server) as two:
        yield one, two


@asynccontextmanager
async def on_postgres_in_one_process(folder: Path) -> AsyncGenerator[Two]:
    async with PostgresExclusive(ServerAddress(database_in(folder))) as exclusive:
        yield exclusive, exclusive


@pytest.fixture(
    params=[
        in_one_process,
        pytest.param(on_postgres, marks=needs_postgres),
        pytest.param(on_postgres_in_one_process, marks=needs_postgres),
    ]
)
async def two(request: pytest.FixtureRequest, tmp_path: Path, anyio_backend: str) -> AsyncGenerator[Two]:
    """The handles of two who have the same store open."""
    opened: Callable[[Path], AbstractAsyncContextManager[Two]] = request.param
    async with asyncio.timeout(TIMEOUT), opened(tmp_path) as handles:
        yield handles


async def test_a_name_is_held_by_one_at_a_time(two: Two) -> None:
    """A second one is refused; another name, and the same one later, are free."""
    one, other = two
    async with one.hold("a"):
        with pytest.raises(Conflict, match="busy"):
            async with other.hold("a", refusal=Conflict("busy")):
                pass
        async with other.hold("b", refusal=Conflict("busy")):
            pass
    async with other.hold("a", refusal=Conflict("busy")):
        pass


async def test_who_gives_no_refusal_waits(two: Two) -> None:
    """However many there are: each has its turn, and never two at once."""
    inside, turns = 0, 0

    async def work(exclusive: Exclusive) -> None:
        nonlocal inside, turns
        async with exclusive.hold("a"):
            inside += 1
            assert inside == 1
            await asyncio.sleep(0)
            inside -= 1
            turns += 1

    await asyncio.gather(*(work(exclusive) for exclusive in two * 2))
    assert turns == 4


async def test_a_name_is_free_after_a_failure_and_a_cancellation(two: Two) -> None:
    """Of who held it, and of who waited for it."""
    one, other = two
    with pytest.raises(ZeroDivisionError):
        async with one.hold("a"):
            raise ZeroDivisionError
    entered = asyncio.Event()

    async def for_ever(exclusive: Exclusive) -> None:
        async with exclusive.hold("a"):
            entered.set()
            await asyncio.Event().wait()

    holding = asyncio.create_task(for_ever(one))
    await entered.wait()
    waiting = asyncio.create_task(for_ever(other))
    await asyncio.sleep(0)
    for task in (waiting, holding):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    for exclusive in two:
        async with exclusive.hold("a", refusal=Conflict("busy")):
            pass


async def test_who_is_cancelled_while_it_is_given_a_name_does_not_keep_it(two: Two) -> None:
    """At whatever moment."""
    one, other = two

    async def briefly() -> None:
        async with one.hold("a"):
            await asyncio.sleep(0)

    for steps in range(8):
        task = asyncio.create_task(briefly())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        async with other.hold("a", refusal=Conflict("busy")):
            pass
