"""The memories' file: many processes at once, killed writers, long locks, and bytes that are really gone."""

import asyncio
import sqlite3
from collections.abc import AsyncGenerator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Connection

from gateway.storage.memories import Evidence, Filter, Vector
from gateway.storage.memories.store import MemoryStore
from gateway.storage.memories.terms import HITS
from gateway.storage.migrations import MEMORY_HEAD, schema_of
from gateway.storage.sqlite import sqlite_file, sqlite_memory_database
from gateway.storage.sqlite.sqlite_file import raw_of
from gateway.storage.sqlite.sqlite_memory_database import SqliteMemoryDatabase
from tests.product import StorageError
from tests.storage.many_writers import looked_at, write_at_once, writer
from tests.storage.remembering import ANN, became, memory, remember, sqlite_memories, step

pytestmark = pytest.mark.anyio

MAX_MEMORIES = 10_000


@pytest.fixture
async def opened(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[SqliteMemoryDatabase]:
    async with await SqliteMemoryDatabase.open(tmp_path / "data" / "memory.db") as database:
        yield database


async def test_processes_that_begin_at_once_lose_nothing_and_double_nothing(tmp_path: Path) -> None:
    """Four make the same new file and write to it: all that was acknowledged is there, and what all of them
    wanted to remember is there once."""
    written = await asyncio.to_thread(write_at_once, tmp_path / "data", each=50)

    assert written.stored == written.acknowledged
    assert len(written.stored) == 4 * 45 + written.wanted_by_all
    assert written.doubled == 0
    assert written.sound
    assert schema_of(tmp_path / "data" / "memory.db").revision == MEMORY_HEAD


@pytest.mark.parametrize("lines", [1, 25])
async def test_a_killed_writer_leaves_a_sound_file_and_the_others_go_on(tmp_path: Path, lines: int) -> None:
    """Killed at any moment, while another writes: no acknowledged memory is lost."""

    def story() -> set[str]:
        with writer(tmp_path, "doomed", 100_000) as doomed, writer(tmp_path, "other", 40) as other:
            written: list[str] = []
            for process in (doomed, other):
                assert process.stdout is not None
                assert process.stdin is not None
                assert process.stdout.readline() == "ready\n"
                process.stdin.write("go\n")
                process.stdin.flush()
            assert doomed.stdout is not None
            written += [doomed.stdout.readline() for _ in range(lines)]
            doomed.kill()
            written += [*doomed.stdout, *other.communicate()[0].splitlines(keepends=True)]
            assert other.returncode == 0
        return {line.strip() for line in written if line.endswith("\n")}  # the last one may have been cut

    acknowledged = await asyncio.to_thread(story)
    stored, doubled, sound = looked_at(tmp_path / "memory.db")

    assert acknowledged <= stored
    assert {name.split("_")[0] for name in acknowledged} == {"doomed", "other"}
    assert (doubled, sound) == (0, True)


async def test_a_lock_that_is_held_too_long_is_an_error_that_passes(opened: SqliteMemoryDatabase) -> None:
    """Readers are not disturbed, and the same write succeeds once the other process has let go."""
    store = MemoryStore(opened)
    await remember(store, memory("m_1"))
    await opened.write(lambda connection: raw_of(connection).execute("PRAGMA busy_timeout = 20").close())
    with closing(sqlite3.connect(opened.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageError, match="locked") as refused:
            await remember(store, memory("m_2"))
        assert [row.id for row in await store.list(ANN, limit=9)] == ["m_1"]
        other.execute("ROLLBACK")
    await remember(store, memory("m_2"))

    assert refused.value.retryable
    assert [row.id for row in await store.list(ANN, limit=9)] == ["m_2", "m_1"]


async def test_erased_bytes_are_in_no_file(opened: SqliteMemoryDatabase) -> None:
    """Neither those of the content and its former versions, nor quotes, words and vectors; what is merely
    deleted is still among the versions."""
    store = MemoryStore(opened)
    others = [memory(f"o_{number}", f"another thing {number} 其他 " * 9) for number in range(200)]
    quote = Evidence("s_1", 1, "zyxquote")
    row = memory("m_1", "zyxquartz 密码本 " * 200, tags=("zyxtag",), context="zyxcontext")
    await remember(store, *others[:100])
    await store.write([step(row, evidence=[quote])], most=MAX_MEMORIES)
    changed = became(row, content="zyxquartz changed 密码本")
    await store.write([changed], most=MAX_MEMORIES)
    await store.put_vectors("small", [Vector("m_1", changed.row.digest, b"zyxvector" * 500)])
    await remember(store, *others[100:])
    gone = became(changed.row, "deleted")
    await store.write([gone], most=MAX_MEMORIES)
    assert b"zyxquartz" in bytes_beside(opened.path)

    assert await store.erase(ANN, "m_1")

    left = bytes_beside(opened.path)
    for part in ("zyx", "密码本", "密码"):
        assert part.encode() not in left
    assert b"another thing 77" in left
    assert len(await store.match(ANN, ["其他"], Filter(recallable=True), limit=500)) == 200


async def test_an_erasure_from_a_large_index_lets_others_write_between(
    opened: SqliteMemoryDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The index is merged some pages in a transaction, and has none of the words when the erasure is over."""
    monkeypatch.setattr(sqlite_file, "MERGED_PAGES", 1)
    store = MemoryStore(opened)
    words = " ".join(f"word{number}" for number in range(900))
    await remember(store, *(memory(f"o_{number}", f"{number} {words}") for number in range(60)))
    await remember(store, memory("m_1", f"zyxquartz {words}"))
    merges: list[bool] = []
    merge_some = sqlite_file.merge_some

    def counted(connection: Connection, index: str, *, begins: bool = False) -> bool:
        merges.append(merge_some(connection, index, begins=begins))
        return merges[-1]

    monkeypatch.setattr(sqlite_file, "merge_some", counted)
    assert await store.erase(ANN, "m_1")

    assert sum(merges) > 3
    assert b"zyx" not in bytes_beside(opened.path)
    assert len(await store.match(ANN, ["word7"], Filter(recallable=True), limit=100)) == 60


async def test_an_erasure_stands_when_the_index_cannot_be_merged(
    opened: SqliteMemoryDatabase, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Another process that writes for too long is in the way: the log says so, and the next erasure ends
    it."""
    store = MemoryStore(opened)
    await remember(store, memory("m_1", "zyxquartz"), memory("m_2", "other"), memory("m_3"))
    with monkeypatch.context() as patched, caplog.at_level("WARNING", logger=sqlite_memory_database.__name__):

        def busy(connection: Connection, index: str, *, begins: bool = False) -> bool:
            raise StorageError("The database is in use.")

        patched.setattr(sqlite_file, "merge_some", busy)
        assert await store.erase(ANN, "m_1")

    assert "the words of what was erased are still in the index of memory.db" in caplog.text
    assert await store.erase(ANN, "m_2")
    assert b"zyx" not in bytes_beside(opened.path)


def bytes_beside(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.parent.iterdir()))


async def test_the_log_is_emptied_when_it_has_grown(
    opened: SqliteMemoryDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By whoever wrote, and nothing is lost."""
    monkeypatch.setattr(sqlite_memory_database, "LOG_BYTES", 100_000)
    store = MemoryStore(opened)
    log = opened.path.with_name("memory.db-wal")
    sizes: list[int] = []
    for number in range(40):
        await remember(store, memory(f"m_{number}", f"{number} " * 900))
        sizes.append(log.stat().st_size)

    assert 0 < max(sizes) <= 100_000
    assert sizes.count(0) > 0
    assert await store.count(ANN) == 40


async def test_common_words_do_not_keep_a_rare_one_from_being_found(opened: SqliteMemoryDatabase) -> None:
    """However many memories have the common ones: those are left out where they would take too long."""
    store = MemoryStore(opened)
    common = [memory(f"m_{number}", f"report {number} 报告 for the project 项目") for number in range(HITS)]
    await remember(store, *common, memory("m_rare", "the project's report is blue 蓝色"))

    for words in (["报告", "项目", "project", "report", "blue"], ["报告", "蓝色"], ["report", "no", "blue"]):
        found = await store.match(ANN, words, Filter(recallable=True), limit=5)
        assert found[0].row.id == "m_rare"
    assert len(await store.match(ANN, ["report"], Filter(recallable=True), limit=5)) == 5


async def test_the_file_is_its_owners_alone(opened: SqliteMemoryDatabase) -> None:
    """And so is all that lies beside it."""
    assert opened.path.parent.stat().st_mode & 0o777 == 0o700
    assert {file.stat().st_mode & 0o777 for file in opened.path.parent.iterdir()} == {0o600}


async def test_a_closed_store_refuses_and_a_state_that_cannot_be_read_is_new(
    opened: SqliteMemoryDatabase,
) -> None:
    store = MemoryStore(opened)
    await remember(store, memory("m_1"))
    await opened.close()

    with pytest.raises(StorageError, match="closed"):
        await remember(store, memory("m_2"))
    with pytest.raises(StorageError, match="closed"):
        await store.list(ANN, limit=9)
    assert await store.state() != await store.state()
    async with sqlite_memories(opened.path.parent) as again:
        assert [row.id for row in await again.list(ANN, limit=9)] == ["m_1"]
