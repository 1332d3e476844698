"""What an archiving or a deletion that was killed leaves in the blob store goes; nothing else does."""

import asyncio
from pathlib import Path

import pytest

from gateway.artifacts.artifact_store import CANDIDATE_TIME
from gateway.history.archive import archive_paths, folder_of, version_path
from gateway.storage.archives import ArchiveRow
from gateway.wiring import open_artifact_store
from tests.forked import telling
from tests.harness import settings_for
from tests.product import Conflict, Storage, now_ms
from tests.storage.archiving import archive, archive_without_end, converse, everything
from tests.storage.saying import add_version, version
from tests.storage.writing import OWNER, sqlite_storage

pytestmark = pytest.mark.anyio


def files_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


async def swept(storage: Storage, folder: Path, *, now: int | None = None) -> int:
    """How many blobs a round of the upkeep removed, by default one when nobody writes them any more."""
    artifact_store = open_artifact_store(settings_for(folder, "http://127.0.0.1:9"), storage)
    return (await artifact_store.sweep(now or now_ms() + CANDIDATE_TIME + 1)).removed


def test_an_archiving_that_is_killed_leaves_nothing_for_long(tmp_path: Path) -> None:
    """Its blobs go an hour later; the session stays as it was and can be archived."""

    async def prepare() -> None:
        async with sqlite_storage(tmp_path) as storage:
            await converse(storage, "t1", ["piece"] * 50)

    asyncio.run(prepare())
    with telling(archive_without_end, tmp_path) as (process, lines):
        left = sorted(lines.readline().split())
        process.kill()
        process.join()
    assert files_in(tmp_path / "blobs") == left

    async def look() -> None:
        async with sqlite_storage(tmp_path) as storage:
            before = await everything(storage)
            assert await swept(storage, tmp_path) == 2
            assert files_in(tmp_path / "blobs") == []
            row = await archive(storage)
            assert row is not None
            assert await swept(storage, tmp_path, now=now_ms() + 2 * CANDIDATE_TIME) == 0
            assert await everything(storage) == before
            assert files_in(tmp_path / "blobs") == sorted([row.events_path, row.messages_path])

    asyncio.run(look())


async def test_what_is_being_written_is_left_alone(storage: Storage, tmp_path: Path) -> None:
    """A blob that was begun a while ago is in nobody's way; after an hour it is one that nobody writes."""
    path = version_path("s", 1)
    began = now_ms()
    await storage.orphans.suspect([path], began)
    await storage.blobs.put(path, [b"lines"])

    assert await swept(storage, tmp_path, now=began + CANDIDATE_TIME) == 0
    assert await storage.blobs.read(path) == b"lines"
    assert await swept(storage, tmp_path, now=began + CANDIDATE_TIME + 1) == 1
    assert files_in(tmp_path / "blobs") == []


async def test_an_archive_whose_blobs_were_swept_meanwhile_is_refused(
    storage: Storage, tmp_path: Path
) -> None:
    """However long the writing took: no row is freed of which there is no copy."""
    await converse(storage, "t1")
    before = await everything(storage)
    paths = archive_paths("s", 1)
    await storage.orphans.suspect(paths, 1)
    await swept(storage, tmp_path)
    row = ArchiveRow("s", 1, 1, 3, paths[0], "e" * 64, [(1, 0)], 1, 2, paths[1], "f" * 64, [(1, 0)], 7)

    with pytest.raises(Conflict, match="took too long"):
        await storage.archives.add(row)

    assert await storage.archives.list("s") == []
    assert await everything(storage) == before


async def test_a_deletion_that_is_killed_before_the_blobs_are_gone_is_finished(
    storage: Storage, tmp_path: Path
) -> None:
    """Wherever they lie, also where those of former versions lay: all of them are candidates from the
    deletion on, and those of other sessions are not."""
    await converse(storage, "t1")
    await converse(storage, "t2", session_id="other")
    row = await archive(storage)
    kept = await archive(storage, "other")
    assert row is not None
    assert kept is not None
    old = "sessions/s/archive/1.jsonl.gz"
    await storage.blobs.put(old, [b"lines"])
    await add_version(storage, version(1, 1, 2))
    assert (await storage.compressions.get("s", 1)).archive_path == old

    candidates = await storage.sessions.delete("s", OWNER)
    assert sorted(candidates) == sorted([row.events_path, row.messages_path, old])

    assert await swept(storage, tmp_path) == 3
    assert files_in(tmp_path / "blobs") == sorted([kept.events_path, kept.messages_path])


def test_sessions_whose_ids_differ_in_case_alone_have_folders_of_their_own() -> None:
    """Also on a disk that does not tell capitals apart; and two archives of one number are two blobs."""
    assert folder_of("alice_s1").lower() != folder_of("ALICE_S1").lower()
    assert folder_of("alice_s1") == folder_of("alice_s1").lower()
    assert not set(archive_paths("s", 1)) & set(archive_paths("s", 1))
    assert version_path("s", 1) != version_path("s", 1)
    assert version_path("s", 1).startswith(folder_of("s") + "/")
