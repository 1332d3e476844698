"""Nothing that is called back, and nothing that a caller's work raises, ever stops the writer."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, text

from gateway.storage.database import send
from gateway.storage.log.appending import Pending
from gateway.storage.replica_signals import Signal
from gateway.storage.sqlite import SqliteDatabase
from gateway.storage.sqlite.sqlite_file import raw_of
from tests.harness import TIMEOUT
from tests.product import Storage, StorageError
from tests.storage.writing import running

pytestmark = pytest.mark.anyio


@pytest.fixture
async def database(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[SqliteDatabase]:
    """A new database; one that cannot be closed any more fails the test instead of holding it up."""
    opened = await SqliteDatabase.open(tmp_path / "gateway.db")
    yield opened
    await asyncio.wait_for(opened.close(), TIMEOUT)


def answer(connection: Connection) -> int:
    return connection.execute(text("SELECT 42")).scalar_one()


def mistake(*_: Any) -> None:
    raise KeyError("a mistake")


def raising(error: BaseException) -> Callable[[Connection], None]:
    def work(_: Connection) -> None:
        raise error

    return work


async def goes_on(database: SqliteDatabase) -> bool:
    """Whether writes and reads are answered, and the database can be closed."""
    async with asyncio.timeout(TIMEOUT):
        answers = [await database.write(answer), await database.read(answer)]
        await database.close()
    return answers == [42, 42]


async def test_a_work_that_fails_takes_its_signals_along(database: SqliteDatabase) -> None:
    """The next one that is committed sends its own alone."""
    heard: list[str] = []
    database.signals.on("cancel", heard.append)

    def sends(turn_id: str, error: Exception | None = None) -> Callable[[Connection], None]:
        def work(connection: Connection) -> None:
            send(connection, Signal("cancel", turn_id))
            if error is not None:
                raise error

        return work

    for error in (KeyError("a mistake"), sqlite3.OperationalError("disk I/O error")):
        with pytest.raises((KeyError, StorageError)):
            await database.write(sends("t1", error))
    await database.write(sends("t2"))

    assert heard == ["t2"]


async def test_a_listener_of_transactions_that_fails(tmp_path: Path) -> None:
    """Each write is answered all the same."""
    database = await SqliteDatabase.open(tmp_path / "gateway.db", flushed=mistake)

    assert await goes_on(database)  # also the closing


async def test_a_receiver_of_appends_that_fails(database: SqliteDatabase, storage: Storage) -> None:
    """What shares their transaction is answered, and later appends are stored."""
    writer = await running(storage)
    given: list[Sequence[Pending]] = []
    deliver = storage.log._deliver  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]

    def fail(appends: Sequence[Pending], refusals: Sequence[StorageError | None]) -> None:
        given.append(appends)
        mistake()

    database.on_delivery(fail)
    writer.append("turn_start", sync=True)
    assert await asyncio.wait_for(database.write(answer), TIMEOUT) == 42
    database.on_delivery(deliver)
    assert await asyncio.wait_for(writer.append("text"), TIMEOUT) is None

    assert len(given) == 1
    assert await goes_on(database)


async def test_a_bus_that_fails_keeps_no_turn_from_hearing_of_its_append(
    database: SqliteDatabase, storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stored, and its writer is told so; readers find it in the log."""
    writer = await running(storage)
    monkeypatch.setattr(storage.bus, "publish", mistake)

    assert await asyncio.wait_for(writer.append("turn_start", sync=True), TIMEOUT) is None
    assert [event.seq for event in await storage.log.read("s", after=0, limit=9)] == [1]
    assert await goes_on(database)


async def test_a_writer_of_a_turn_that_fails_to_hear(database: SqliteDatabase, storage: Storage) -> None:
    """Another one in the same transaction hears of its append."""
    deaf, other = await running(storage, "a", "ta"), await running(storage, "b", "tb")
    deaf.append("turn_start", sync=True).cancel()  # telling it raises

    assert await asyncio.wait_for(other.append("turn_start", sync=True), TIMEOUT) is None
    assert await goes_on(database)


async def test_a_caller_that_fails_to_hear_of_its_commit(database: SqliteDatabase) -> None:
    """It gets its value: the changes are durable. So do the others."""
    async with asyncio.timeout(TIMEOUT):
        answers = await asyncio.gather(
            database.write(answer, committed=mistake), database.write(answer), database.write(answer)
        )

    assert answers == [42, 42, 42]
    assert await goes_on(database)


RAISED = [
    StopIteration("it"),
    StopAsyncIteration("it"),
    GeneratorExit("it"),
    KeyboardInterrupt("it"),
    SystemExit("it"),
    asyncio.CancelledError("it"),
    RecursionError("it"),
]


@pytest.mark.parametrize("error", RAISED, ids=lambda error: type(error).__name__)
async def test_whatever_a_callers_work_raises_is_the_callers_alone(
    error: BaseException, database: SqliteDatabase
) -> None:
    """Also what no future can hold, and what would stop the event loop or pass for a cancellation: of these
    the caller hears in a RuntimeError. The others in the transaction are not touched by it."""
    async with asyncio.timeout(TIMEOUT):
        first, failed, last = await asyncio.gather(
            database.write(answer),
            database.write(raising(error)),
            database.write(answer),
            return_exceptions=True,
        )
        with pytest.raises(Exception) as read:  # noqa: PT011 - the type is looked at
            await database.read(raising(error))

    for raised in (failed, read.value):
        assert isinstance(raised, Exception)
        assert raised is error or (type(raised) is RuntimeError and raised.__cause__ is error)
    assert (first, last) == (42, 42)
    assert await goes_on(database)


async def test_a_reader_whose_rollback_failed_reads_again(database: SqliteDatabase) -> None:
    """Its connection is neither lost nor left in the transaction of before: after more failures than there
    are readers, reads are answered."""

    def fail_to_roll_back(connection: Connection) -> None:
        denied: list[str] = []

        def authorize(_: int, what: str | None, *__: str | None) -> int:
            if what != "ROLLBACK" or denied:
                return sqlite3.SQLITE_OK
            denied.append(what)
            return sqlite3.SQLITE_DENY

        raw_of(connection).set_authorizer(authorize)

    async with asyncio.timeout(TIMEOUT):
        for _ in range(5):
            with pytest.raises(StorageError):
                await database.read(fail_to_roll_back)
        assert await asyncio.gather(*(database.read(answer) for _ in range(5))) == [42] * 5
    assert await goes_on(database)
