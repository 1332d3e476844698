"""Whoever opens the database hears of each of its transactions."""

from pathlib import Path

import pytest
from sqlalchemy import Connection

from gateway.storage.sqlite import SqliteDatabase
from gateway.storage.sqlite.sqlite_file import raw_of
from tests.product import StorageError, storage_on
from tests.storage.writing import running

pytestmark = pytest.mark.anyio


async def test_every_transaction_is_told_with_its_events_and_its_time(tmp_path: Path) -> None:
    """Appends that shared one are told together, and writes without events count as well."""
    flushes: list[tuple[int, float, bool]] = []

    def flushed(events: int, seconds: float, failed: bool) -> None:
        flushes.append((events, seconds, failed))

    async with await SqliteDatabase.open(tmp_path / "gateway.db", flushed=flushed) as database:
        storage = storage_on(database)
        writer = await running(storage)
        before = len(flushes)
        both = writer.append("turn_start", "text", sync=True), writer.append("text")
        assert [await fate for fate in both] == [None, None]

    assert before == 1
    assert [events for events, _, _ in flushes] == [0, 3]
    assert all(seconds > 0 for _, seconds, _ in flushes)
    assert not any(failed for _, _, failed in flushes)


async def test_a_transaction_that_fails_as_a_whole_is_told_so(tmp_path: Path) -> None:
    """The disk is full, or the file gone: those who wait get the error, and the failure is counted."""
    outcomes: list[bool] = []

    def flushed(events: int, seconds: float, failed: bool) -> None:
        outcomes.append(failed)

    async with await SqliteDatabase.open(tmp_path / "gateway.db", flushed=flushed) as database:
        with pytest.raises(StorageError):
            await database.write(_fill)
        assert outcomes == [True]


def _fill(connection: Connection) -> None:
    """More than the file may hold."""
    raw = raw_of(connection)
    raw.execute("PRAGMA max_page_count = 1")
    raw.execute("CREATE TABLE large AS SELECT zeroblob(10000000) AS bytes")
