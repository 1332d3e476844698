"""What the `Database` protocol owes, on a PostgreSQL server."""

import asyncio
import threading
from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import Connection, bindparam, insert, select
from sqlalchemy.exc import IntegrityError

from gateway.storage.database import ConnectionPools, OwnerLock, PoolUse, Prepared, SessionLock
from gateway.storage.postgres import PostgresDatabase
from gateway.storage.postgres.postgres_memory_database import PostgresMemoryDatabase
from gateway.storage.schema import skill_switches
from tests.loopback import TIMEOUT, free_port
from tests.postgres import database_in, needs_postgres, new_database
from tests.product import StorageError

pytestmark = [*needs_postgres, pytest.mark.anyio]

ADD = "INSERT INTO skill_switches VALUES (%s, true, 'ann', 1)"
TIMES = "SELECT switched_at FROM skill_switches"
NAMES = "SELECT name FROM skill_switches ORDER BY name"
NEW_SESSION = "INSERT INTO heads (session_id, head, position, epoch) VALUES ('s', 0, 0, 0)"
CONNECTION = "SELECT pg_backend_pid()"
READ_ONLY = sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on")
OTHERS = "SELECT pid FROM pg_stat_activity WHERE pid != pg_backend_pid() AND datname = current_database()"


@pytest.fixture
async def database(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[PostgresDatabase]:
    async with await PostgresDatabase.open(database_in(tmp_path)) as opened:
        yield opened


def add(name: str, connection: Connection) -> str:
    connection.exec_driver_sql(ADD, (name,))
    return name


async def names(database: PostgresDatabase) -> list[str]:
    return await database.read(
        lambda connection: list(connection.exec_driver_sql(NAMES).scalars()), snapshot=False
    )


async def test_a_transaction_is_durable_or_never_was(database: PostgresDatabase) -> None:
    """What it returns is what was committed; what it raises reaches its caller, and nothing of it stays."""
    told: list[str] = []

    def fails(connection: Connection) -> None:
        add("c", connection)
        raise LookupError("no")

    assert await database.write(lambda c: add("b", c), committed=lambda: told.append("b")) == "b"
    with pytest.raises(LookupError, match="no"):
        await database.write(fails, committed=lambda: told.append("c"))
    assert await database.write(lambda c: add("B", c)) == "B"

    assert await names(database) == ["B", "b"]
    assert told == ["b"]


async def test_a_transaction_goes_on_without_its_caller(database: PostgresDatabase) -> None:
    """Cancelling who waits for it changes nothing, and what follows a commit is called."""
    begun, go = threading.Event(), threading.Event()
    done = asyncio.Event()

    def slow(connection: Connection) -> None:
        begun.set()
        go.wait()
        add("a", connection)

    writing = asyncio.ensure_future(database.write(slow, committed=done.set))
    await asyncio.to_thread(begun.wait)
    writing.cancel()
    go.set()
    await done.wait()

    assert await names(database) == ["a"]


async def test_a_snapshot_is_one_moment(database: PostgresDatabase) -> None:
    """What is committed between two statements of a read is not seen by the second."""
    loop = asyncio.get_running_loop()

    def twice(connection: Connection) -> tuple[int, int]:
        before = len(connection.exec_driver_sql(NAMES).all())
        asyncio.run_coroutine_threadsafe(database.write(lambda c: add("a", c)), loop).result()
        return before, len(connection.exec_driver_sql(NAMES).all())

    assert await database.read(twice) == (0, 0)
    assert await names(database) == ["a"]


@pytest.mark.parametrize("lock", [SessionLock("s"), OwnerLock("O'Neill 名"), OwnerLock("%s")])
async def test_what_a_lock_guards_is_done_one_after_the_other(
    database: PostgresDatabase, lock: SessionLock | OwnerLock
) -> None:
    """Each transaction sees what those before it added, also of another process."""
    await database.write(lambda c: c.exec_driver_sql(NEW_SESSION).close())

    def add_one_more(connection: Connection) -> None:
        add(f"{len(connection.exec_driver_sql(NAMES).all()):03}", connection)

    async with await PostgresDatabase.open(database.server.url) as other:
        await asyncio.gather(
            *(each.write(add_one_more, over=lock) for _ in range(20) for each in (database, other))
        )

    assert await names(database) == [f"{number:03}" for number in range(40)]


async def test_transactions_that_wait_for_each_other_are_both_done(database: PostgresDatabase) -> None:
    """The one that the server chose is tried again, as often as it is chosen: before the other wakes it may
    have taken its row back."""
    await database.write(lambda c: (add("a", c), add("b", c)))
    both = threading.Barrier(2)
    attempts: list[str] = []

    def touch(first: str, second: str, connection: Connection) -> None:
        attempts.append(first)
        connection.exec_driver_sql(
            "UPDATE skill_switches SET switched_at = switched_at + 1 WHERE name = %s", (first,)
        )
        if len(attempts) <= 2:
            both.wait()
        connection.exec_driver_sql(
            "UPDATE skill_switches SET switched_at = switched_at + 1 WHERE name = %s", (second,)
        )

    await asyncio.gather(
        database.write(lambda c: touch("a", "b", c)), database.write(lambda c: touch("b", "a", c))
    )
    assert len(attempts) >= 3
    assert await database.read(lambda c: set(c.exec_driver_sql(TIMES).scalars()), snapshot=False) == {3}


async def test_who_added_the_same_decides_anew(database: PostgresDatabase) -> None:
    """With what the other one has added."""
    both = threading.Barrier(2)
    seen: list[bool] = []

    def add_unless_there(connection: Connection) -> bool:
        there = "c" in connection.exec_driver_sql(NAMES).scalars()
        seen.append(there)
        if not there:
            both.wait()
            add("c", connection)
        return not there

    added = await asyncio.gather(*(database.write(add_unless_there) for _ in range(2)))

    assert sorted(added) == sorted(seen[1:]) == [False, True]


async def test_what_breaks_a_constraint_is_the_callers(database: PostgresDatabase) -> None:
    """Tried again to no avail, it is raised as it is."""
    await database.write(lambda c: add("a", c))
    with pytest.raises(IntegrityError):
        await database.write(lambda c: add("a", c))


async def test_what_was_to_be_stored_is_in_no_message(
    database: PostgresDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither in the caller's, nor in the log, which says where it failed and why."""
    for statement in ("SELECT 'secret tea'::int", "SELECT '{secret tea}'::json"):
        with pytest.raises(StorageError) as failed:
            await database.write(lambda c, s=statement: c.exec_driver_sql(s))
        assert "22P02 InvalidTextRepresentation" in str(failed.value)
        assert failed.value.message == "The database failed."
        assert "tea" not in str(failed.value)

    assert caplog.text.count("22P02") == 2
    assert "in _attempt" in caplog.text
    assert "tea" not in caplog.text


async def test_a_swallowed_failure_is_not_taken_for_a_commit(database: PostgresDatabase) -> None:
    """A work that goes on after a failed statement has done nothing, and its caller hears of it."""

    def swallows(connection: Connection) -> None:
        add("a", connection)
        with pytest.raises(IntegrityError):
            add("a", connection)

    with pytest.raises(StorageError, match="it was undone"):
        await database.write(swallows)
    assert await names(database) == []


async def test_its_pools_are_measured(tmp_path: Path) -> None:
    """What is in use, what is open and what waits, of reads and transactions apart, and for how long."""
    waits: list[str] = []
    pools = ConnectionPools(lambda name, seconds: waits.append(name) if seconds >= 0 else None)
    inside, go_on = threading.Event(), threading.Event()

    def hold(connection: Connection) -> None:
        inside.set()
        go_on.wait(TIMEOUT)

    async with await PostgresDatabase.open(database_in(tmp_path), connections=2) as database:
        database.measured_by(pools)
        assert set(pools.use().values()) == {PoolUse(0, 0, 0)}
        held = [asyncio.create_task(database.read(hold)) for _ in range(3)]
        await asyncio.to_thread(inside.wait, TIMEOUT)
        idle = PoolUse(0, 0, 0)
        assert pools.use() == {
            "sessions read": PoolUse(1, 0, 2),
            "sessions search": idle,
            "sessions write": idle,
        }
        go_on.set()
        await asyncio.gather(*held)
        await database.write(partial(add, "a"))
        await database.search(lambda _: None)
        assert set(pools.use().values()) == {PoolUse(0, 1, 0)}
    assert sorted(waits) == ["sessions read"] * 3 + ["sessions search", "sessions write"]


async def test_the_memory_has_no_thread_for_appends(tmp_path: Path) -> None:
    """Its writes are transactions like any other."""
    before = {thread for thread in threading.enumerate() if thread.name == "storage-writer"}
    async with await PostgresMemoryDatabase.open(database_in(tmp_path)) as database:
        await database.write(partial(add, "a"))
        assert {thread for thread in threading.enumerate() if thread.name == "storage-writer"} <= before


async def test_connections_that_were_lost_are_replaced(database: PostgresDatabase) -> None:
    """A server that ends them all, as one that was started again, is not noticed by those who ask later, nor
    by a transaction that was under way."""
    await asyncio.gather(*(names(database) for _ in range(8)))
    await asyncio.gather(*(database.write(partial(add, f"{n}")) for n in range(8)))
    attempts: list[int] = []

    def cut(connection: Connection) -> None:
        attempts.append(connection.exec_driver_sql(CONNECTION).scalar_one())
        add("x", connection)
        if len(attempts) == 1:
            with psycopg.connect(database.server.url, autocommit=True) as admin:
                admin.execute(f"SELECT pg_terminate_backend(pid) FROM ({OTHERS}) AS others")

    await database.write(cut)

    assert len(set(attempts)) == 2
    assert await names(database) == [*map(str, range(8)), "x"]


async def test_prepared_statements_run_on_it(database: PostgresDatabase) -> None:
    """Core statements with the driver's placeholders, one by one and many at once."""
    insertion = Prepared(
        insert(skill_switches).values(
            name=bindparam("name"), enabled=bindparam("enabled"), switched_by="100 %", switched_at=1
        )
    )
    rows = Prepared(select(skill_switches.c.name, skill_switches.c.enabled, skill_switches.c.switched_by))
    await database.write(lambda c: insertion.run(c, name="a", enabled=True).rowcount)
    await database.write(lambda c: insertion.many(c, [{"name": "b", "enabled": False}]))

    found = await database.read(rows.all, snapshot=False)
    assert found == [("a", True, "100 %"), ("b", False, "100 %")]


async def test_a_server_that_is_away_is_told_at_once(anyio_backend: str) -> None:
    """Opening fails with what cannot be reached; the password is not told."""
    with pytest.raises(StorageError, match=r"(?i)connection refused") as raised:
        await PostgresDatabase.open(f"postgresql://ann:secret@127.0.0.1:{free_port()}/none")
    assert raised.value.retryable
    assert "secret" not in raised.value.message


@pytest.mark.parametrize(
    ("version", "code"),
    [("0008", "database_outdated"), ("9999", "database_too_new"), (None, "database_outdated")],
)
async def test_another_schema_is_refused(anyio_backend: str, version: str | None, code: str) -> None:
    """Whoever opens it is told what to do; nothing is changed."""
    url = new_database()
    with psycopg.connect(url) as connection:
        if version is None:
            connection.execute("DROP TABLE alembic_version")
        else:
            connection.execute(
                "UPDATE alembic_version SET version_num = %s, compatible_from = %s", [version] * 2
            )
    with pytest.raises(StorageError) as raised:
        await PostgresDatabase.open(url)
    assert raised.value.code == code
    assert not raised.value.retryable


async def test_a_database_that_takes_no_writes_is_not_ready(database: PostgresDatabase) -> None:
    """As a standby, or one whose disk is full."""
    await database.check()
    with psycopg.connect(database.server.url, autocommit=True) as admin:
        admin.execute(READ_ONLY.format(sql.Identifier(admin.info.dbname)))
    async with await PostgresDatabase.open(database.server.url) as standby:
        assert await names(standby) == []
        with pytest.raises(StorageError) as refused:
            await standby.write(lambda c: add("a", c))
        with pytest.raises(StorageError) as unready:
            await standby.check()
    assert refused.value.code == unready.value.code == "storage_read_only"


async def test_a_closed_database_says_so(database: PostgresDatabase) -> None:
    """Nothing waits for ever."""
    await database.close()
    await database.close()
    with pytest.raises(StorageError, match="closed"):
        await names(database)
    with pytest.raises(StorageError, match="closed"):
        await database.write(lambda c: add("a", c))
