"""The embedded engine: group commit, a full disk, cancelled callers, and one process per folder."""

import asyncio
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert, select, text

from gateway.storage.data_folder_lock import LOCK_NAME
from gateway.storage.log import Append
from gateway.storage.log.packs import PAGE_BYTES
from gateway.storage.schema import sessions
from gateway.storage.sqlite import SqliteDatabase
from gateway.storage.sqlite.commits import Durability
from tests.product import (
    Message,
    NotFound,
    Storage,
    StorageError,
    StoredEvent,
    TurnLost,
    storage_on,
    text_block,
)
from tests.storage.writing import OWNER, accepted, running

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parent.parent.parent


def add_session(connection: Connection, session_id: str) -> None:
    connection.execute(insert(sessions).values(id=session_id, owner=OWNER, created_at=1, updated_at=1))


async def names(database: SqliteDatabase) -> list[str]:
    return await database.read(
        lambda connection: list(connection.scalars(select(sessions.c.id).order_by(sessions.c.id)))
    )


async def test_a_failing_transaction_rolls_back_alone(database: SqliteDatabase) -> None:
    """Of transactions that share a commit only a failing one leaves no trace; its caller gets the reason."""

    def fail(connection: Connection) -> None:
        add_session(connection, "b")
        raise NotFound("on purpose")

    answers = await asyncio.gather(
        database.write(lambda connection: add_session(connection, "a")),
        database.write(fail),
        database.write(lambda connection: add_session(connection, "c")),
        database.write(lambda connection: add_session(connection, "a")),
        database.write(lambda connection: connection.execute(text("SELECT nonsense"))),
        return_exceptions=True,
    )

    assert [type(answer).__name__ for answer in answers] == [
        "NoneType",
        "NotFound",
        "NoneType",
        "IntegrityError",
        "StorageError",
    ]
    assert await names(database) == ["a", "c"]


async def test_what_is_submitted_in_one_moment_shares_a_commit(
    database: SqliteDatabase, storage: Storage
) -> None:
    """Many turns' appends and a transaction of somebody's own make one commit, not one each."""
    writers = [await running(storage, f"s{number}", f"t{number}") for number in range(70)]
    commits: list[str] = []
    await database.write(
        lambda connection: raw(connection).set_trace_callback(
            lambda sql: commits.append(sql) if sql.startswith("COMMIT") else None
        )
    )
    commits.clear()
    fates = [writer.append("text", "text") for writer in writers for _ in range(2)]
    await database.write(lambda connection: add_session(connection, "x"))

    assert [fate.result() for fate in fates] == [None] * 140
    assert len(commits) == 1
    assert {len(await storage.log.read(f"s{number}", after=0, limit=9)) for number in range(70)} == {4}


async def test_one_refused_turn_among_many_is_refused_alone(storage: Storage) -> None:
    """When the fence of all turns of a flush does not hold, each turn is judged by itself."""
    writers = [await running(storage, f"s{number}", f"t{number}") for number in range(20)]
    writers[7].epoch = 9
    message = Message("user", [text_block("hello")])

    fates = await asyncio.gather(*(writer.append("turn_start", message=message) for writer in writers))

    assert [number for number, fate in enumerate(fates) if isinstance(fate, TurnLost)] == [7]
    for number in range(20):
        expected = 0 if number == 7 else 1
        assert len(await storage.log.read(f"s{number}", after=0, limit=9)) == expected
        assert len(await storage.sessions.messages(f"s{number}")) == expected


def raw(connection: Connection) -> sqlite3.Connection:
    beneath = connection.connection.dbapi_connection
    assert isinstance(beneath, sqlite3.Connection)
    return beneath


