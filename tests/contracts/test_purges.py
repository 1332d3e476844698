"""What every storage engine owes about rows that are removed in slices: nobody sees them, nobody waits for
them, and none is left."""

import asyncio
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from sqlalchemy import Connection, Table, func, select

from gateway.storage.artifacts import SpaceUsed
from gateway.storage.schema import metadata
from gateway.storage.sessions import purges
from gateway.storage.sqlite import SqliteDatabase
from tests.product import Conflict, Message, NotFound, Storage, storage_on, text_block
from tests.storage.archiving import archive, converse, everything
from tests.storage.artifact_rows import add, artifact, begin
from tests.storage.saying import add_turn, snapshot, summary
from tests.storage.writing import OWNER, Factory, accepted, running

pytestmark = pytest.mark.anyio

PIECES = 3 * purges.BATCH
FILES = 2 * purges.ARTIFACTS_BATCH + 3


@pytest.fixture(autouse=True)
def slices_of_one_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each slice ends after its first full batch."""
    monkeypatch.setattr(purges, "SLICE_TIME", 0.0)
    monkeypatch.setattr(purges, "MIN_FIRST", 1)


async def fill(storage: Storage) -> None:
    """The session s with something in every table, much of it in some, and one beside it."""
    await begin(storage, "other")
    await converse(storage, "t1", ["piece"] * PIECES)
    for number in range(4):
        await add_turn(storage, "s", f"more{number}", "where is the lighthouse?", "by the sea")
    await storage.search.index("s")
    await storage.summaries.save(summary("s", 5))
    rows = [artifact(number, str(number), session_id="s") for number in range(FILES)]
    await add(storage, *rows, artifact(FILES, "kept", session_id="other"), quota=2**40)
    await storage.artifacts.use(OWNER, "other", [rows[0].ref])
    await add_turn(storage, "other", "theirs", "hello", "hello")


async def finish(storage: Storage) -> int:
    """All slices that are left; how many these were."""
    count = 0
    while await storage.purges.next_slice() is not None:
        count += 1
    return count


def rows_of(connection: Connection, session_id: str) -> dict[str, int]:
    """How many rows each table still has of a session."""

    def count(table: Table) -> int:
        found = select(func.count()).where(table.c.session_id == session_id)
        return connection.execute(found).scalar_one()

    tables = [table for table in metadata.sorted_tables if "session_id" in table.c]
    return {table.name: number for table in tables if (number := count(table))}


async def test_a_long_session_that_is_deleted_is_gone_at_once(storage: Storage) -> None:
    """For every reader and every list, while most of its rows are still there."""
    await fill(storage)
    await storage.sessions.delete("s", OWNER)

    for attempt in (
        storage.sessions.get("s", OWNER),
        storage.sessions.outline("s", OWNER),
        storage.sessions.delete("s", OWNER),
        storage.turns.get("s", "t1", OWNER),
        storage.summaries.get("s", OWNER),
        storage.copies.moment("s", OWNER),
        storage.artifacts.get(OWNER, artifact(1).ref),
        accepted(storage, "s", "t9", create=False),
    ):
        with pytest.raises(NotFound):
            await attempt
    assert [row.id for row in await storage.sessions.list(OWNER, limit=9)] == ["other"]
    assert await storage.sessions.list(OWNER, limit=9, query="lighthouse") == []
    assert await everything(storage) == ([], [])
    assert (await storage.sessions.history("s")).messages == []
    assert await storage.summaries.list(OWNER, limit=9) == []
    kept = [artifact(FILES).ref, artifact(0).ref]
    assert [row.ref for row in await storage.artifacts.find(OWNER, limit=99)] == kept
    assert await storage.search.due(limit=9) == ["other"]
    assert await finish(storage) > 0


async def test_the_id_is_refused_by_name_until_the_last_row_is_gone(storage: Storage) -> None:
    """To whoever asks, and by every way to make a session; then it is free, and empty."""
    await fill(storage)
    await storage.sessions.delete("s", OWNER)

    for attempt in (
        storage.sessions.create("s", "bob", None, 1),
        accepted(storage, "s", "t9", create=True),
    ):
        with pytest.raises(Conflict) as refused:
            await attempt
        assert (refused.value.code, refused.value.retryable) == ("session_being_removed", True)
    await finish(storage)

    await storage.sessions.create("s", "bob", None, 1)
    assert await everything(storage) == ([], [])
    assert (await accepted(storage, "s", "t1", owner="bob")).head == 0


async def test_a_short_session_is_removed_whole_at_once(
    storage: Storage, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However slow the machine is: its id is free when the deletion returns."""
    monkeypatch.undo()
    monkeypatch.setattr(purges, "SLICE_TIME", 0.0)
    await converse(storage, "t1", ["piece"] * PIECES)
    await storage.sessions.delete("s", OWNER)

    assert await finish(storage) == 0
    await storage.sessions.create("s", OWNER, None, 1)


