"""Artifacts travel with the session that uses them."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.artifacts.artifact_store import CANDIDATE_TIME, Origin
from gateway.artifacts.content import bytes_content, text_content
from gateway.history.transcript import fold, view
from gateway.storage.artifacts import CHUNK
from tests.history.artifact_copies import (
    LONG,
    TALK,
    a_file,
    content_of,
    fill,
    forged,
    is_untouched,
    kept,
    lines_of,
    parsed,
)
from tests.history.copying import artifact_store_of, aside_in, exported, imported
from tests.history.past import settings_in, write_past
from tests.product import (
    ArtifactRow,
    ArtifactsFull,
    Attached,
    Conflict,
    FolderBlobs,
    Storage,
    StorageError,
    now_ms,
    open_storage,
)
from tests.storage.writing import OWNER


@pytest.mark.anyio
async def test_artifacts_come_back_as_they_went_out(tmp_path: Path) -> None:
    """Rows but for owner and place, contents, uses; the next export is the same file."""
    async with open_storage(settings_in(tmp_path / "a")) as storage:
        rows = await fill(storage)
        file = await exported(storage)
    async with open_storage(settings_in(tmp_path / "b")) as storage:
        await imported(storage, file, "bob")
        found = await storage.artifacts.find("bob", limit=9, session_id="s")

        assert len(found) == len(rows)
        for row in rows:
            came = await storage.artifacts.get("bob", row.ref)
            fields = [name for name in ArtifactRow.__slots__ if name not in {"owner", "path"}]
            assert [getattr(came, name) for name in fields if name != "chunks"] == [
                getattr(row, name) for name in fields if name != "chunks"
            ]
            assert list(came.chunks) == list(row.chunks)
            assert came.owner == "bob"
        assert await content_of(storage, await storage.artifacts.get("bob", rows[0].ref)) == LONG
        assert await exported(storage, owner="bob") == file
        assert await storage.orphans.candidates(now_ms() + 1, 9) == []


@pytest.mark.anyio
async def test_a_content_that_artifacts_share_is_written_once(tmp_path: Path) -> None:
    """In the file, and in the folder where it lands."""
    lines = parsed(file := await a_file(tmp_path / "a"))
    of_json = hashlib.sha256(b'{"a": [1, 2]}').hexdigest()
    (first, second) = [line for line in lines_of(lines, "artifact") if line["sha256"] == of_json]
    owners = [line["ref"] for line in lines_of(lines, "content")]

    assert [owners.count(each["ref"]) for each in (first, second)] == [1, 0]
    assert len(owners) == 2 + -(-len(LONG) // CHUNK)
    async with open_storage(settings_in(tmp_path / "b")) as storage:
        await imported(storage, file)
        assert len(aside_in(tmp_path / "b")) == 3


@pytest.mark.anyio
async def test_only_what_the_session_uses_goes_along(tmp_path: Path) -> None:
    """An artifact of another session does when this one uses it, and then does not name that one."""
    async with open_storage(settings_in(tmp_path / "a")) as storage:
        await write_past(storage, "s", TALK)
        await write_past(storage, "other", TALK)
        other = Origin(OWNER, "other", "t1-other")
        used = await kept(storage, text_content("used"), other)
        await kept(storage, text_content("not used"), other)
        await storage.artifacts.use(OWNER, "s", [used.ref])
        (line,) = lines_of(parsed(await exported(storage)), "artifact")

    assert (line["ref"], line["session_id"]) == (used.ref, None)
    assert "owner" not in line
    assert "path" not in line


@pytest.mark.anyio
async def test_attachments_come_along_with_their_turns_and_messages(tmp_path: Path) -> None:
    """A repeated message is known as such after an import, too, and the model is told the same."""
    async with open_storage(settings_in(tmp_path / "a")) as storage:
        row = await kept(storage, text_content("a,b\n1,2\n", "订单.csv"), Origin(OWNER))
        file = Attached(
            ref=row.ref, name="订单.csv", mime=row.mime, size=row.size, shown="text", text="a,b\n1,2\n"
        )
        await write_past(storage, "s", TALK, attachments=(file,))
        exported_file = await exported(storage)
        messages = fold(view(await storage.sessions.history("s")))
    async with open_storage(settings_in(tmp_path / "b")) as storage:
        await imported(storage, exported_file)

        assert (await storage.turns.get("s", "t1-s", OWNER)).attachments == (file,)
        assert fold(view(await storage.sessions.history("s"))) == messages
        assert (await storage.artifacts.get(OWNER, row.ref)).name == "订单.csv"
        assert await exported(storage) == exported_file


@pytest.mark.anyio
async def test_an_artifact_that_the_importer_has_is_used_as_it_is(tmp_path: Path) -> None:
    """The session was deleted and comes back; what another session kept of it was there all the time."""
    async with open_storage(settings_in(tmp_path)) as storage:
        row = (await fill(storage))[0]
        await write_past(storage, "other", TALK)
        await storage.artifacts.use(OWNER, "other", [row.ref])
        file = await exported(storage)
        await storage.sessions.delete("s", OWNER)
        await imported(storage, file)

        assert (await storage.artifacts.get(OWNER, row.ref)).created_at == row.created_at
        assert len(await storage.artifacts.find(OWNER, limit=9, session_id="s")) == 4
        assert (await storage.artifacts.space_used(OWNER)).count == 4


@pytest.mark.anyio
async def test_a_reference_that_names_another_content_is_a_conflict(tmp_path: Path) -> None:
    """Nothing of the file is added, and what was there stays."""
    lines = parsed(await a_file(tmp_path / "a"))
    async with open_storage(settings_in(tmp_path / "b")) as storage:
        await storage.sessions.create("mine", OWNER, None, 1)
        mine = await kept(storage, text_content("mine"), Origin(OWNER, "mine"))
        line = lines_of(lines, "artifact")[0]
        for part in lines_of(lines, "content"):
            if part["ref"] == line["ref"]:
                part["ref"] = mine.ref
        line["ref"] = mine.ref
        with pytest.raises(Conflict, match=mine.ref):
            await imported(storage, forged(lines))

        assert not await storage.copies.taken("s")
        assert aside_in(tmp_path / "b") == [mine.sha256]
        assert await content_of(storage, mine) == b"mine"
        assert await storage.orphans.candidates(now_ms() + 1, 9) == []


@pytest.mark.anyio
async def test_the_importers_quota_counts(tmp_path: Path) -> None:
    """There must be room for all the contents together, each counted once."""
    file = await a_file(tmp_path / "a")
    async with open_storage(settings_in(tmp_path / "b")) as storage:
        with pytest.raises(ArtifactsFull) as refused:
            await imported(storage, file, quota=len(LONG) + 2 * 4096)

        assert refused.value.details is not None
        assert refused.value.details["quota"] == len(LONG) + 2 * 4096
        assert await is_untouched(storage, tmp_path / "b")
        with pytest.raises(ArtifactsFull, match="tenant"):
            await imported(storage, file, tenant_quota=len(LONG) + 2 * 4096)
        assert await is_untouched(storage, tmp_path / "b")
        await imported(storage, file, quota=len(LONG) + 3 * 4096, tenant_quota=len(LONG) + 3 * 4096)


async def cannot_be_written(storage: Storage, patch: pytest.MonkeyPatch) -> None:
    put = FolderBlobs.put

    async def full(blobs: FolderBlobs, path: str, chunks: Any, *, bulk: bool = False) -> int:
        if path.startswith("artifacts/") and next(iter(chunks)).startswith(b'{"a"'):
            raise StorageError("The disk is full.", code="storage_full")
        return await put(blobs, path, chunks, bulk=bulk)

    patch.setattr(FolderBlobs, "put", full)


async def fails_at_the_end(storage: Storage, patch: pytest.MonkeyPatch) -> None:
    async def add(*_: object) -> None:
        raise StorageError("The database is gone.")

    patch.setattr(storage.copies, "add", add)


@pytest.mark.parametrize("fault", [cannot_be_written, fails_at_the_end])
@pytest.mark.anyio
async def test_nothing_is_left_of_an_import_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: Callable[[Storage, pytest.MonkeyPatch], Any]
) -> None:
    """Neither rows nor contents; and without the fault the same file can be imported."""
    file = await a_file(tmp_path / "a")
    async with open_storage(settings_in(tmp_path / "b")) as storage:
        with monkeypatch.context() as patch:
            await fault(storage, patch)
            with pytest.raises(StorageError):
                await imported(storage, file)

        assert await is_untouched(storage, tmp_path / "b")
        await imported(storage, file)
        assert await exported(storage) == file


@pytest.mark.anyio
async def test_what_a_crash_leaves_of_an_import_is_a_candidate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before a content is written it is a candidate: a sweep removes it."""
    file = await a_file(tmp_path / "a")
    async with open_storage(settings_in(tmp_path / "b")) as storage:

        async def crash(*_: object) -> None:
            monkeypatch.setattr(storage.orphans, "condemn", gone)
            raise StorageError("The database is gone.")

        async def gone(*_: object) -> bool:
            raise StorageError("The database is gone.")

        with monkeypatch.context() as patch:
            patch.setattr(storage.copies, "add", crash)
            with pytest.raises(StorageError):
                await imported(storage, file)
        assert len(aside_in(tmp_path / "b")) == 3
        monkeypatch.undo()

        await artifact_store_of(storage).sweep(now_ms() + CANDIDATE_TIME + 1)
        assert await is_untouched(storage, tmp_path / "b")


