"""What an owner's artifacts take is known without a look at them."""

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection

import gateway.storage.migrations
from gateway.storage.sqlite import SqliteDatabase
from tests.product import storage_on
from tests.storage.artifact_rows import add, artifact, begin

pytestmark = pytest.mark.anyio


async def test_a_migration_counts_what_is_there(tmp_path: Path) -> None:
    """As it would have been counted one by one: shared contents, small and large ones, of several owners."""
    file = Path(gateway.storage.migrations.__file__).parent / "versions" / "0007_purges_totals.py"
    spec = importlib.util.spec_from_file_location("step", file)
    assert spec is not None
    assert spec.loader is not None
    step = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(step)

    def totals(connection: Connection) -> list[Any]:
        return [*connection.exec_driver_sql("SELECT * FROM artifact_totals ORDER BY owner")]

    async with await SqliteDatabase.open(tmp_path / "gateway.db") as database:
        storage = storage_on(database)
        await begin(storage, "s")
        rows = [artifact(number, str(number % 3), size=3000 * (number % 3)) for number in range(8)]
        await add(storage, *rows, artifact(9, "theirs", owner="bob", size=9000), quota=2**40)
        kept = await database.read(totals)
        await database.write(lambda found: found.exec_driver_sql("DELETE FROM artifact_totals") and None)
        await database.write(lambda found: found.exec_driver_sql(step.FILL_TOTALS) and None)

        assert await database.read(totals) == kept
        assert [(row.owner, row.artifacts, row.size) for row in kept] == [("ann", 8, 9000), ("bob", 1, 9000)]
        for row in rows:
            await storage.artifacts.delete(row.owner, row.ref, 1)
        assert (await database.read(totals))[0][1:] == (0, 0, 0)


@pytest.mark.parametrize(
    ("asked", "index"),
    [
        ({"turn_id": "t"}, "artifacts_by_turn (owner=? AND turn_id=?)"),
        ({}, "artifacts_by_time (owner=?)"),
    ],
)
async def test_a_list_is_read_in_its_order_from_an_index(
    tmp_path: Path, asked: dict[str, Any], index: str
) -> None:
    """However many artifacts the owner has beside those that are asked for."""
    async with await SqliteDatabase.open(tmp_path / "gateway.db", readers=1) as database:
        storage, sql = storage_on(database), list[str]()

        def trace(connection: Connection) -> None:
            raw: Any = connection.connection.dbapi_connection
            raw.set_trace_callback(sql.append)

        await database.read(trace)
        await storage.artifacts.find("ann", limit=9, **asked)
        asked_for = sql[-1]
        plan = await database.read(
            lambda found: [row[3] for row in found.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked_for}")]
        )

    assert index in plan[0]
    assert not any("TEMP B-TREE" in line for line in plan)
