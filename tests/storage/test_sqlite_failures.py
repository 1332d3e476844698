"""What SQLite fails with is a StorageError, whatever it is; what is the caller's is the caller's."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest
from sqlalchemy import Connection, text
from sqlalchemy.exc import IntegrityError

from gateway.storage.sqlite import SqliteDatabase
from gateway.storage.sqlite.sqlite_file import SqliteFile, raw_of
from gateway.storage.sqlite.sqlite_memory_database import SqliteMemoryDatabase
from tests.product import StorageError

pytestmark = pytest.mark.anyio

CODES = [
    sqlite3.SQLITE_AUTH,
    sqlite3.SQLITE_BUSY,
    sqlite3.SQLITE_BUSY_SNAPSHOT,
    sqlite3.SQLITE_CANTOPEN,
    sqlite3.SQLITE_CORRUPT,
    sqlite3.SQLITE_ERROR,
    sqlite3.SQLITE_FULL,
    sqlite3.SQLITE_INTERRUPT,
    sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_IOERR_FSYNC,
    sqlite3.SQLITE_LOCKED,
    sqlite3.SQLITE_NOMEM,
    sqlite3.SQLITE_NOTADB,
    sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_PROTOCOL,
    sqlite3.SQLITE_READONLY,
    sqlite3.SQLITE_SCHEMA,
]
"""Result codes (sqlite.org/rescode.html), some of them extended ones."""


@pytest.fixture(params=["of one process", "shared"])
async def file(
    request: pytest.FixtureRequest, tmp_path: Path, anyio_backend: str
) -> AsyncGenerator[SqliteFile]:
    """Both kinds of database."""
    kind = SqliteDatabase if request.param == "of one process" else SqliteMemoryDatabase
    async with await kind.open(tmp_path / "some.db") as opened:
        yield opened


def failing(code: int) -> Callable[[Connection], None]:
    """Work that SQLite fails with that code."""

    def work(_: Connection) -> None:
        error = sqlite3.OperationalError("private words")
        error.sqlite_errorcode = code
        raise error

    return work


@pytest.mark.parametrize("code", CODES)
async def test_every_failure_of_sqlite_is_a_storage_error(code: int, file: SqliteFile) -> None:
    """In reads and in writes, which go on afterwards."""
    for ask in (file.read, file.write):
        with pytest.raises(StorageError):
            await ask(failing(code))
        assert await ask(answer) == 42


def answer(connection: Connection) -> int:
    return connection.execute(text("SELECT 42")).scalar_one()


def interrupted(connection: Connection) -> None:
    raw = raw_of(connection)
    raw.set_progress_handler(lambda: 1, 1)
    try:
        connection.execute(text("SELECT count(*) FROM sqlite_master, sqlite_master, sqlite_master"))
    finally:
        raw.set_progress_handler(None, 0)


def locked(connection: Connection) -> None:
    raw = raw_of(connection)
    raw.execute("CREATE TABLE some AS SELECT 1 AS number UNION SELECT 2")
    rows = raw.execute("SELECT number FROM some")
    rows.fetchone()  # goes on meanwhile
    connection.execute(text("DROP TABLE some"))


def too_large(connection: Connection) -> None:
    connection.execute(text("SELECT zeroblob(2147483647)"))


def no_such_table(connection: Connection) -> None:
    connection.execute(text("SELECT * FROM nowhere"))


def no_text(connection: Connection) -> None:
    connection.execute(text("SELECT CAST(x'ff' AS TEXT)")).all()


def not_allowed(connection: Connection) -> None:
    def deny(*_: int | str | None) -> int:
        return sqlite3.SQLITE_DENY

    raw = raw_of(connection)
    raw.set_authorizer(deny)
    try:
        connection.execute(text("SELECT 1"))
    finally:
        raw.set_authorizer(None)


REAL = [interrupted, locked, too_large, no_such_table, no_text, not_allowed]


@pytest.mark.parametrize("work", REAL, ids=lambda work: work.__name__)
async def test_real_failures_are_storage_errors(work: Callable[[Connection], None], file: SqliteFile) -> None:
    """As SQLite and the driver themselves raise them, through SQLAlchemy."""
    with pytest.raises(StorageError):
        await file.write(work)
    assert await file.write(answer) == 42
    if work is not locked:  # a reader makes no table
        with pytest.raises(StorageError):
            await file.read(work)
        assert await file.read(answer) == 42


@pytest.mark.parametrize("work", [too_large, no_such_table, no_text], ids=lambda work: work.__name__)
async def test_a_statement_that_fails_undoes_its_callers_changes_alone(
    work: Callable[[Connection], None], file: SqliteFile
) -> None:
    """The transaction that others share with it goes on."""

    def make(name: str) -> Callable[[Connection], None]:
        return lambda connection: raw_of(connection).execute(f"CREATE TABLE {name} (a)") and None

    def make_and_fail(connection: Connection) -> None:
        make("lost")(connection)
        work(connection)

    answers = await asyncio.gather(
        file.write(make("first")), file.write(make_and_fail), file.write(make("last")), return_exceptions=True
    )

    def tables(connection: Connection) -> set[str]:
        return {name for (name,) in raw_of(connection).execute("SELECT name FROM sqlite_master")}

    assert [type(each) for each in answers] == [type(None), StorageError, type(None)]
    assert {"first", "last"} <= await file.read(tables)
    assert "lost" not in await file.read(tables)


async def test_what_lies_in_the_caller_stays_as_it_is(file: SqliteFile) -> None:
    """A constraint, a wrong use of the driver, a value that it cannot bind, and any mistake of its own."""

    def constraint(connection: Connection) -> None:
        connection.execute(text("CREATE TEMP TABLE one (a UNIQUE)"))
        connection.execute(text("INSERT INTO one VALUES (:a), (:a)"), {"a": "private words"})

    def parameters(connection: Connection) -> None:
        raw_of(connection).execute("SELECT ?", ())

    def large(connection: Connection) -> None:
        raw_of(connection).execute("SELECT ?", (2**63,))

    def surrogate(connection: Connection) -> None:
        raw_of(connection).execute("SELECT ?", ("\ud800",))

    for work, kind in (
        (constraint, IntegrityError),
        (parameters, sqlite3.ProgrammingError),
        (large, OverflowError),
        (surrogate, UnicodeEncodeError),
    ):
        with pytest.raises(kind) as raised:
            await file.write(work)
        assert "private" not in str(raised.value)
