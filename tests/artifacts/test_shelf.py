"""What is kept comes back as it was, checked; what is damaged is told by its hash."""

import hashlib
import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gateway.artifacts.content import Content, bytes_content, text_content
from gateway.artifacts.shelf import EXAMPLES, Origin, Shelf
from gateway.errors import ArtifactDamaged, ArtifactsFull, NotFound, TooLarge
from gateway.storage.artifacts import CHUNK, MIN_COUNTED, ArtifactRow
from gateway.wiring import Storage
from tests.artifacts.shelving import ORIGIN, Room, is_gone, whole
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio

DATA = random.Random(7).randbytes(2 * CHUNK + CHUNK // 2)
CSV = "订单号,金额\n" + "一,二\n" * 500


# Keeping


async def test_what_is_kept_tells_where_it_comes_from_and_what_is_in_it(room: Room, storage: Storage) -> None:
    """The shelf gives the same row to its owner."""
    await storage.sessions.create("s", OWNER, None, 1)
    shelf = room.shelf(artifact_ttl=60)
    origin = Origin(OWNER, "s", "t", "toolu_1", "p")

    row = await shelf.keep(text_content(CSV, "../data/订单.csv"), origin, metadata={"source": "a test"})

    assert Origin(row.owner, row.session_id, row.turn_id, row.tool_call_id, row.project_id) == origin
    assert (row.name, row.kind, row.mime) == ("订单.csv", "csv", "text/csv")
    assert (row.size, row.lines) == (len(CSV.encode()), 501)
    assert row.sha256 == hashlib.sha256(CSV.encode()).hexdigest()
    assert row.expires_at == row.created_at + 60_000
    assert "订单号" in row.compact
    assert row.metadata["source"] == "a test"
    assert row.metadata[EXAMPLES]["lines"]
    assert await shelf.get(OWNER, row.ref) == row
    assert await storage.artifacts.find(OWNER, limit=9, session_id="s") == [row]
    assert await room.candidates() == []


async def test_the_same_content_lies_there_once_for_each_owner(room: Room, shelf: Shelf) -> None:
    """Under a path that does not give away what users have in common."""
    first = await shelf.keep(text_content(CSV, "a.csv"), ORIGIN)
    again = await shelf.keep(text_content(CSV, "b.csv"), ORIGIN)
    other = await shelf.keep(text_content(CSV, "a.csv"), Origin("bob"))

    assert first.path == again.path != other.path
    assert room.files() == sorted([first.path, other.path])
    assert [row.name for row in await room.rows()].count("b.csv") == 1
    with pytest.raises(NotFound):
        await shelf.get("bob", first.ref)


async def test_keeping_a_content_again_mends_what_was_damaged(room: Room, shelf: Shelf) -> None:
    row = await shelf.keep(text_content(CSV), ORIGIN)
    (room.folder / row.path).unlink()

    await shelf.keep(text_content(CSV), ORIGIN)

    assert await whole(shelf, row) == CSV.encode()


async def test_what_cannot_be_kept_leaves_nothing(room: Room) -> None:
    """Too large, no room for it, or not the owner's session: the blob is gone before the answer."""
    shelf = room.shelf(artifact_max_size=3 * MIN_COUNTED, artifact_quota=2 * MIN_COUNTED)
    large, larger = b"x" * (2 * MIN_COUNTED + 1), b"x" * (3 * MIN_COUNTED + 1)

    with pytest.raises(TooLarge):
        await shelf.keep(bytes_content(larger), ORIGIN)
    with pytest.raises(ArtifactsFull):
        await shelf.keep(bytes_content(large), ORIGIN)
    with pytest.raises(NotFound):
        await shelf.keep(bytes_content(b"small"), Origin(OWNER, "nobody's"))

    assert await room.is_clear()


async def test_what_cannot_be_kept_once_more_leaves_the_first(room: Room) -> None:
    shelf = room.shelf(artifact_quota=MIN_COUNTED)
    row = await shelf.keep(bytes_content(b"x" * MIN_COUNTED), ORIGIN)

    with pytest.raises(ArtifactsFull):
        await shelf.keep(bytes_content(b"x" * MIN_COUNTED), ORIGIN)

    assert await whole(shelf, row) == b"x" * MIN_COUNTED
    assert await room.candidates() == []


@pytest.mark.parametrize("fails_at", [1, 2])
async def test_a_source_that_fails_leaves_nothing(room: Room, shelf: Shelf, fails_at: int) -> None:
    """Also one that fails only when it is gone through again."""
    passes = 0

    def failing() -> Iterator[bytes]:
        nonlocal passes
        passes += 1
        if passes == fails_at:
            raise OSError("the source is gone")
        yield b"\xff" * 100

    with pytest.raises(OSError, match="the source is gone"):
        await shelf.keep(Content(failing), ORIGIN)

    assert passes == fails_at
    assert await room.is_clear()


# Reading


@settings(max_examples=40)
@given(st.integers(0, len(DATA) + 9), st.integers(0, len(DATA)))
@example(CHUNK - 1, 2)
@example(CHUNK, CHUNK)
@example(len(DATA), 1)
@example(0, 0)
async def test_any_part_is_read_as_it_was_kept(room: Room, shelf: Shelf, start: int, length: int) -> None:
    """As bytes and as a stream of bounded pieces; nothing behind the end."""
    row = await kept(room, shelf)

    pieces = [piece async for piece in shelf.stream(row, start, start + length)]

    assert await shelf.read(row, start, length) == b"".join(pieces) == DATA[start : start + length]
    assert all(0 < len(piece) <= CHUNK for piece in pieces)


async def test_an_empty_content_is_kept_too(shelf: Shelf) -> None:
    row = await shelf.keep(text_content(""), ORIGIN)

    assert (row.size, row.lines, row.chunks) == (0, 0, ())
    assert await whole(shelf, row) == await shelf.read(row, 0, 9) == b""


async def test_a_changed_byte_is_found_by_whoever_reads_its_part(room: Room, shelf: Shelf) -> None:
    """The error names the artifact and the hash; other parts are still read, and no byte of the bad one."""
    row = await kept(room, shelf)
    change(room, row, CHUNK + 5)

    assert await shelf.read(row, 0, CHUNK) == DATA[:CHUNK]
    assert await shelf.read(row, 2 * CHUNK, 10) == DATA[2 * CHUNK :][:10]
    with pytest.raises(ArtifactDamaged, match="not what was written") as damaged:
        await shelf.read(row, 2 * CHUNK - 1, 1)
    assert damaged.value.details == {"ref": row.ref, "sha256": row.sha256}
    assert row.ref in damaged.value.message
    assert row.sha256 in damaged.value.message
    assert str(room.folder) not in damaged.value.message

    pieces = shelf.stream(row)
    assert await anext(pieces) == DATA[:CHUNK]
    with pytest.raises(ArtifactDamaged):
        await anext(pieces)


async def test_a_content_that_is_missing_or_cut_is_damaged(room: Room, shelf: Shelf) -> None:
    row = await kept(room, shelf)
    blob = room.folder / row.path

    blob.write_bytes(DATA[: 2 * CHUNK])
    with pytest.raises(ArtifactDamaged, match=row.sha256):
        await shelf.read(row, 2 * CHUNK, 10)
    assert await shelf.read(row, 0, 10) == DATA[:10]
    blob.write_bytes(DATA[: CHUNK - 1])
    with pytest.raises(ArtifactDamaged, match=row.sha256):
        await shelf.read(row, 0, 10)
    blob.unlink()
    with pytest.raises(ArtifactDamaged, match="is missing") as damaged:
        await shelf.read(row, 0, 10)
    assert damaged.value.details == {"ref": row.ref, "sha256": row.sha256}


# Deleting


async def test_what_is_deleted_is_gone_with_its_content(room: Room, shelf: Shelf) -> None:
    """At once, unless another artifact has the same content; nobody deletes what is not theirs."""
    first, second = [await shelf.keep(text_content(CSV), ORIGIN) for _ in range(2)]
    with pytest.raises(NotFound):
        await shelf.delete("bob", first.ref)

    await shelf.delete(OWNER, first.ref)
    assert await is_gone(shelf, first)
    assert await whole(shelf, second) == CSV.encode()
    await shelf.delete(OWNER, second.ref)

    assert await room.is_clear()


async def kept(room: Room, shelf: Shelf) -> ArtifactRow:
    """DATA on the shelf, written once for all examples of a test."""
    return next(iter(await room.rows()), None) or await shelf.keep(bytes_content(DATA), ORIGIN)


def change(room: Room, row: ArtifactRow, place: int) -> None:
    """Turns a bit of the blob around."""
    with (room.folder / row.path).open("r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 1]))


async def test_a_call_that_runs_again_keeps_its_result_once(room: Room, shelf: Shelf) -> None:
    """A process that ended between keeping and recording leaves nothing behind; another content, another name
    and another call are others."""
    call = replace(ORIGIN, turn_id="t", tool_call_id="c")
    first = await shelf.keep(text_content("一", "a.txt"), call)

    assert await shelf.keep(text_content("一", "a.txt"), call) == first
    others = [
        await shelf.keep(text_content("二", "a.txt"), call),
        await shelf.keep(text_content("一", "b.txt"), call),
        await shelf.keep(text_content("一", "a.txt"), replace(call, tool_call_id="another")),
        await shelf.keep(text_content("一", "a.txt"), replace(call, turn_id=None)),
    ]
    assert len({first.ref, *(row.ref for row in others)}) == 5
