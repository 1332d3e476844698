"""Reading through archives: every page is what it was before the rows moved, and damage is told by name."""

import asyncio
import gzip
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.storage.archives import ArchiveRow
from gateway.storage.archives.lines import event_line, event_of, message_line, message_of
from gateway.storage.archives.reader import ArchiveReader
from gateway.storage.blobs.addresses import open_blobs
from gateway.storage.blobs.folder import FolderBlobs
from gateway.storage.log import Closing
from gateway.storage.messages import StoredMessage
from gateway.storage.sqlite import SqliteDatabase
from tests.product import Message, Storage, StorageError, StoredEvent, Usage, storage_on
from tests.record import stored_events
from tests.storage.archiving import (
    EVENTS,
    SAID,
    all_events,
    append,
    archive,
    converse,
    event,
    everything,
    packed_archive,
)
from tests.storage.saying import snapshot
from tests.storage.writing import OWNER, accepted

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parent.parent.parent


# Lines

json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats()
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=4)
    ),
    max_leaves=12,
)
blocks = st.lists(st.dictionaries(st.text(max_size=5), json, max_size=4), min_size=1, max_size=4)


@given(json)
def test_what_orjson_wrote_it_writes_again_from_what_it_read(value: object) -> None:
    """So that a message's content has the same bytes in an archive as in its row."""
    text = orjson.dumps(value)

    assert orjson.dumps(orjson.loads(text)) == text


@given(blocks, st.sampled_from(["user", "assistant"]), st.booleans())
def test_a_message_comes_back_from_its_line(content: list[dict[str, object]], role: str, used: bool) -> None:
    """With every field; the content stands in the line as the table has it."""
    text = orjson.dumps(content)
    usage = Usage(input_tokens=1, output_tokens=2) if used else None
    stored = StoredMessage(3, "t_1", Message(role, orjson.loads(text)), usage)  # pyright: ignore[reportArgumentType]
    line = message_line(stored)

    assert message_of(line) == stored
    assert b'"content":' + text + b',"usage":' in line
    assert b"\n" not in line


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"[]",
        b"no json",
        event("s", "t", 2, "text").body,
        event("s", "t2", 1, "text").body,
        event("s", "t", 1, "done").body,
        event("s", "t", 1, "text").body.replace(b",", b",\n"),
    ],
)
def test_an_event_whose_body_tells_another_story_is_not_archived(body: bytes) -> None:
    """The line is the body: what it does not tell would be lost."""
    right = event("s", "t", 1, "text", text="好")
    assert event_of(event_line(right)) == right

    with pytest.raises(StorageError, match="cannot be archived"):
        event_line(StoredEvent(1, "text", "t", body))


# Pages


place = st.integers(0, 45)


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> tuple[ArchiveReader, ArchiveRow]:
    folder = tmp_path_factory.mktemp("blobs")
    row = packed_archive(folder, EVENTS, SAID)
    assert len(row.events_index) > 5
    assert len(row.messages_index) > 5
    return ArchiveReader(open_blobs(str(folder), folder)), row


@given(place, st.none() | place, st.integers(1, 9), st.sets(st.sampled_from(["text", "tool_call", "done"])))
async def test_a_page_of_an_archive_is_a_beginning_of_what_follows_the_cursor(
    packed: tuple[ArchiveReader, ArchiveRow], after: int, until: int | None, limit: int, types: set[str]
) -> None:
    """At most `limit`, nothing skipped, and empty only when there is no more."""
    reader, row = packed
    wanted = [
        each
        for each in EVENTS
        if each.seq > after and (until is None or each.seq <= until) and (not types or each.type in types)
    ]

    found = await reader.events(row, after=after, limit=limit, until=until, types=sorted(types))

    assert found == wanted[: len(found)]
    assert len(found) <= limit
    assert bool(found) == bool(wanted)


@given(place, st.none() | place)
async def test_messages_of_an_archive_are_all_that_were_asked_for(
    packed: tuple[ArchiveReader, ArchiveRow], after: int, until: int | None
) -> None:
    """Those after a position and up to another, wherever members begin."""
    reader, row = packed
    wanted = [each for each in SAID if each.position > after and (until is None or each.position <= until)]

    assert await reader.messages(row, after=after, until=until) == wanted


