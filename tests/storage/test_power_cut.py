"""What clients were shown outlives a power cut: nothing of it is missing, no number is used again."""

import sqlite3
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, closing
from pathlib import Path

import pytest

from gateway.storage.sqlite import SqliteDatabase, event_rows
from tests.disk import LEFT_OUT, Disk
from tests.product import Message, Storage, StorageError, StoredEvent, storage_on, text_block
from tests.record import stored_events
from tests.storage.writing import accepted, left_open, running, sqlite_storage, writer_of

pytestmark = [pytest.mark.anyio, pytest.mark.skipif(**LEFT_OUT)]


class Shown:
    """What left the storage for the clients, and the files as a power cut at each of these moments leaves
    them."""

    def __init__(self, disk: Disk, folder: Path) -> None:
        self.disk, self.folder = disk, folder
        self.events: dict[str, list[StoredEvent]] = {}
        self.cuts: list[tuple[Path, dict[str, list[StoredEvent]]]] = []

    def see(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        self.events.setdefault(session_id, []).extend(events)
        cut = self.disk.cut(self.folder / f"cut-{len(self.cuts)}")
        self.cuts.append((cut, {session: list(seen) for session, seen in self.events.items()}))


@pytest.fixture(params=[5, event_rows.LOOSE_EVENTS], ids=["packed", "loose"])
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> Disk:
    """A new data folder on a disk that may lose its power; events are packed in every few flushes, or not."""
    monkeypatch.setattr(event_rows, "LOOSE_EVENTS", request.param)
    (tmp_path / "data").mkdir()
    return Disk(tmp_path / "data", tmp_path / "synced")


@asynccontextmanager
async def opened(disk: Disk, cuts: str = "shown") -> AsyncGenerator[tuple[Storage, Shown]]:
    folder = disk.folder.parent / cuts
    folder.mkdir()
    with disk.plugged_in():
        async with await SqliteDatabase.open(disk.folder / "gateway.db") as database:
            storage, shown = storage_on(database), Shown(disk, folder)
            storage.bus.watch(shown.see)
            yield storage, shown


async def after_each(shown: Shown) -> None:
    """Looks at the files of every power cut: what had been shown by then is all there. After the last one
    the turns go on, under numbers that nobody has seen."""
    for cut, seen in shown.cuts:
        for session_id, events in seen.items():
            found = stored(cut, session_id)
            assert found[: len(events)] == events, f"{len(events)} were shown, {len(found)} are there"
    cut, seen = shown.cuts[-1]
    async with sqlite_storage(cut) as storage:
        for now in await left_open(storage):
            writer = writer_of(storage, now)
            assert await writer.append("text", body=b"another") is None
            assert writer.sent[0].seq == len(seen[now.turn.session_id]) + 1
        for session_id, events in seen.items():
            assert (await storage.log.read(session_id, after=0, limit=1000))[: len(events)] == events


def stored(folder: Path, session_id: str) -> list[StoredEvent]:
    with closing(sqlite3.connect(folder / "gateway.db")) as raw:
        return [StoredEvent(*row) for row in stored_events(raw, session_id)]


async def test_nothing_that_was_shown_is_lost(disk: Disk) -> None:
    """Pieces of text, each shown before the next is written; a message, a tool's result and the end."""
    async with opened(disk) as (storage, shown):
        writer = await running(storage)
        message = Message("user", [text_block("hello")])
        assert await writer.append("turn_start", sync=True, message=message) is None
        for number in range(20):
            assert await writer.append("text", body=b"piece %d" % number) is None
        assert await writer.append("tool_result", sync=True) is None
        assert await writer.append("text") is None
        assert await writer.close() is None

    assert [event.seq for event in shown.events["s"]] == list(range(1, 25))
    await after_each(shown)


async def test_nothing_that_many_turns_showed_at_once_is_lost(disk: Disk) -> None:
    """Also where the pieces of one turn share a transaction with those of others."""
    async with opened(disk) as (storage, shown):
        writers = [await running(storage, f"s{number}", f"t{number}") for number in range(5)]
        for _ in range(4):
            fates = [writer.append("text") for writer in writers for _ in range(2)]
            assert [await fate for fate in fates] == [None] * len(fates)

    assert {session: len(events) for session, events in shown.events.items()} == {
        f"s{number}": 8 for number in range(5)
    }
    await after_each(shown)


async def test_what_is_answered_is_kept_and_what_is_not_may_go(disk: Disk) -> None:
    """A turn that was told to be accepted is there after the cut; one that could not be leaves no trace."""
    async with opened(disk) as (storage, _):
        await accepted(storage, "s", "t")
        left = disk.cut(disk.folder.parent / "told")
        disk.fails = lambda call, _: sqlite3.SQLITE_IOERR_FSYNC if call == "sync" else sqlite3.SQLITE_OK
        with pytest.raises(StorageError):
            await accepted(storage, "s2", "t2")
        untold = disk.cut(disk.folder.parent / "untold")
        disk.fails = lambda call, _: sqlite3.SQLITE_OK
        await accepted(storage, "s2", "t3")

    for cut in (left, untold):
        async with sqlite_storage(cut) as storage:
            assert [now.turn.id for now in await left_open(storage)] == ["t"]


async def test_what_a_killed_process_wrote_is_synced_before_the_next_shows_it(disk: Disk) -> None:
    """Killed between write and sync, its events are in the files and not on the disk; whoever reads them from
    there and is asked again after a power cut must find them."""
    killed = disk.folder.parent / "killed"
    killed.mkdir()
    async with opened(disk) as (storage, _):
        writer = await running(storage)
        assert await writer.append("turn_start", sync=True) is None
        disk.syncing = False
        assert await writer.append("tool_result", sync=True) is None
        for file in disk.folder.glob("gateway.db*"):
            if not file.name.endswith("-shm"):
                (killed / file.name).write_bytes(file.read_bytes())
        lost = disk.cut(disk.folder.parent / "lost")
        synced = disk.cut(disk.folder.parent / "synced-before")
        disk.syncing = True

    async with sqlite_storage(lost) as storage:
        assert len(await storage.log.read("s", after=0, limit=9)) == 1  # nobody saw the other one
    async with opened(Disk(killed, synced), "shown after it") as (storage, shown):
        seen = await storage.log.read("s", after=0, limit=9)
        assert len(seen) == 2
        shown.see("s", seen)
    await after_each(shown)
