"""Archiving: whatever happens meanwhile, everything is answered as before, and nothing is lost."""

import asyncio
import functools
import gzip
import hashlib
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection, select, text

from gateway.errors import TurnInProgress
from gateway.events.session_changes import Compression
from gateway.history import archive as archiving
from gateway.storage.archives import ArchiveRow
from gateway.storage.archives.segments import Packer
from gateway.storage.archives.store import Archives
from gateway.storage.schema import loose_events, messages
from gateway.storage.sessions.purges import Purges
from gateway.storage.sqlite.session_search import Fts5TurnWords
from tests.product import (
    ArchiveDamaged,
    Conflict,
    FolderBlobs,
    Message,
    SqliteDatabase,
    Storage,
    StorageError,
    StoredEvent,
    StoredMessage,
    storage_on,
    text_block,
)
from tests.storage.archiving import all_events, append, archive, converse, event, everything
from tests.storage.writing import OWNER, accepted, sqlite_storage

pytestmark = pytest.mark.anyio

PLACES = ("/archive/events-1-", "/archive/messages-1-")
"""What stands in the paths of the two blobs, which the first of them is written at."""


def files_in(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


# Everything as before

step = st.one_of(
    st.tuples(st.just("turn"), st.lists(st.text("a好 \n\"'", max_size=60), max_size=6)),
    st.tuples(st.just("archive"), st.just([])),
    st.tuples(st.just("note"), st.just([])),
)


class Story:
    """A session that grows and is archived; `events` are what was published, in order."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self.events: list[StoredEvent] = []
        self.messages: list[StoredMessage] = []
        self.turns = 0
        storage.bus.watch(lambda _, events: self.events.extend(events))

    async def take(self, kind: str, pieces: list[str]) -> None:
        if kind == "turn":
            self.turns += 1
            await converse(self.storage, f"t{self.turns}", pieces)
            self.messages += await self.storage.sessions.messages("s", after=len(self.messages))
        elif kind == "note":
            await self.storage.log.note("s", "c_1", Compression(phase="started"), 5)
        else:
            held = await self.storage.log.read("s", after=await self.archived(), limit=1)
            moved = await archive(self.storage)
            assert (moved is not None) == bool(held)

    async def archived(self) -> int:
        rows = await self.storage.archives.list("s")
        return rows[-1].to_seq if rows else 0

    async def check(self, after: int, limit: int, types: Sequence[str]) -> None:
        """Pages from a cursor to the end, and messages from a position, are what they always were."""
        until = len(self.events) - after // 2
        wanted = [each for each in self.events if after < each.seq <= until]
        wanted = [each for each in wanted if not types or each.type in types]
        found: list[StoredEvent] = []
        cursor = after
        while page := await self.storage.log.read("s", after=cursor, limit=limit, until=until, types=types):
            assert len(page) <= limit
            found += page
            cursor = page[-1].seq
        assert found == wanted
        assert list(await self.storage.sessions.messages("s", after=after, until=until)) == [
            each for each in self.messages if after < each.position <= until
        ]


@settings(max_examples=10)
@given(steps=st.lists(step, min_size=2, max_size=9))
async def test_every_page_is_what_it_was_however_often_the_session_is_archived(
    steps: list[tuple[str, list[str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every cursor, with every limit and choice of types, and for messages at every position; a turn goes
    on behind what was archived, and a second process finds the same."""
    monkeypatch.setattr(archiving, "Packer", functools.partial(Packer, 400))
    with tempfile.TemporaryDirectory() as folder:
        async with sqlite_storage(Path(folder)) as storage:
            story = Story(storage)
            await story.take("turn", ["first"])
            for kind, pieces in steps:
                await story.take(kind, pieces)
            assert [each.seq for each in story.events] == list(range(1, len(story.events) + 1))
            for after in range(len(story.events) + 1):
                await story.check(after, 1 + after % 5, [(), ("done",), ("text", "compression")][after % 3])
        async with sqlite_storage(Path(folder)) as again:
            assert await everything(again) == (story.events, story.messages)


async def test_archived_rows_are_free_and_the_files_are_whole(storage: Storage, tmp_path: Path) -> None:
    """The tables hold nothing of it; zcat gives every event and message, and the digests are theirs."""
    await converse(storage, "t1", ["好", "的"])
    happened, spoken = await everything(storage)
    row = await archive(storage)

    assert row is not None
    assert (row.number, row.from_seq, row.to_seq, row.from_position, row.to_position) == (1, 1, 4, 1, 2)
    paths = (row.events_path, row.messages_path)
    assert all(place in path for place, path in zip(PLACES, paths, strict=True))
    files = [gzip.decompress((tmp_path / "blobs" / path).read_bytes()) for path in paths]
    assert files[0] == b"".join(each.body + b"\n" for each in happened)
    lines = [orjson.loads(line) for line in files[1].splitlines()]
    assert [(line["position"], line["turn_id"], line["role"], line["content"]) for line in lines] == [
        (each.position, each.turn_id, each.message.role, each.message.content) for each in spoken
    ]
    assert [line["usage"] and line["usage"]["output_tokens"] for line in lines] == [None, 2]
    digests = [hashlib.sha256(file).hexdigest() for file in files]
    assert digests == [row.events_sha256, row.messages_sha256]


async def test_the_rows_are_gone_from_the_tables(tmp_path: Path) -> None:
    """Of the session that was archived, and of no other."""
    async with await SqliteDatabase.open(tmp_path / "gateway.db") as database:
        storage = storage_on(database)
        await converse(storage, "t1")
        await converse(storage, "t2", session_id="other")
        await archive(storage)

        def held(connection: Connection) -> list[tuple[str, int]]:
            rows = [*connection.execute(select(loose_events.c.session_id))]
            rows += [*connection.execute(select(messages.c.session_id))]
            return sorted(Counter(name for (name,) in rows).items())

        assert await database.read(held) == [("other", 5)]


async def test_there_is_nothing_to_move_twice(storage: Storage) -> None:
    """Nor in a session that never held anything, or is none."""
    await storage.sessions.create("empty", OWNER, None, 1)
    await converse(storage, "t1")
    assert await archive(storage) is not None

    assert await archive(storage) is None
    assert await archive(storage, "empty") is None
    assert await archive(storage, "nowhere") is None


# What comes between


class Interfering(FolderBlobs):
    """A store in which something happens when a blob was put."""

    def __init__(self, root: Path, then: Callable[[str], Awaitable[None]]) -> None:
        super().__init__(root)
        self._then = then

    async def put(self, path: str, chunks: Iterable[bytes], *, bulk: bool = False) -> int:
        size = await super().put(path, chunks, bulk=bulk)
        await self._then(path)
        return size


async def refused(
    storage: Storage, root: Path, then: Callable[[str], Awaitable[None]], error: type[Exception]
) -> None:
    """Archives with `then` in between; it is refused, and neither blobs nor an archive are left."""
    blobs = Interfering(root / "blobs", then)
    with pytest.raises(error):
        await archive(replace(storage, blobs=blobs))
    assert await storage.archives.list("s") == []
    assert files_in(root / "blobs") == []


@pytest.mark.parametrize("moment", PLACES)
async def test_a_turn_that_begins_meanwhile_keeps_its_session(
    storage: Storage, tmp_path: Path, moment: str
) -> None:
    """Whichever blob is written by then: nothing is freed, and the turn goes on."""
    await converse(storage, "t1")
    before = await everything(storage)

    async def begin(path: str) -> None:
        if moment in path:
            await accepted(storage, turn_id="t2")

    await refused(storage, tmp_path, begin, TurnInProgress)
    assert await everything(storage) == before
    await append(storage, "t2", [event("s", "t2", 4, "turn_start")], Message("user", [text_block("and?")]))
    assert len(await storage.sessions.messages("s")) == 3


@pytest.mark.parametrize("moment", PLACES)
async def test_what_is_added_meanwhile_is_not_lost(storage: Storage, tmp_path: Path, moment: str) -> None:
    """A whole turn between reading and freeing: the archiving is refused, all of it stays."""
    await converse(storage, "t1")

    async def add(path: str) -> None:
        if moment in path:
            await converse(storage, "t2")

    await refused(storage, tmp_path, add, Conflict)
    assert [each.seq for each in await all_events(storage)] == [1, 2, 3, 4, 5, 6]
    assert await archive(storage) is not None
    assert [each.seq for each in await all_events(storage)] == [1, 2, 3, 4, 5, 6]


async def test_a_session_that_is_deleted_meanwhile_leaves_no_blobs(storage: Storage, tmp_path: Path) -> None:
    """Its name may belong to somebody else by then, who gets nothing of it."""
    await converse(storage, "t1")

    async def delete(path: str) -> None:
        if PLACES[1] in path:
            await storage.sessions.delete("s", OWNER)
            await storage.sessions.create("s", "bob", None, 1)

    await refused(storage, tmp_path, delete, Conflict)
    assert await everything(storage) == ([], [])


async def test_two_at_once_move_it_once(storage: Storage) -> None:
    """The second is told so, and its cleaning up takes nothing from the first."""
    await converse(storage, "t1", ["piece"] * 100)
    before = await everything(storage)

    answers = await asyncio.gather(archive(storage), archive(storage), return_exceptions=True)

    assert sorted(type(answer).__name__ for answer in answers) == ["ArchiveRow", "Conflict"]
    assert await everything(storage) == before


# What fails


@pytest.mark.parametrize("moment", PLACES)
async def test_a_store_that_keeps_something_else_is_found_out(
    storage: Storage, tmp_path: Path, moment: str
) -> None:
    """What was written is read back before anything is freed."""
    await converse(storage, "t1")
    before = await everything(storage)

    async def spoil(path: str) -> None:
        if moment in path:
            file = tmp_path / "blobs" / path
            file.write_bytes(gzip.compress(gzip.decompress(file.read_bytes()).replace(b"t1", b"t7")))

    await refused(storage, tmp_path, spoil, ArchiveDamaged)
    assert await everything(storage) == before


@pytest.mark.parametrize("moment", PLACES)
async def test_a_store_that_fails_leaves_everything_in_place(
    storage: Storage, tmp_path: Path, moment: str
) -> None:
    """Nothing is freed, and the next attempt succeeds."""
    await converse(storage, "t1")
    before = await everything(storage)

    async def fail(path: str) -> None:
        if moment in path:
            raise StorageError("no space")

    await refused(storage, tmp_path, fail, StorageError)
    assert await everything(storage) == before
    assert await archive(storage) is not None
    assert await everything(storage) == before


@pytest.mark.parametrize(
    "gone", ["DELETE FROM loose_events WHERE seq = 2", "DELETE FROM messages WHERE position = 1"]
)
async def test_a_session_with_a_gap_is_not_archived(tmp_path: Path, gone: str) -> None:
    """Its archive could not be read by place: the rows stay as they are."""
    async with await SqliteDatabase.open(tmp_path / "gateway.db") as database:
        storage = storage_on(database)
        await converse(storage, "t1")
        await database.write(lambda connection: connection.execute(text(gone)))
        before = await everything(storage)

        await refused(storage, tmp_path, nothing, StorageError)
        assert await everything(storage) == before


async def nothing(_: str) -> None:
    """Nobody interferes."""


class Cancelling(Archives):
    """Archives whose caller is cancelled in the very moment in which the rows are freed."""

    caller: asyncio.Task[ArchiveRow | None]

    async def add(self, row: ArchiveRow) -> None:
        adding = asyncio.ensure_future(super().add(row))
        await asyncio.sleep(0)
        self.caller.cancel()
        await adding


async def test_who_is_cancelled_while_rows_are_freed_keeps_what_holds_them(tmp_path: Path) -> None:
    """The blobs stay when the commit was made, whatever the caller was told."""
    async with await SqliteDatabase.open(tmp_path / "gateway.db") as database:
        storage = storage_on(database)
        await converse(storage, "t1")
        before = await everything(storage)
        archives = Cancelling(database, Purges(database, Fts5TurnWords()))
        archives.caller = asyncio.ensure_future(archive(replace(storage, archives=archives)))
        with pytest.raises(asyncio.CancelledError):
            await archives.caller

        assert len(await storage.archives.list("s")) == 1
        assert await everything(storage) == before


async def test_who_is_cancelled_while_blobs_are_written_leaves_none(storage: Storage, tmp_path: Path) -> None:
    """And the session as it was, ready for the next."""
    await converse(storage, "t1")
    before = await everything(storage)
    caller: list[asyncio.Task[ArchiveRow | None]] = []

    async def cancel(path: str) -> None:
        caller[0].cancel()
        await asyncio.sleep(0)

    blobs = Interfering(tmp_path / "blobs", cancel)
    caller.append(asyncio.ensure_future(archive(replace(storage, blobs=blobs))))
    with pytest.raises(asyncio.CancelledError):
        await caller[0]

    assert files_in(tmp_path / "blobs") == []
    assert await everything(storage) == before
    assert await archive(storage) is not None
