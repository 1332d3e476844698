"""The schema of a PostgreSQL database: the tables it begins with, then the revisions of all engines."""

import logging
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import psycopg
from psycopg import sql
from psycopg.errors import DeadlockDetected, LockNotAvailable
from sqlalchemy import Connection, NullPool, create_engine
from sqlalchemy.exc import DBAPIError

import gateway.storage.migrations
from gateway.errors import StorageError
from gateway.storage.migrations import MEMORIES, SESSIONS, Chain, Schema
from gateway.storage.postgres.advisory_locks import LockClass
from gateway.storage.postgres.connections import AS_LONG_AS_IT_TAKES, Raw, ServerAddress, raw_of
from gateway.storage.postgres.failures import storage_error

BASELINE = Path(gateway.storage.migrations.__file__).parent / "baseline"

OPTIONS = f"-c lock_timeout=60s {AS_LONG_AS_IT_TAKES}"
MIGRATION_WAIT = 60
"""Seconds for which another process may change the tables before this one gives up."""
MIGRATION_PAUSE = 0.05
"""Seconds between two attempts."""
LOCK_WAIT = 2
"""Seconds that a revision waits for a table. Transactions that want it after that one wait too, also to read:
if a long transaction such as a backup has the table, the revision steps aside and tries again."""
ATTEMPTS = 30
PAUSE = 1.0
"""Seconds between two of them."""

# As JSON, so that its type stays the same to connections that know it from before it had more columns.
_OF_CHAIN = sql.SQL("SELECT to_jsonb(version) FROM {} AS version")
_BEGIN_CHAIN = sql.SQL("CREATE TABLE {} (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
_TRY_LOCK = f"SELECT pg_try_advisory_lock(hashtextextended('gateway migrate', {LockClass.MIGRATION:d}))"
_SET_CHAIN = sql.SQL("INSERT INTO {} VALUES (%s)")

log = logging.getLogger(__name__)


class Migrated(NamedTuple):
    """A chain with the revision it had (None: it was new), and the one that it has."""

    chain: Chain
    before: str | None
    after: str


def migrate(server: ServerAddress) -> Sequence[Migrated]:
    """Brings the database to the newest revisions, one process at a time. The connection must be no pooler's.

    Raises:
        StorageError: it cannot be reached or changed, or it was written by a newer version (code
            database_too_new).
    """
    engine = create_engine(
        "postgresql+psycopg://",
        creator=lambda: server.connect(OPTIONS, autocommit=False),
        poolclass=NullPool,
    )
    try:
        with engine.connect() as connection:
            lock(connection)
            connection.exec_driver_sql(f"SET lock_timeout = '{LOCK_WAIT * 1000:.0f}ms'")
            connection.commit()
            return [_brought(connection, chain) for chain in (SESSIONS, MEMORIES)]
    except (psycopg.Error, DBAPIError) as error:
        raise storage_error(error) from error
    finally:
        engine.dispose()


def check_revisions(server: ServerAddress) -> Mapping[str, str]:
    """What is newer than in this version, which may work on it all the same: its revision, by what it holds.

    Raises:
        StorageError: the server cannot be reached, the schema is older than this version (code
            database_outdated), or so new that this version may not use it (database_too_new).
    """
    try:
        with server.connect() as raw:
            return newer_schemas(raw)
    except psycopg.Error as error:
        raise storage_error(error) from error


def newer_schemas(raw: Raw) -> Mapping[str, str]:
    """The same on a connection."""
    found = {chain: schema_of(raw, chain) for chain in (SESSIONS, MEMORIES)}
    return {
        chain.holds: schema.revision
        for chain, schema in found.items()
        if _is_newer(schema, chain, raw.info.dbname) and schema.revision
    }


def schema_of(raw: Raw, chain: Chain) -> Schema:
    """What the database has of a chain."""
    known = raw.execute("SELECT to_regclass(%s)", (chain.table,)).fetchone()
    if known is None or known[0] is None:
        return Schema(None)
    row = raw.execute(_OF_CHAIN.format(sql.Identifier(chain.table))).fetchone()
    return Schema.of(row[0]) if row else Schema(None)


def _is_newer(found: Schema, chain: Chain, name: str) -> bool:
    if found.revision is None or found.revision < chain.head:
        raise StorageError(
            f"The schema of the database ({found.revision or 'none yet'}) is older than this version of the "
            f"gateway ({chain.head}): run `gateway migrate`.",
            code="database_outdated",
            retryable=False,
        )
    return found.is_newer(chain, name)


def lock(connection: Connection) -> None:
    """Takes the lock of what changes the tables, until the connection is closed; outside a transaction. It is
    asked for again and again: a statement that waits for a lock has a snapshot, for whose end a `CREATE INDEX
    CONCURRENTLY` of the process that holds the lock waits. Raises errors.StorageError: another process has it
    for too long."""
    ends = time.monotonic() + MIGRATION_WAIT
    while not _has_locked(connection):
        if time.monotonic() > ends:
            raise StorageError(
                f"Another process has been changing the tables for {MIGRATION_WAIT} s: wait for its end, and "
                "try again."
            )
        time.sleep(MIGRATION_PAUSE)


def _has_locked(connection: Connection) -> bool:
    with connection.begin():
        return bool(connection.exec_driver_sql(_TRY_LOCK).scalar())


def _brought(connection: Connection, chain: Chain) -> Migrated:
    from gateway.storage.migrations import run  # noqa: PLC0415 - Alembic takes half a second to import

    raw = raw_of(connection)
    found = schema_of(raw, chain)
    if found.revision is not None and found.is_newer(chain, raw.info.dbname):
        return Migrated(chain, found.revision, found.revision)
    if found.revision is None:
        raw.execute((BASELINE / f"{chain.folder}.sql").read_bytes(), prepare=False)
        table = sql.Identifier(chain.table)
        raw.execute(_BEGIN_CHAIN.format(table))
        raw.execute(_SET_CHAIN.format(table), (chain.baseline,))
    raw.commit()
    for attempt in range(1, ATTEMPTS + 1):
        try:
            run.upgrade_on(connection, run.config_of(chain, chain.table), chain.head)
        except DBAPIError as error:
            if attempt == ATTEMPTS or not isinstance(error.orig, LockNotAvailable | DeadlockDetected):
                raise
            log.warning("a revision waits for a table that is in use: %s", error.orig)
            connection.rollback()
            time.sleep(PAUSE)
        else:
            break
    connection.commit()
    return Migrated(chain, found.revision, chain.head)