async def test_a_slice_is_small_and_others_commit_between_two(tmp_path: Path) -> None:
    """No transaction removes more than a batch or so, and what somebody else wants to write comes between."""
    async with await SqliteDatabase.open(tmp_path / "gateway.db") as database:
        storage = storage_on(database)
        await fill(storage)
        counts = [sum((await database.read(lambda found: rows_of(found, "s"))).values())]
        await storage.sessions.delete("s", OWNER)
        more = True
        while more:
            counts.append(sum((await database.read(lambda found: rows_of(found, "s"))).values()))
            await storage.sessions.change("other", OWNER, 1, title=f"after {len(counts)}")
            done = await storage.purges.next_slice()
            more = done is not None

        removed = [before - after for before, after in pairwise(counts)]
        assert max(removed) < 2 * purges.BATCH
        assert len(counts) > PIECES / purges.BATCH
        assert (await storage.sessions.get("other", OWNER)).title == f"after {len(counts)}"


async def test_what_a_process_that_was_killed_left_is_removed_by_the_next(tmp_path: Path) -> None:
    """Between any two slices; in the end no table has a row of the session, and the others have theirs."""
    async with await SqliteDatabase.open(tmp_path / "gateway.db") as database:
        await fill(storage_on(database))
        others = await database.read(lambda found: rows_of(found, "other"))
        await storage_on(database).sessions.delete("s", OWNER)
    more = True
    while more:
        async with await SqliteDatabase.open(tmp_path / "gateway.db") as database:
            storage = storage_on(database)
            for _ in range(3):
                more = await storage.purges.next_slice() is not None
    async with await SqliteDatabase.open(tmp_path / "gateway.db") as database:
        storage = storage_on(database)
        assert await database.read(lambda found: rows_of(found, "s")) == {}
        assert await database.read(lambda found: rows_of(found, "other")) == others
        assert await storage.artifacts.get(OWNER, artifact(0).ref) == replace(
            artifact(0, "0", session_id="s"), session_id=None
        )
        assert (await storage.artifacts.space_used(OWNER)) == SpaceUsed(2 * 4096, 2)


async def test_what_is_archived_is_read_once_while_its_rows_are_removed(storage: Storage) -> None:
    """After every slice each event and each message is there once, in order; a turn goes on behind them."""
    await converse(storage, "t1", ["piece"] * PIECES)
    for number in range(purges.BATCH):
        await add_turn(storage, "s", f"more{number}", "question", "answer")
    before = await everything(storage)
    assert await archive(storage) is not None

    slices = 0
    while await storage.purges.next_slice() is not None:
        slices += 1
        assert await everything(storage) == before
        assert (await snapshot(storage))[1] == await storage.sessions.history("s")
        assert list((await storage.sessions.history("s")).messages) == list(before[1])
        if slices == 1:
            assert await archive(storage) is None
            writer = await running(storage, "s", "late")
            await writer.append("turn_start", message=Message("user", [text_block("and?")]))
            await writer.close()
            before = await everything(storage)
            assert [each.seq for each in before[0]] == list(range(1, len(before[0]) + 1))
            assert [each.position for each in before[1]] == list(range(1, len(before[1]) + 1))
    assert slices > 3


async def test_an_archived_session_can_be_deleted_while_its_rows_are_removed(tmp_path: Path) -> None:
    """All of it goes then."""
    async with await SqliteDatabase.open(tmp_path / "gateway.db") as database:
        storage = storage_on(database)
        await converse(storage, "t1", ["piece"] * PIECES)
        await archive(storage)
        await storage.sessions.delete("s", OWNER)
        await finish(storage)

        assert await database.read(lambda found: rows_of(found, "s")) == {}


async def test_whoever_waits_hears_of_a_purge_that_begins(storage: Storage) -> None:
    """Once for those that began since the last time."""
    await converse(storage, "t1", ["piece"] * PIECES)
    waiting = asyncio.ensure_future(storage.purges.awaited())
    await asyncio.sleep(0)
    assert not waiting.done()
    await storage.sessions.delete("s", OWNER)
    await waiting

    again = asyncio.ensure_future(storage.purges.awaited())
    await asyncio.sleep(0)
    assert not again.done()
    again.cancel()


async def test_a_folder_that_is_opened_again_knows_of_its_purges(factory: Factory, tmp_path: Path) -> None:
    """Also that the id is not free yet."""
    async with factory(tmp_path) as first:
        await converse(first, "t1", ["piece"] * PIECES)
        await first.sessions.delete("s", OWNER)
    async with factory(tmp_path) as second:
        with pytest.raises(Conflict, match="still being removed"):
            await second.sessions.create("s", OWNER, None, 1)
        await finish(second)
        await second.sessions.create("s", OWNER, None, 1)
