"""Damaged archives are named and the rest stays readable; a crash before the commit leaves all in place."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.storage.archives.reader import ArchiveReader
from gateway.storage.archives.segments import Packer
from gateway.storage.blobs.addresses import open_blobs
from gateway.storage.blobs.folder import FolderBlobs
from gateway.storage.messages import StoredMessage
from tests.forked import telling
from tests.product import ArchiveDamaged, Storage, StoredEvent
from tests.storage.archiving import (
    EVENTS,
    SAID,
    all_events,
    archive,
    archive_without_end,
    converse,
    event,
    everything,
    packed_archive,
)
from tests.storage.writing import OWNER, sqlite_storage

pytestmark = pytest.mark.anyio


def flipped(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 0x10]) + data[middle + 1 :]


def cut_off(data: bytes) -> bytes:
    return data[:-9]


def emptied(_: bytes) -> bytes:
    return b""


def grown(data: bytes) -> bytes:
    return data + b"!"


@pytest.mark.parametrize("damage", [None, flipped, cut_off, emptied, grown])
@pytest.mark.parametrize("which", ["events", "messages"])
async def test_a_damaged_archive_is_named_and_the_rest_is_readable(
    storage: Storage, tmp_path: Path, which: str, damage: Callable[[bytes], bytes] | None
) -> None:
    """Missing, changed, cut off or grown: what lies in it is an error that names it, what lies in other
    archives and in the tables is there."""
    for number in range(3):
        await converse(storage, f"t{number}", ["a piece", "and more"])
        if number < 2:
            await archive(storage)
    events, messages = await everything(storage)
    first = (await storage.archives.list("s"))[0]
    broken = first.events_path if which == "events" else first.messages_path
    file = tmp_path / "blobs" / broken
    if damage is None:
        file.unlink()
    else:
        file.write_bytes(damage(file.read_bytes()))

    attempt = (
        storage.log.read("s", after=0, limit=99) if which == "events" else storage.sessions.messages("s")
    )
    with pytest.raises(ArchiveDamaged, match=broken) as raised:
        await attempt
    assert raised.value.details == {"path": broken}
    assert not raised.value.retryable
    if which == "events":
        assert list(await storage.sessions.messages("s")) == list(messages)
        second = await storage.log.read("s", after=4, limit=99)
        assert second + await storage.log.read("s", after=second[-1].seq, limit=99) == events[4:]
    else:
        assert await all_events(storage) == events
        assert list(await storage.sessions.messages("s", after=2)) == list(messages[2:])
    await converse(storage, "later")


@pytest.mark.parametrize(
    "content",
    [
        [event("s", "t", 1, "text"), event("s", "t", 3, "text")],
        [event("s", "t", 2, "text"), event("s", "t", 3, "text")],
        [event("s", "t", 1, "text")],
        [event("s", "t", seq, "text") for seq in (1, 2, 3)],
    ],
)
async def test_a_sound_file_with_other_lines_is_damage_too(
    tmp_path: Path, content: list[StoredEvent]
) -> None:
    """Lines that are missing, too many or not those that the index promises."""
    row = packed_archive(tmp_path, content, SAID)
    row = replace(row, from_seq=1, to_seq=2, events_index=[(1, 0)])

    with pytest.raises(ArchiveDamaged, match=r"e\.gz"):
        await ArchiveReader(open_blobs(str(tmp_path), tmp_path)).events(row, after=0, limit=9)


@pytest.mark.parametrize("line", [b"no json", b"[]", b'{"seq":1}', b"17"])
async def test_a_line_that_is_no_event_is_damage_too(tmp_path: Path, line: bytes) -> None:
    """Whatever it is instead."""
    row = packed_archive(tmp_path, EVENTS, SAID)
    (tmp_path / "e.gz").write_bytes(b"".join(Packer().pack([(1, line)])))
    row = replace(row, from_seq=1, to_seq=1, events_index=[(1, 0)])

    with pytest.raises(ArchiveDamaged, match=r"e\.gz"):
        await ArchiveReader(open_blobs(str(tmp_path), tmp_path)).events(row, after=0, limit=9)


async def test_a_session_that_is_deleted_while_it_is_read_is_not_damaged(
    storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its archives go with it; who reads them in that moment finds no more events."""
    await converse(storage, "t1")
    await archive(storage)
    read = FolderBlobs.read

    async def late(blobs: FolderBlobs, path: str, *, start: int = 0, length: int | None = None) -> bytes:
        await storage.sessions.delete("s", OWNER)
        await storage.blobs.delete(path)
        return await read(blobs, path, start=start, length=length)

    monkeypatch.setattr(FolderBlobs, "read", late)

    assert await storage.log.read("s", after=0, limit=9) == []


# A crash


def test_a_process_that_dies_before_the_commit_leaves_everything_in_place(tmp_path: Path) -> None:
    """Killed when both blobs are written and the rows are not freed: the session is as it was, and can be
    archived later."""

    async def prepare() -> tuple[list[StoredEvent], Sequence[StoredMessage]]:
        async with sqlite_storage(tmp_path) as storage:
            await converse(storage, "t1", ["好"] * 50)
            return await everything(storage)

    async def look() -> list[tuple[list[StoredEvent], Sequence[StoredMessage]]]:
        async with sqlite_storage(tmp_path) as storage:
            assert await storage.archives.list("s") == []
            found = await everything(storage)
            await converse(storage, "t2")
            grown = await everything(storage)
            assert await archive(storage) is not None
            assert await everything(storage) == grown
            return [found, (grown[0][: len(found[0])], grown[1][:2])]

    before = asyncio.run(prepare())
    with telling(archive_without_end, tmp_path) as (process, lines):
        paths = lines.readline().split()
        process.kill()
        process.join()
    assert [(tmp_path / "blobs" / path).exists() for path in paths] == [True, True]

    assert asyncio.run(look()) == [before, before]
