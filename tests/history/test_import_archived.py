"""A large session that is imported comes in archived, and nobody can tell by what it answers."""

import gzip
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.history.copies.imports import MAX_ROWS, MAX_ROWS_SIZE
from tests.history.copying import blobs_in, exported, imported
from tests.history.past import (
    PASTS,
    Past,
    compress_past,
    settings_in,
    summarise_past,
    write_past,
)
from tests.product import ArchiveDamaged, Conflict, FolderBlobs, History, Storage, StorageError, open_storage
from tests.storage.archiving import all_events, archive
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio

TALK = [Past("the red lighthouse", ("a", "b ", "c")), Past("more", ("小米粥",)), Past("last", ())]
BLOBS = ["1.jsonl.gz", "events-1.jsonl.gz", "messages-1.jsonl.gz"]


async def a_file(folder: Path, turns: list[Past]) -> bytes:
    """An export of these turns, with a version of the first two messages."""
    async with open_storage(settings_in(folder)) as storage:
        await write_past(storage, "s", turns)
        await compress_past(storage, "s", 2)
        return await exported(storage)


@pytest.fixture
async def file(tmp_path: Path, anyio_backend: str) -> bytes:
    return await a_file(tmp_path / "a", TALK)


@pytest.fixture
async def storage(tmp_path: Path, anyio_backend: str) -> AsyncGenerator[Storage]:
    """Of a gateway that knows nothing yet."""
    async with open_storage(settings_in(tmp_path / "b")) as opened:
        yield opened


async def placeless(storage: Storage) -> History:
    """The history, whose archive lies at another place with each import, and which was brought along then."""
    history = await storage.sessions.history("s")
    row = history.compression
    placed = replace(row, archive_path="") if row is not None else None
    return replace(history, compression=placed, was_brought=False)


@settings(max_examples=15)
@given(PASTS.filter(bool), st.data())
async def test_what_comes_in_archived_answers_as_what_went_out(
    tmp_path_factory: pytest.TempPathFactory, pasts: list[Past], data: st.DataObject
) -> None:
    """Export, events, messages, the view's history and the versions' archives are the same; what is added
    later, and a second archive, go on from there."""
    folder = tmp_path_factory.mktemp("there")
    cuts = sorted(data.draw(st.lists(st.integers(1, 2 * len(pasts)), unique=True, max_size=2)))
    async with (
        open_storage(settings_in(folder / "a")) as source,
        open_storage(settings_in(folder / "b")) as storage,
    ):
        await write_past(source, "s", pasts)
        for cut in cuts:
            await compress_past(source, "s", cut)
        if data.draw(st.booleans()):
            await summarise_past(source, "s", 1)
        await imported(storage, await exported(source), most_rows=0)
        assert len(await storage.archives.list("s")) == 1

        for again in range(3):
            assert await exported(storage) == await exported(source)
            assert await all_events(storage) == await all_events(source)
            assert await storage.sessions.messages("s") == await source.sessions.messages("s")
            assert await placeless(storage) == await placeless(source)
            versions = await storage.compressions.list("s"), await source.compressions.list("s")
            for here, there in zip(*versions, strict=True):
                blob = await storage.blobs.read(here.archive_path)
                assert blob == await source.blobs.read(there.archive_path)
            for each in (storage, source):
                await write_past(each, "s", TALK, name=f"more{again}-")
            await archive(storage)


async def test_only_a_large_session_comes_in_archived(tmp_path: Path, storage: Storage) -> None:
    """By its events and messages, or by its size; a common one is rows, as it was."""
    many = await a_file(tmp_path / "many", [Past("hi", ("x",) * MAX_ROWS)])
    for name, content, archives in (
        ("common", await a_file(tmp_path / "common", TALK), 0),
        ("many", many, 1),
        ("long", await a_file(tmp_path / "long", [Past("hi", ("x" * (MAX_ROWS_SIZE // 2),))]), 1),
    ):
        await imported(storage, content)
        assert len(await storage.archives.list("s")) == archives, name
        await storage.sessions.delete("s", OWNER)


async def test_nothing_of_an_archived_import_lies_in_the_tables(storage: Storage, file: bytes) -> None:
    """What is to be moved by a later archiving is nothing."""
    await imported(storage, file, most_rows=0)

    assert await archive(storage) is None


async def test_an_archived_import_can_be_searched(storage: Storage, file: bytes) -> None:
    """What was asked and what was answered, once it was indexed."""
    await imported(storage, file, most_rows=0)
    assert await storage.search.due(limit=9) == ["s"]
    await storage.search.index("s")

    for words in ("lighthouse", "米粥"):
        assert [row.id for row in await storage.sessions.list(OWNER, limit=9, query=words)] == ["s"]


async def fails_at_the_end(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> type[Exception]:
    async def add(*_: object) -> None:
        raise Conflict("somebody else was faster")

    monkeypatch.setattr(storage.copies, "add", add)
    return Conflict


async def cannot_be_written(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> type[Exception]:
    put = FolderBlobs.put

    async def full(blobs: FolderBlobs, path: str, chunks: Iterable[bytes], *, bulk: bool = False) -> int:
        if "messages-" in path:
            raise StorageError("The disk is full.")
        return await put(blobs, path, chunks, bulk=bulk)

    monkeypatch.setattr(FolderBlobs, "put", full)
    return StorageError


async def cannot_be_read_back(storage: Storage, monkeypatch: pytest.MonkeyPatch) -> type[Exception]:
    read = FolderBlobs.read

    async def other(blobs: FolderBlobs, path: str, *, start: int = 0, length: int | None = None) -> bytes:
        return (await read(blobs, path, start=start, length=length))[: -9 if "messages-" in path else None]

    monkeypatch.setattr(FolderBlobs, "read", other)
    return ArchiveDamaged


@pytest.mark.parametrize("fault", [fails_at_the_end, cannot_be_written, cannot_be_read_back])
async def test_nothing_is_left_of_an_import_that_fails(
    storage: Storage,
    file: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fault: Callable[[Storage, pytest.MonkeyPatch], Awaitable[type[Exception]]],
) -> None:
    """Neither a row nor a blob; and without the fault the same file can be imported."""
    with monkeypatch.context() as patch:
        failure = await fault(storage, patch)
        with pytest.raises(failure):
            await imported(storage, file, most_rows=0)

    assert not await storage.copies.taken("s")
    assert blobs_in(tmp_path / "b") == []
    await imported(storage, file, most_rows=0)
    assert await exported(storage) == file
    assert blobs_in(tmp_path / "b") == BLOBS


async def test_a_session_that_is_made_meanwhile_keeps_what_it_has(
    storage: Storage, file: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The import writes to other places, and when it then fails, what lies there stays."""
    add = storage.copies.add

    async def meanwhile(*given: object) -> object:
        await write_past(storage, "s", TALK, name="own")
        await compress_past(storage, "s", 4)
        await archive(storage)
        return await add(*given)  # pyright: ignore[reportArgumentType] - as it was called

    monkeypatch.setattr(storage.copies, "add", meanwhile)
    with pytest.raises(Conflict, match="session id s cannot be used"):
        await imported(storage, file, most_rows=0)

    (archived,) = await storage.archives.list("s")
    assert await storage.log.read("s", after=0, limit=archived.to_seq)
    (version,) = await storage.compressions.list("s")
    lines = gzip.decompress(await storage.blobs.read(version.archive_path)).splitlines()
    assert len(lines) == 4
    assert b"own1-s" in lines[0]
