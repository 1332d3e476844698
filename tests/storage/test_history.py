"""Histories under faults: statements that fail, and sessions that move or vanish while they are read."""

import asyncio
from collections.abc import Sequence

import pytest

from gateway.storage.archives import ArchiveRow
from gateway.storage.archives.reader import ArchiveReader
from gateway.storage.messages import History, StoredMessage
from gateway.storage.sessions.purges import Purges
from gateway.storage.sessions.search import Search
from gateway.storage.sessions.store import Sessions
from gateway.storage.sqlite import SqliteDatabase
from gateway.storage.sqlite.session_search import Fts5TurnWords
from tests.product import NotFound, Storage
from tests.storage.saying import add_version, archive, snapshot, talk, version
from tests.storage.writing import OWNER

pytestmark = pytest.mark.anyio


async def run(database: SqliteDatabase, statement: str) -> None:
    await database.write(lambda connection: connection.exec_driver_sql(statement) and None)


@pytest.mark.parametrize("column", ["compression", "failed_compressions"])
async def test_a_version_that_cannot_be_added_whole_is_not_added(
    database: SqliteDatabase, storage: Storage, column: str
) -> None:
    """Whichever statement fails after the row was there: no row, the old pointer, the old generation."""
    await talk(storage, 2)
    await add_version(storage, version(1, 1, 2))
    await storage.compressions.failed("s")
    before = await storage.sessions.history("s")
    await run(
        database,
        f"CREATE TRIGGER fault BEFORE UPDATE OF {column} ON sessions BEGIN SELECT RAISE(ABORT, 'fault'); END",
    )

    with pytest.raises(Exception, match="fault"):
        await add_version(storage, version(2, 3, 4, parent=1))

    assert await storage.sessions.history("s") == before
    assert await storage.compressions.list("s") == [version(1, 1, 2)]
    await run(database, "DROP TRIGGER fault")
    await add_version(storage, version(2, 3, 4, parent=1))


async def test_nothing_is_lost_to_a_reader_while_a_session_is_archived(storage: Storage) -> None:
    """However reads and the move of the rows interleave, each read gives every message once."""
    await talk(storage, 4)
    everything = await storage.sessions.messages("s")
    moving = asyncio.create_task(archive(storage, "s"))
    reads = 0
    while not moving.done():
        assert await storage.sessions.messages("s") == everything
        assert (await storage.sessions.history("s")).messages == everything
        _, history = await snapshot(storage)
        assert history.messages == everything
        reads += 1
    await moving

    assert reads > 0
    assert await storage.sessions.messages("s") == everything


async def test_a_session_deleted_while_its_archive_is_read_is_gone(
    database: SqliteDatabase, storage: Storage
) -> None:
    """Its archive goes with it: that is no damage, but a session that is not there."""
    reader = ArchiveReader(storage.blobs)

    async def too_late(row: ArchiveRow, *, after: int, until: int) -> Sequence[StoredMessage]:
        await storage.sessions.delete("s", OWNER)
        await storage.blobs.delete(row.messages_path)
        return await reader.messages(row, after=after, until=until)

    index = Fts5TurnWords()
    search = Search(database, too_late, index)
    sessions = Sessions(database, too_late, search, Purges(database, index))

    async def again() -> None:
        await talk(storage, 1)
        await archive(storage, "s")

    await again()
    assert await sessions.messages("s") == []
    await again()
    assert await sessions.history("s") == History([])
    await again()
    outline = await sessions.outline("s", OWNER)
    with pytest.raises(NotFound):
        await anext(sessions.pages(outline))
