"""What the writer, or a round each half minute, asks about artifacts is answered by an index, however many
there are."""

from typing import Any

import pytest
from sqlalchemy import Connection

from gateway.storage import orphans
from gateway.storage.artifacts import removal, totals
from gateway.storage.database import Prepared
from gateway.storage.sqlite import SqliteDatabase

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("statement", "given", "index"),
    [
        (orphans.NAMED, {"path": "x"}, "SEARCH artifacts USING COVERING INDEX artifacts_by_blob (path=?)"),
        (totals.SAME, {"owner": "o", "path": "x"}, "artifacts_by_path (owner=? AND path=?)"),
        (totals.USED, {"of": "o"}, "SEARCH artifact_totals USING INDEX"),
        (totals.STOCK, {}, "SCAN artifact_totals"),
        (removal.DUE, {"now": 1, "limit": 1}, "artifacts_by_expiry (expires_at<?)"),
    ],
)
async def test_a_question_is_answered_by_an_index(
    database: SqliteDatabase, statement: Prepared, given: dict[str, Any], index: str
) -> None:
    def plan(connection: Connection) -> str:
        sql: list[str] = []
        raw: Any = connection.connection.dbapi_connection
        raw.set_trace_callback(sql.append)
        statement.run(connection, **given).fetchall()
        raw.set_trace_callback(None)
        rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {sql[-1]}").all()
        return "; ".join(row[3] for row in rows)

    plan_rows = await database.read(plan)
    assert index in plan_rows
    assert "USE TEMP B-TREE" not in plan_rows