@pytest.mark.anyio
async def test_an_imported_artifact_stays_no_longer_than_one_that_is_kept_now(tmp_path: Path) -> None:
    """Whatever the file says: without a session it would take room for ever."""
    lines = parsed(await a_file(tmp_path / "a"))
    for line in lines_of(lines, "artifact"):
        line.update(created_at=2**52, expires_at=2**53)
    before = now_ms()
    async with open_storage(settings_in(tmp_path / "b")) as storage:
        await imported(storage, forged(lines), ttl=60)
        rows = await storage.artifacts.find(OWNER, limit=9)

        assert all(before <= row.created_at <= now_ms() for row in rows)
        assert {row.expires_at - row.created_at for row in rows} == {60_000}


@pytest.mark.anyio
async def test_an_artifact_of_no_bytes_comes_along(tmp_path: Path) -> None:
    """It has no parts, but it is there."""
    async with open_storage(settings_in(tmp_path / "a")) as storage:
        await write_past(storage, "s", TALK)
        row = await kept(storage, bytes_content(b""))
        file = await exported(storage)
    async with open_storage(settings_in(tmp_path / "b")) as storage:
        await imported(storage, file)

        assert await content_of(storage, await storage.artifacts.get(OWNER, row.ref)) == b""
        assert aside_in(tmp_path / "b") == [row.sha256]
