"""What is kept comes back as it was, checked; what is damaged is told by its hash."""

import hashlib
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.artifacts.artifact_store import EXAMPLES, ArtifactStore, Origin
from gateway.artifacts.content import ArtifactContent, bytes_content, text_content
from gateway.errors import ArtifactDamaged, TooLarge
from gateway.storage.artifacts import CHUNK, MIN_COUNTED
from tests.artifacts.store_folder import ORIGIN, StoreFolder, is_gone, whole
from tests.product import ArtifactRow, ArtifactsFull, NotFound, Storage
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio

DATA = random.Random(7).randbytes(2 * CHUNK + CHUNK // 2)
CSV = "订单号,金额\n" + "一,二\n" * 500


# Keeping


async def test_what_is_kept_tells_where_it_comes_from_and_what_is_in_it(
    backing: StoreFolder, storage: Storage
) -> None:
    """The shelf gives the same row to its owner."""
    await storage.sessions.create("s", OWNER, None, 1)
    artifact_store = backing.artifact_store(artifact_ttl=60)
    origin = Origin(OWNER, "s", "t", "toolu_1", "p")

    row = await artifact_store.put(
        text_content(CSV, "../data/订单.csv"), origin, metadata={"source": "a test"}
    )

    assert Origin(row.owner, row.session_id, row.turn_id, row.tool_call_id, row.project_id) == origin
    assert (row.name, row.kind, row.mime) == ("订单.csv", "csv", "text/csv")
    assert (row.size, row.lines) == (len(CSV.encode()), 501)
    assert row.sha256 == hashlib.sha256(CSV.encode()).hexdigest()
    assert row.expires_at == row.created_at + 60_000
    assert "订单号" in row.compact
    assert row.metadata["source"] == "a test"
    assert row.metadata[EXAMPLES]["lines"]
    assert await artifact_store.get(OWNER, row.ref) == row
    assert await storage.artifacts.find(OWNER, limit=9, session_id="s") == [row]
    assert await backing.candidates() == []


async def test_the_same_content_lies_there_once_for_each_owner(
    backing: StoreFolder, artifact_store: ArtifactStore
) -> None:
    """Under a path that does not give away what users have in common."""
    first = await artifact_store.put(text_content(CSV, "a.csv"), ORIGIN)
    again = await artifact_store.put(text_content(CSV, "b.csv"), ORIGIN)
    other = await artifact_store.put(text_content(CSV, "a.csv"), Origin("bob"))

    assert first.path == again.path != other.path
    assert backing.files() == sorted([first.path, other.path])
    assert [row.name for row in await backing.rows()].count("b.csv") == 1
    with pytest.raises(NotFound):
        await artifact_store.get("bob", first.ref)


async def test_keeping_a_content_again_mends_what_was_damaged(
    backing: StoreFolder, artifact_store: ArtifactStore
) -> None:
    row = await artifact_store.put(text_content(CSV), ORIGIN)
    (backing.folder / row.path).unlink()

    again = await artifact_store.put(text_content(CSV), ORIGIN)
    mended = await artifact_store.get(OWNER, row.ref)

    assert mended.path == again.path != row.path
    assert await whole(artifact_store, mended) == CSV.encode()
    assert (await backing.store.space_used(OWNER)).count == 2
    assert await backing.candidates() == [row.path]


async def test_what_cannot_be_kept_leaves_nothing(backing: StoreFolder) -> None:
    """Too large, no room for it, or not the owner's session: the blob is gone before the answer."""
    artifact_store = backing.artifact_store(artifact_max_size=3 * MIN_COUNTED, artifact_quota=2 * MIN_COUNTED)
    large, larger = b"x" * (2 * MIN_COUNTED + 1), b"x" * (3 * MIN_COUNTED + 1)

    with pytest.raises(TooLarge):
        await artifact_store.put(bytes_content(larger), ORIGIN)
    with pytest.raises(ArtifactsFull):
        await artifact_store.put(bytes_content(large), ORIGIN)
    with pytest.raises(NotFound):
        await artifact_store.put(bytes_content(b"small"), Origin(OWNER, "nobody's"))

    assert await backing.is_clear()


async def test_what_cannot_be_kept_once_more_leaves_the_first(backing: StoreFolder) -> None:
    artifact_store = backing.artifact_store(artifact_quota=MIN_COUNTED)
    row = await artifact_store.put(bytes_content(b"x" * MIN_COUNTED), ORIGIN)

    with pytest.raises(ArtifactsFull):
        await artifact_store.put(bytes_content(b"x" * MIN_COUNTED), ORIGIN)

    assert await whole(artifact_store, row) == b"x" * MIN_COUNTED
    assert await backing.candidates() == []


@pytest.mark.parametrize("fails_at", [1, 2])
async def test_a_source_that_fails_leaves_nothing(
    backing: StoreFolder, artifact_store: ArtifactStore, fails_at: int
) -> None:
    """Also one that fails only when it is gone through again."""
    passes = 0

    def failing() -> Iterator[bytes]:
        nonlocal passes
        passes += 1
        if passes == fails_at:
            raise OSError("the source is gone")
        yield b"\xff" * 100

    with pytest.raises(OSError, match="the source is gone"):
        await artifact_store.put(ArtifactContent(failing), ORIGIN)

    assert passes == fails_at
    assert await backing.is_clear()


# Reading


@settings(max_examples=40)
@given(st.integers(0, len(DATA) + 9), st.integers(0, len(DATA)))
@example(CHUNK - 1, 2)
@example(CHUNK, CHUNK)
@example(len(DATA), 1)
@example(0, 0)
async def test_any_part_is_read_as_it_was_kept(
    backing: StoreFolder, artifact_store: ArtifactStore, start: int, length: int
) -> None:
    """As bytes and as a stream of bounded pieces; nothing behind the end."""
    row = await kept(backing, artifact_store)

    pieces = [piece async for piece in artifact_store.stream(row, start, start + length)]

    assert await artifact_store.read(row, start, length) == b"".join(pieces) == DATA[start : start + length]
    assert all(0 < len(piece) <= CHUNK for piece in pieces)


async def test_an_empty_content_is_kept_too(artifact_store: ArtifactStore) -> None:
    row = await artifact_store.put(text_content(""), ORIGIN)

    assert (row.size, row.lines, row.chunks) == (0, 0, ())
    assert await whole(artifact_store, row) == await artifact_store.read(row, 0, 9) == b""


async def test_a_changed_byte_is_found_by_whoever_reads_its_part(
    backing: StoreFolder, artifact_store: ArtifactStore
) -> None:
    """The error names the artifact and the hash; other parts are still read, and no byte of the bad one."""
    row = await kept(backing, artifact_store)
    change(backing, row, CHUNK + 5)

    assert await artifact_store.read(row, 0, CHUNK) == DATA[:CHUNK]
    assert await artifact_store.read(row, 2 * CHUNK, 10) == DATA[2 * CHUNK :][:10]
    with pytest.raises(ArtifactDamaged, match="not what was written") as damaged:
        await artifact_store.read(row, 2 * CHUNK - 1, 1)
    assert damaged.value.details == {"ref": row.ref, "sha256": row.sha256}
    assert row.ref in damaged.value.message
    assert row.sha256 in damaged.value.message
    assert str(backing.folder) not in damaged.value.message

    pieces = artifact_store.stream(row)
    assert await anext(pieces) == DATA[:CHUNK]
    with pytest.raises(ArtifactDamaged):
        await anext(pieces)


async def test_a_content_that_is_missing_or_cut_is_damaged(
    backing: StoreFolder, artifact_store: ArtifactStore
) -> None:
    row = await kept(backing, artifact_store)
    blob = backing.folder / row.path

    blob.write_bytes(DATA[: 2 * CHUNK])
    with pytest.raises(ArtifactDamaged, match=row.sha256):
        await artifact_store.read(row, 2 * CHUNK, 10)
    assert await artifact_store.read(row, 0, 10) == DATA[:10]
    blob.write_bytes(DATA[: CHUNK - 1])
    with pytest.raises(ArtifactDamaged, match=row.sha256):
        await artifact_store.read(row, 0, 10)
    blob.unlink()
    with pytest.raises(ArtifactDamaged, match="is missing") as damaged:
        await artifact_store.read(row, 0, 10)
    assert damaged.value.details == {"ref": row.ref, "sha256": row.sha256}


# Deleting


async def test_what_is_deleted_is_gone_with_its_content(
    backing: StoreFolder, artifact_store: ArtifactStore
) -> None:
    """At once, unless another artifact has the same content; nobody deletes what is not theirs."""
    first, second = [await artifact_store.put(text_content(CSV), ORIGIN) for _ in range(2)]
    with pytest.raises(NotFound):
        await artifact_store.delete("bob", first.ref)

    await artifact_store.delete(OWNER, first.ref)
    assert await is_gone(artifact_store, first)
    assert await whole(artifact_store, second) == CSV.encode()
    await artifact_store.delete(OWNER, second.ref)

    assert await backing.is_clear()


async def kept(backing: StoreFolder, artifact_store: ArtifactStore) -> ArtifactRow:
    """DATA on the shelf, written once for all examples of a test."""
    return next(iter(await backing.rows()), None) or await artifact_store.put(bytes_content(DATA), ORIGIN)


def change(backing: StoreFolder, row: ArtifactRow, place: int) -> None:
    """Turns a bit of the blob around."""
    with (backing.folder / row.path).open("r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 1]))


async def test_a_call_that_runs_again_keeps_its_result_once(
    backing: StoreFolder, artifact_store: ArtifactStore
) -> None:
    """A process that ended between keeping and recording leaves nothing behind; another content, another name
    and another call are others."""
    call = replace(ORIGIN, turn_id="t", tool_call_id="c")
    first = await artifact_store.put(text_content("一", "a.txt"), call)

    assert await artifact_store.put(text_content("一", "a.txt"), call) == first
    others = [
        await artifact_store.put(text_content("二", "a.txt"), call),
        await artifact_store.put(text_content("一", "b.txt"), call),
        await artifact_store.put(text_content("一", "a.txt"), replace(call, tool_call_id="another")),
        await artifact_store.put(text_content("一", "a.txt"), replace(call, turn_id=None)),
    ]
    assert len({first.ref, *(row.ref for row in others)}) == 5
