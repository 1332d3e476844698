"""Whatever fails while something is kept, and whenever: it is there whole or not at all, and nothing stays
behind that nobody needs."""

import asyncio
import os
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog
from sqlalchemy import Connection

from gateway.artifacts import artifact_store as store_module
from gateway.artifacts.artifact_store import CANDIDATE_TIME, ArtifactStore, Origin, Swept
from gateway.artifacts.content import ArtifactContent, bytes_content, text_content
from gateway.artifacts.store_events import ArtifactEvent, Damaged
from gateway.storage.artifacts import CHUNK
from gateway.storage.artifacts.store import Artifacts
from gateway.storage.orphans import Orphans
from tests.artifacts.store_folder import ORIGIN, StoreFolder, is_gone, whole
from tests.product import ArtifactRow, Conflict, FolderBlobs, NotFound, Storage, StorageError, now_ms
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio

DATA = b"\xff" * 100_000


class Killed(BaseException):
    """The end of the process: nothing is put in order after it."""


class DyingStore(Artifacts):
    """Does one thing, and that is the last."""

    async def add(self, row: ArtifactRow, **given: Any) -> None:
        await super().add(row, **given)
        raise Killed


class DyingOrphans(Orphans):
    async def suspect(self, paths: Collection[str], at: int) -> None:
        await super().suspect(paths, at)
        raise Killed


class DyingBlobs(FolderBlobs):
    async def put(self, path: str, chunks: Iterable[bytes], *, bulk: bool = False) -> int:
        await super().put(path, chunks)
        raise Killed


class Waiting:
    """A content of DATA that waits, when it is written, until it may go on."""

    def __init__(self) -> None:
        self.begun, self.go_on = asyncio.Event(), threading.Event()
        self.content = ArtifactContent(self._chunks)
        self._loop, self._passes = asyncio.get_running_loop(), 0

    def _chunks(self) -> Iterator[bytes]:
        self._passes += 1
        yield DATA[:50_000]
        if self._passes == 2:
            self._loop.call_soon_threadsafe(self.begun.set)
            self.go_on.wait(10)
        yield DATA[50_000:]


# Full disks