@pytest.mark.parametrize(
    ("durability", "modes"), [("synced", [2, 2, 2, 2, 2, 2]), ("relaxed", [1, 2, 2, 1, 2, 1])]
)
async def test_every_commit_is_forced_to_the_disk_unless_the_setting_says_otherwise(
    tmp_path: Path, durability: Durability, modes: list[int]
) -> None:
    """Relaxed, text alone commits without fsync, anything else with it, and the mode follows every change."""
    seen: list[int] = []

    def note(sql: str) -> None:
        if sql.startswith("COMMIT"):
            seen.append(opened.execute(f"PRAGMA synchronous -- {len(seen)}").fetchone()[0])

    async with await SqliteDatabase.open(tmp_path / "gateway.db", durability=durability) as database:
        writer = await running(storage_on(database))
        # The trace runs on the writer's thread while nothing else does.
        opened = await database.write(raw)
        opened.set_trace_callback(note)
        for sync in (False, True, True, False, True, False):
            await writer.append("text", sync=sync)
        opened.set_trace_callback(None)

    assert seen == modes


async def test_a_full_disk_fails_everybody_visibly_and_passes(
    database: SqliteDatabase, storage: Storage
) -> None:
    """While the disk is full every append and transaction gets storage_full and leaves nothing; once there is
    room again the same writer goes on."""
    writer = await running(storage)
    await writer.append("turn_start")
    before = await storage.sessions.get("s", OWNER)
    pages = await database.write(
        lambda connection: raw(connection).execute("PRAGMA page_count").fetchone()[0]
    )
    await database.write(
        lambda connection: raw(connection).execute(f"PRAGMA max_page_count = {pages}").close()
    )
    large = b'"' + b"x" * 100_000 + b'"'
    head, sent = writer.head, list(writer.sent)

    other = asyncio.create_task(accepted(storage, "s2", "t2"))
    await asyncio.sleep(0)  # both go into one transaction
    refused = await writer.append("text", body=large)
    assert isinstance(refused, StorageError)
    assert refused.code == "storage_full"
    with pytest.raises(StorageError) as failed:
        await other
    assert failed.value.code == "storage_full"
    assert await storage.sessions.get("s", OWNER) == before

    with pytest.raises(StorageError) as failed:
        await accepted(storage, "s2", "t2", text="x" * 100_000)
    assert failed.value.code == "storage_full"

    await database.write(lambda connection: raw(connection).execute("PRAGMA max_page_count = 100000").close())
    writer.head, writer.sent = head, sent
    assert await writer.append("text", body=large) is None
    assert await storage.log.read("s", after=0, limit=9) == writer.sent
    assert (await accepted(storage, "s2", "t2")).turn.status == "running"


async def test_a_page_is_bounded_in_bytes(storage: Storage) -> None:
    """A page of large events ends early but never stays empty, and the next ones bring the rest."""
    writer = await running(storage)
    large = b'"' + "好".encode() * 200_000 + b'"'
    await writer.append(*["text"] * 4, body=large)
    await writer.append("text", body=b'"' + b"x" * 2 * PAGE_BYTES + b'"')
    await writer.append("done")

    pages: list[list[int]] = []
    got = 0
    while page := await storage.log.read("s", after=got, limit=100):
        assert page == writer.sent[got : got + len(page)]
        pages.append([event.seq for event in page])
        got = page[-1].seq

    assert pages == [[1, 2], [3, 4], [5], [6]]


async def test_a_cancelled_caller_leaves_the_database_usable(
    database: SqliteDatabase, storage: Storage
) -> None:
    """However many callers are cancelled at whatever moment, transactions stay whole and the rest goes on."""
    for number in range(40):
        task = asyncio.create_task(accepted(storage, f"s{number:02}", f"t{number}"))
        reading = asyncio.create_task(storage.sessions.list(OWNER, limit=9))
        for _ in range(number % 5):
            await asyncio.sleep(0)
        task.cancel()
        reading.cancel()
        await asyncio.gather(task, reading, return_exceptions=True)
    await database.write(lambda connection: add_session(connection, "last"))

    made = await names(database)
    assert made[0] == "last"
    for name in made[1:]:
        assert await storage.turns.open_turn(name) is not None


