"""A PostgreSQL end of a move."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg import conninfo, sql
from sqlalchemy import Connection, NullPool, Table, create_engine, text
from sqlalchemy.exc import DBAPIError

from gateway.errors import StorageError
from gateway.storage.memories.memory_database import Words
from gateway.storage.migrations import MOVING, SESSIONS
from gateway.storage.moving import Values, not_own
from gateway.storage.postgres.connections import AS_LONG_AS_IT_TAKES, NAME, Raw, ServerAddress, raw_of
from gateway.storage.postgres.failures import storage_error
from gateway.storage.postgres.migrating import check_revisions, lock, migrate, schema_of

OPTIONS = f"-c lock_timeout=10s {AS_LONG_AS_IT_TAKES}"
"""A slice, and reading a table, may take as long as they take."""

OTHERS = text("""
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name = :name
""").bindparams(name=NAME)
# What would change the source meanwhile is refused, or waits.
KEEP_OUT = text("LOCK TABLE heads, memories IN SHARE MODE")

MOVER = f"{NAME}-move"
"""The application_name of a move's own connections: the server lists one a moment longer than it is open."""
_IDENTITIES = """
    SELECT table_name, column_name FROM information_schema.columns
    WHERE table_schema = current_schema() AND is_identity = 'YES'
"""
_COPY = sql.SQL("COPY {} ({}) FROM STDIN (FORMAT BINARY)")
_TYPES = sql.SQL("SELECT {} FROM {} LIMIT 0")
_NUMBERED = sql.SQL("SELECT setval(pg_get_serial_sequence({}, {}), max({})) FROM {} HAVING count(*) > 0")


class PostgresMoving:
    """The `MovingDatabase` protocol."""

    version_table = SESSIONS.table

    def __init__(self, url: str, connection: Connection, words: Words) -> None:
        given = conninfo.conninfo_to_dict(url)
        host, port, name = (str(given.get(part) or "") for part in ("host", "port", "dbname"))
        self.name = f"postgresql://{host}:{port}/{name}"
        self.connection, self.words = connection, words

    def has(self, table: str) -> bool:
        """Whether the table exists in the search path."""
        known = self.connection.execute(text("SELECT to_regclass(:name)"), {"name": table})
        return known.scalar_one() is not None

    def add(self, table: Table, rows: Sequence[Values]) -> None:
        """Adds rows by a binary COPY. Bodies take half the bytes in the binary form."""
        name, columns = sql.Identifier(table.name), sql.SQL(", ").join(map(sql.Identifier, table.c.keys()))
        with raw_of(self.connection).cursor() as cursor:
            types = cursor.execute(_TYPES.format(columns, name)).description or ()
            with cursor.copy(_COPY.format(name, columns)) as copy:
                copy.set_types([column.type_code for column in types])
                for row in rows:
                    copy.write_row(row)

    def settle(self) -> None:
        """Sets each identity column's sequence behind its largest number."""
        raw = raw_of(self.connection)
        for table, column in raw.execute(_IDENTITIES).fetchall():
            raw.execute(_NUMBERED.format(table, column, sql.Identifier(column), sql.Identifier(table)))

    def vacuum(self) -> None:
        """Vacuums and analyses: an index alone answers only for pages that are known to be visible to
        all. What fails, or is locked, is left to the server's own time: the move is over."""
        raw = raw_of(self.connection)
        with suppress(psycopg.Error):
            raw.autocommit = True
            raw.execute("VACUUM (ANALYZE, SKIP_LOCKED)")


@contextmanager
def open_source(url: str, words: Words) -> Generator[PostgresMoving]:
    """A database that no other process changes meanwhile.

    Raises:
        StorageError: it cannot be reached, is of another version, or is in use.
    """
    _check_is_own(url)
    with _connected(url, isolation_level="REPEATABLE READ") as connection, connection.begin():
        database = PostgresMoving(url, connection, words)
        connection.execute(KEEP_OUT)
        _check_unused(database)
        yield database


@contextmanager
def open_target(url: str, words: Words) -> Generator[PostgresMoving]:
    """A database with its tables, which are made if they are missing. Raises as `open_source`."""
    address = ServerAddress(url, name=MOVER)
    with address.connect() as raw:
        revision = schema_of(raw, SESSIONS).revision
    if revision != MOVING:
        migrate(address)
        _check_is_own(url)
    with _connected(url) as connection:
        database = PostgresMoving(url, connection, words)
        lock(connection)
        with connection.begin():
            _check_unused(database)
        yield database


def _check_is_own(url: str) -> None:
    """A move carries the columns that this version knows."""
    if newer := check_revisions(ServerAddress(url, name=MOVER)):
        raise not_own("The database", ", ".join(newer.values()))


def _check_unused(database: PostgresMoving) -> None:
    if others := database.connection.execute(OTHERS).scalar_one():
        raise StorageError(
            f"Gateways use {database.name} ({others} connections): stop them.",
            code="data_locked",
            retryable=False,
        )


@contextmanager
def _connected(url: str, **options: Any) -> Generator[Connection]:
    def connect() -> Raw:
        return ServerAddress(url, name=MOVER).connect(OPTIONS, autocommit=False)

    engine = create_engine(
        "postgresql+psycopg://", creator=connect, poolclass=NullPool, hide_parameters=True, **options
    )
    try:
        with engine.connect() as connection:
            yield connection
    except (psycopg.Error, DBAPIError) as error:
        raise storage_error(error) from error
    finally:
        engine.dispose()