async def test_a_page_reads_one_member_and_not_the_whole(tmp_path: Path) -> None:
    """What a page costs does not grow with the archive."""
    row = packed_archive(tmp_path, EVENTS, SAID)
    blobs = Counting(tmp_path)

    await ArchiveReader(blobs).events(row, after=20, limit=5)

    [(start, length)] = blobs.reads
    assert start > 0
    assert length is not None
    assert length < (tmp_path / "e.gz").stat().st_size / 4


class Counting(FolderBlobs):
    """A blob store that notes what is read."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.reads: list[tuple[int, int | None]] = []

    async def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes:
        self.reads.append((start, length))
        return await super().read(path, start=start, length=length)


# The log


async def test_a_session_that_is_archived_while_it_is_read_loses_nothing(storage: Storage) -> None:
    """Readers at every place meet the move at any moment: each gets all events and messages, in order."""
    for number in range(8):
        await converse(storage, f"t{number}", ["piece"] * 30)
    events, messages = await everything(storage)
    moved = asyncio.Event()

    async def follow(limit: int) -> None:
        while not moved.is_set():
            assert await all_events(storage, limit=limit) == events

    async def look() -> None:
        while not moved.is_set():
            outline, history = await snapshot(storage, whole=True)
            assert list(history.messages) == list(messages)
            assert outline.session.head == len(events)

    async def move() -> None:
        await asyncio.sleep(0.02)
        assert await archive(storage) is not None
        await asyncio.sleep(0.02)
        moved.set()

    await asyncio.gather(move(), look(), *(follow(limit) for limit in (7, 50, 1000)))
    assert await everything(storage) == (events, messages)


async def test_a_page_goes_on_behind_an_archive_that_has_nothing_for_it(storage: Storage) -> None:
    """`types` that only later events have, and a range that begins there, are found in the tables."""
    await converse(storage, "t1")
    await archive(storage)
    await storage.sessions.change("s", OWNER, 1, title="new")
    await converse(storage, "t2", [])
    await archive(storage)
    await converse(storage, "t3", ["a", "b"])

    async def found(after: int, types: Sequence[str], until: int | None = None) -> list[int]:
        page = await storage.log.read("s", after=after, limit=9, types=types, until=until)
        return [each.seq for each in page]

    assert await found(2, ["text"]) == [7, 8]
    assert await found(2, ["text"], until=6) == []
    assert await found(3, ["done"]) == [5]
    assert await found(5, []) == [6, 7, 8, 9]
    assert await found(0, ["nothing"]) == []
    assert await found(9, []) == []


async def test_lines_hold_what_the_rows_held_byte_for_byte(tmp_path: Path) -> None:
    """The content of a message and the body of an event stand in the files as they stood in their tables."""
    odd = {
        "type": "new",
        "n": [1, 1.5, 1e300, -0.0, None],
        "text": '"\\\n\u2028好',
        "deep": {"b": {}, "a": []},
    }
    async with await SqliteDatabase.open(tmp_path / "gateway.db") as database:
        storage = storage_on(database)
        await converse(storage, "t1", ["好", "'"])
        now = await accepted(storage, turn_id="t2")
        ending = [event("s", "t2", now.head + 1, "turn_start"), event("s", "t2", now.head + 2, "done")]
        ended = Closing("completed", 1, None, None, 9)
        await append(storage, "t2", ending, Message("assistant", [odd]), closing=ended)
        with closing(sqlite3.connect(tmp_path / "gateway.db")) as raw:
            bodies = [body for *_, body in stored_events(raw, "s")]
            rows = raw.execute(
                "SELECT position, turn_id, role, content, usage FROM messages ORDER BY position"
            ).fetchall()
        row = await archive(storage)
        assert row is not None
        events_file = gzip.decompress(await storage.blobs.read(row.events_path))
        messages_file = gzip.decompress(await storage.blobs.read(row.messages_path))

    assert events_file == b"".join(body + b"\n" for body in bodies)
    assert messages_file.decode() == "".join(
        f'{{"position":{place},"turn_id":"{turn}","role":"{role}",'
        f'"content":{content},"usage":{usage or "null"}}}\n'
        for place, turn, role, content, usage in rows
    )
    assert len(rows) == 3