async def test_a_deleted_session_is_forgotten_though_its_caller_was_cancelled(storage: Storage) -> None:
    """The bus keeps nothing of a session that is gone, whether or not somebody waited for its end."""
    writer = await running(storage)
    await writer.append("turn_start")
    await writer.close()
    task = asyncio.create_task(storage.sessions.delete("s", OWNER))
    await asyncio.sleep(0)
    task.cancel()
    await storage.sessions.create("other", OWNER, None, 1)

    assert [row.id for row in await storage.sessions.list(OWNER, limit=9)] == ["other"]
    with storage.bus.subscribe("s") as reader:
        assert not reader.since(0)


async def test_a_reader_cannot_write(database: SqliteDatabase) -> None:
    """Connections for reading refuse to change anything."""
    with pytest.raises(Exception, match="readonly"):
        await database.read(lambda connection: add_session(connection, "a"))


async def test_closing_commits_what_is_pending_and_then_refuses(
    database: SqliteDatabase, storage: Storage
) -> None:
    """Appends queued before the close are durable; later ones are told, not lost in silence."""
    writer = await running(storage)
    pending = writer.append("turn_start")
    await database.close()

    assert pending.result() is None
    assert isinstance(await writer.append("text"), StorageError)
    for attempt in (accepted(storage, "s2", "t2"), storage.sessions.get("s", OWNER)):
        with pytest.raises(StorageError, match="closed"):
            await attempt
    await database.close()
    async with await SqliteDatabase.open(database.path) as again:
        assert await names(again) == ["s"]


async def test_the_folder_is_made_for_its_owner_alone(database: SqliteDatabase) -> None:
    """Folder and file cannot be read by other users of the machine."""
    assert database.path.parent.stat().st_mode & 0o777 == 0o700
    assert database.path.stat().st_mode & 0o777 == 0o600


async def test_a_second_process_is_refused_and_told_the_folder(database: SqliteDatabase) -> None:
    """One clear line, whether the other process opens or migrates, and the first is not disturbed."""
    script = (
        "import pathlib, sys\n"
        "from gateway.errors import StorageError\n"
        "from gateway.storage.migrations import migrate\n"
        "try: migrate(pathlib.Path(sys.argv[1]))\n"
        "except StorageError as error: print(error.code, error.message)"
    )
    result = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-c", script, str(database.path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    assert result.stdout.startswith(f"data_locked The data folder {database.path.parent} is in use by")
    assert str(os.getpid()) in result.stdout
    assert result.stdout.count("\n") == 1
    with pytest.raises(StorageError) as refused:
        await SqliteDatabase.open(database.path)
    assert refused.value.code == "data_locked"
    await database.write(lambda connection: add_session(connection, "a"))
    assert await names(database) == ["a"]


async def test_no_link_and_no_moved_lock_lets_a_second_process_in(
    database: SqliteDatabase, tmp_path: Path
) -> None:
    """What is held is where the file really lies: a link to it in another folder leads there, a file with two
    names is refused whichever is open, and without its lock file the folder is still held."""
    other = tmp_path / "other"
    other.mkdir()
    linked, copied = other / "gateway.db", other / "hard.db"
    linked.symlink_to(database.path)
    (database.path.parent / LOCK_NAME).unlink()
    for path in (linked, database.path):
        with pytest.raises(StorageError, match="is in use by") as refused:
            await SqliteDatabase.open(path)
        assert refused.value.code == "data_locked"

    copied.hardlink_to(database.path)
    with pytest.raises(StorageError, match="has 2 names") as refused:
        await SqliteDatabase.open(copied)
    assert refused.value.code == "data_locked"


async def test_a_writer_that_fails_to_hear_keeps_nobody_from_hearing(
    storage: Storage, caplog: pytest.LogCaptureFixture
) -> None:
    """An exception in one turn's `settled` is logged; the other turns of the flush are told."""
    await running(storage, "s1", "t1")
    other = await running(storage, "s2", "t2")

    def fail(fate: Exception | None) -> None:
        raise RuntimeError(f"deaf to {fate}")

    before = other.append("text")
    storage.log.append(Append("s1", "t1", 1, 0, [StoredEvent(1, "text", "t1", b"{}")], fail))
    after = other.append("text")

    assert await asyncio.gather(before, after) == [None, None]
    assert "deaf to None" in caplog.text
