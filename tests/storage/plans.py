"""How an engine reads what a statement asks for."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from sqlalchemy import Connection

from gateway.storage.database import Prepared

if TYPE_CHECKING:
    from sqlalchemy.sql.compiler import SQLCompiler


def plan_of(connection: Connection, statement: Prepared, values: Mapping[str, object]) -> str:
    """Its plan in words, with these values of its parameters; there may be more than it has."""
    explain = "EXPLAIN" if connection.dialect.name == "postgresql" else "EXPLAIN QUERY PLAN"
    compiled = cast("SQLCompiler", statement.statement.compile(dialect=connection.dialect))
    given = {**compiled.params, **values}
    cursor = connection.connection.cursor()
    cursor.execute(f"{explain} {compiled}", [given[name] for name in compiled.positiontup or ()])
    return "\n".join(str(row[-1]) for row in cursor.fetchall())
