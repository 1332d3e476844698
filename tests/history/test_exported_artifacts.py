"""What becomes of an export when artifacts are kept, deleted or damaged meanwhile."""

import tracemalloc
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.artifacts.content import ArtifactContent, text_content
from gateway.errors import ArtifactDamaged
from gateway.storage.artifacts import CHUNK
from tests.history.artifact_copies import (
    TALK,
    fill,
    kept,
    lines_of,
    parsed,
)
from tests.history.copying import artifact_store_of, exported, exporting, imported
from tests.history.past import settings_in, write_past
from tests.product import ArtifactRow, NotFound, Storage, open_storage
from tests.storage.writing import OWNER


@pytest.mark.anyio
async def test_what_is_kept_while_an_export_is_written_is_no_part_of_it(tmp_path: Path) -> None:
    """The file is of the moment at which it was begun."""
    async with open_storage(settings_in(tmp_path)) as storage:
        await fill(storage)
        whole, export = await exported(storage), await exporting(storage)
        await kept(storage, text_content("later"))

        assert b"".join([chunk async for chunk in export.chunks()]) == whole


async def missing(storage: Storage, row: ArtifactRow) -> None:
    await storage.blobs.delete(row.path)


async def changed(storage: Storage, row: ArtifactRow) -> None:
    data = bytearray(await storage.blobs.read(row.path))
    data[-5] ^= 1
    await storage.blobs.put(row.path, [bytes(data)])


@pytest.mark.parametrize("fault", [missing, changed])
@pytest.mark.anyio
async def test_an_export_does_not_end_as_if_a_damaged_content_were_sound(
    tmp_path: Path, fault: Callable[[Storage, ArtifactRow], Any]
) -> None:
    """It fails with the name and the hash of what cannot be read."""
    async with open_storage(settings_in(tmp_path)) as storage:
        row = (await fill(storage))[0]
        await fault(storage, row)

        with pytest.raises(ArtifactDamaged, match=f"{row.ref}.*{row.sha256}"):
            await exported(storage)


@pytest.mark.anyio
async def test_an_export_holds_no_more_than_some_parts_in_memory(tmp_path: Path) -> None:
    """Twelve parts go by; what is held is a few: the bytes, their base64, the line."""
    async with open_storage(settings_in(tmp_path)) as storage:
        await write_past(storage, "s", TALK)

        def parts() -> Iterator[bytes]:
            for number in range(12):
                yield bytes([number]) * CHUNK

        await kept(storage, ArtifactContent(parts))
        export, size = await exporting(storage), 0
        tracemalloc.start()
        async for chunk in export.chunks():
            size += len(chunk)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    assert size > 12 * CHUNK
    assert peak < 8 * CHUNK


@pytest.mark.anyio
async def test_an_artifact_that_is_deleted_before_its_content_is_read_is_left_out(tmp_path: Path) -> None:
    """Its row was read already. One of the same content has it in its place."""
    async with open_storage(settings_in(tmp_path)) as storage:
        rows, artifact_store = await fill(storage), artifact_store_of(storage)
        first = min(row.ref for row in rows[2:])

        async def contents(row: ArtifactRow) -> AsyncGenerator[bytes]:
            if row.ref == first:
                raise NotFound("It is gone.", code="artifact_not_found")
            async for part in artifact_store.stream(row):
                yield part

        export = await exporting(storage, contents=contents)
        lines = parsed(b"".join([chunk async for chunk in export.chunks()]))

        left = {row.ref for row in rows if row.ref != first}
        assert {line["ref"] for line in lines_of(lines, "artifact")} == left
        assert {line["ref"] for line in lines_of(lines, "content")} == left


@pytest.mark.anyio
async def test_an_artifact_that_is_deleted_while_its_content_is_read_ends_the_export(tmp_path: Path) -> None:
    """It says so, and the next export goes through."""
    async with open_storage(settings_in(tmp_path)) as storage:
        rows, export = await fill(storage), await exporting(storage)
        chunks = export.chunks()
        while b'"number":1,' not in (chunk := await anext(chunks)) or rows[0].ref.encode() not in chunk:
            pass
        await artifact_store_of(storage).delete(OWNER, rows[0].ref)
        with pytest.raises(NotFound, match=f"{rows[0].ref} was deleted .* export the session again"):
            await anext(chunks)

        assert len(lines_of(parsed(await exported(storage)), "artifact")) == 3


@pytest.mark.anyio
async def test_without_a_damaged_artifact_the_session_can_be_exported(tmp_path: Path) -> None:
    """The error says what to delete."""
    async with open_storage(settings_in(tmp_path)) as storage:
        row = (await fill(storage))[1]
        (blob,) = tmp_path.rglob(row.sha256 + "*")
        blob.write_bytes(b"other")
        with pytest.raises(ArtifactDamaged, match=f"DELETE /api/artifacts/{row.ref}") as refused:
            await exported(storage)
        assert refused.value.details == {"ref": row.ref, "sha256": row.sha256}

        await artifact_store_of(storage).delete(OWNER, row.ref)
        assert len(lines_of(parsed(await exported(storage)), "artifact")) == 3


@pytest.mark.anyio
async def test_an_artifact_that_is_deleted_meanwhile_is_left_out(tmp_path: Path) -> None:
    """As if the export had begun later."""
    async with open_storage(settings_in(tmp_path / "a")) as storage:
        rows, export = await fill(storage), await exporting(storage)
        await artifact_store_of(storage).delete(OWNER, rows[2].ref)
        file = b"".join([chunk async for chunk in export.chunks()])
    async with open_storage(settings_in(tmp_path / "b")) as storage:
        await imported(storage, file)

        with pytest.raises(NotFound):
            await storage.artifacts.get(OWNER, rows[2].ref)
        assert len(await storage.artifacts.find(OWNER, limit=9)) == 3