async def test_a_full_disk_of_the_blobs_leaves_nothing(
    backing: StoreFolder, artifact_store: ArtifactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The write itself fails as it does there; when there is room again all goes on."""

    def full(_: FolderBlobs, path: Path) -> int:
        return os.open("/dev/full", os.O_WRONLY)

    with monkeypatch.context() as patch:
        patch.setattr(FolderBlobs, "_create", full)
        with pytest.raises(StorageError) as failed:
            await artifact_store.put(bytes_content(DATA), ORIGIN)
    assert failed.value.code == "storage_full"
    assert await backing.is_clear()

    again = await artifact_store.put(bytes_content(DATA), ORIGIN)
    assert await whole(artifact_store, again) == DATA


async def test_a_disk_that_is_too_full_for_the_row_leaves_nothing(
    backing: StoreFolder, artifact_store: ArtifactStore
) -> None:
    """The blob, which was written before, is removed."""
    await pragma(backing, f"max_page_count = {await pragma(backing, 'page_count')}")

    with pytest.raises(StorageError) as failed:
        await artifact_store.put(bytes_content(DATA), ORIGIN, metadata={"note": "x" * 100_000})

    assert failed.value.code == "storage_full"
    assert await backing.is_clear()
    await pragma(backing, "max_page_count = 100000")
    row = await artifact_store.put(bytes_content(DATA), ORIGIN, metadata={"note": "x" * 100_000})
    assert await whole(artifact_store, row) == DATA


async def test_a_disk_that_is_too_full_for_a_candidate_gets_no_blob(
    backing: StoreFolder, artifact_store: ArtifactStore
) -> None:
    await pragma(backing, f"max_page_count = {await pragma(backing, 'page_count')}")
    fillers = (backing.orphans.suspect([f"filler/{number:099}"], 1) for number in range(1000))
    with suppress(StorageError):
        for filler in fillers:
            await filler

    with pytest.raises(StorageError) as failed:
        await artifact_store.put(bytes_content(DATA), ORIGIN)

    assert failed.value.code == "storage_full"
    assert backing.files() == await backing.rows() == []


# The end of the process, and of callers


@pytest.mark.parametrize("last", ["suspect", "put", "add"])
async def test_what_a_crash_left_behind_is_swept_an_hour_later(backing: StoreFolder, last: str) -> None:
    """It may have been after any step; what was kept stays, and nothing else does."""
    dying = backing.artifact_store(
        DyingStore(backing.database) if last == "add" else None,
        DyingBlobs(backing.folder) if last == "put" else None,
        DyingOrphans(backing.database) if last == "suspect" else None,
    )
    with pytest.raises(Killed):
        await dying.put(bytes_content(DATA), ORIGIN)
    artifact_store = backing.artifact_store()

    assert len(backing.files()) == (last != "suspect")
    assert await artifact_store.sweep(now_ms() + CANDIDATE_TIME - 5000) == Swept(0, 0)
    assert await artifact_store.sweep(now_ms() + CANDIDATE_TIME + 1) == Swept(0, last != "add")

    rows = await backing.rows()
    assert [await whole(artifact_store, row) for row in rows] == ([DATA] if last == "add" else [])
    assert backing.files() == [row.path for row in rows]
    assert await backing.candidates() == []


async def test_who_is_cancelled_while_a_blob_is_written_leaves_a_candidate_at_most(
    backing: StoreFolder, artifact_store: ArtifactStore
) -> None:
    waiting = Waiting()
    keeping = asyncio.create_task(artifact_store.put(waiting.content, ORIGIN))
    await waiting.begun.wait()
    keeping.cancel()
    waiting.go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await keeping

    assert await backing.rows() == []
    assert len(await backing.candidates()) == 1
    assert await artifact_store.sweep(now_ms() + CANDIDATE_TIME + 1) == Swept(0, 1)
    assert await backing.is_clear()


async def test_who_is_cancelled_while_the_row_is_added_finds_it_whole(backing: StoreFolder) -> None:
    """The transaction was under way already; a sweep does not take its blob."""
    added = asyncio.Event()

    class Slow(Artifacts):
        async def add(self, row: ArtifactRow, **given: Any) -> None:
            adding = asyncio.ensure_future(super().add(row, **given))
            await asyncio.sleep(0)  # it is on its way to the database
            added.set()
            await adding

    artifact_store = backing.artifact_store(Slow(backing.database))
    keeping = asyncio.create_task(artifact_store.put(bytes_content(DATA), ORIGIN))
    await added.wait()
    keeping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await keeping

    await artifact_store.sweep(now_ms() + CANDIDATE_TIME + 1)
    [row] = await backing.rows()
    assert await whole(artifact_store, row) == DATA
    assert await backing.candidates() == []


# Sweeping


async def test_a_blob_that_was_swept_while_it_was_written_gets_no_row(
    backing: StoreFolder, artifact_store: ArtifactStore
) -> None:
    """Whoever writes for that long is told so, and nothing is left."""
    waiting = Waiting()
    keeping = asyncio.create_task(artifact_store.put(waiting.content, ORIGIN))
    await waiting.begun.wait()
    assert await artifact_store.sweep(now_ms() + CANDIDATE_TIME + 1) == Swept(0, 1)
    waiting.go_on.set()
    with pytest.raises(Conflict) as refused:
        await keeping

    assert (refused.value.code, refused.value.retryable) == ("content_removed", True)
    assert await backing.rows() == []


async def test_a_content_that_goes_while_it_is_stored_again_is_stored_anew(
    backing: StoreFolder, artifact_store: ArtifactStore
) -> None:
    """Its last artifact is deleted, and its blob removed, between the look at it and the new row."""
    gone = await artifact_store.put(bytes_content(DATA), ORIGIN)

    class Late(Artifacts):
        async def path_of(self, owner: str, sha256: str) -> str | None:
            return gone.path

        async def add(self, row: ArtifactRow, **given: Any) -> None:
            if row.path == gone.path:
                await artifact_store.delete(OWNER, gone.ref)
            await super().add(row, **given)

    row = await backing.artifact_store(Late(backing.database)).put(bytes_content(DATA), ORIGIN)

    assert row.path != gone.path
    assert await whole(artifact_store, row) == DATA
    assert backing.files() == [row.path]
    assert await backing.candidates() == []


async def test_two_who_store_the_same_write_and_remove_different_blobs(
    backing: StoreFolder, artifact_store: ArtifactStore
) -> None:
    """The one that fails, and removes what it wrote, leaves the other's."""
    waiting = Waiting()
    first = asyncio.create_task(artifact_store.put(waiting.content, replace(ORIGIN, session_id="none")))
    await waiting.begun.wait()
    row = await artifact_store.put(bytes_content(DATA), ORIGIN)
    waiting.go_on.set()
    with pytest.raises(NotFound):
        await first

    assert await whole(artifact_store, row) == DATA
    assert backing.files() == [row.path]
    assert await backing.candidates() == []


async def test_a_sweep_removes_what_nobody_uses_any_more(backing: StoreFolder, storage: Storage) -> None:
    """What is over its time with its blob, an hour later, and the blobs of a deleted session; not what a
    session uses."""
    await storage.sessions.create("s", OWNER, None, 1)
    await storage.sessions.create("ended", OWNER, None, 1)
    artifact_store = backing.artifact_store(artifact_ttl=1)
    used = await artifact_store.put(text_content("used"), Origin(OWNER, "s"))
    over = await artifact_store.put(text_content("over"), ORIGIN)
    ended = await artifact_store.put(text_content("ended"), Origin(OWNER, "ended"))
    await storage.sessions.delete("ended", OWNER)
    later = now_ms() + 10_000

    assert await artifact_store.sweep(later) == Swept(1, 0)
    assert backing.files() == sorted([used.path, over.path, ended.path])
    assert await artifact_store.sweep(later + CANDIDATE_TIME + 1) == Swept(0, 2)

    assert [await is_gone(artifact_store, row) for row in (used, over, ended)] == [False, True, True]
    assert backing.files() == [used.path]
    assert await backing.candidates() == []


async def test_a_round_ends_at_a_blob_that_cannot_be_removed(
    backing: StoreFolder, artifact_store: ArtifactStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that is away is not asked about each of many. That blob goes to the end of the line: the next
    round comes to the others; a round has an end."""
    monkeypatch.setattr(store_module, "ROUND", 2)
    rows = [await artifact_store.put(text_content(f"number {number}"), ORIGIN) for number in range(3)]
    for at, row in enumerate(rows, 1):
        await backing.store.delete(OWNER, row.ref, at)
    stuck = backing.folder / rows[0].path
    stuck.unlink()
    (stuck / "in the way").mkdir(parents=True)

    with structlog.testing.capture_logs() as lines:
        assert await artifact_store.sweep(now_ms()) == Swept(0, 0)
    assert await backing.candidates() == [rows[1].path, rows[2].path, rows[0].path]
    assert [line["event"] for line in lines] == ["blob_not_removed"]
    assert await artifact_store.sweep(now_ms()) == Swept(0, 2)
    (stuck / "in the way").rmdir()
    stuck.rmdir()

    assert await artifact_store.sweep(now_ms() + CANDIDATE_TIME + 1) == Swept(0, 1)
    assert await backing.is_clear()


# Deleted while it is read


async def test_what_is_deleted_while_it_is_read_is_not_found(backing: StoreFolder) -> None:
    """It is not damaged, and nobody is told so."""
    events = list[ArtifactEvent]()
    artifact_store = backing.artifact_store(on_event=events.append)
    row = await artifact_store.put(bytes_content(bytes(CHUNK + 1)), ORIGIN)
    pieces = artifact_store.stream(row)
    await anext(pieces)
    await artifact_store.delete(OWNER, row.ref)

    with pytest.raises(NotFound) as refused:
        await anext(pieces)
    assert refused.value.code == "artifact_not_found"
    assert not any(isinstance(each, Damaged) for each in events)


async def pragma(backing: StoreFolder, text: str) -> int:
    def work(connection: Connection) -> int:
        raw = connection.connection.dbapi_connection
        assert isinstance(raw, sqlite3.Connection)
        return raw.execute(f"PRAGMA {text}").fetchone()[0]

    return await backing.database.write(work)
