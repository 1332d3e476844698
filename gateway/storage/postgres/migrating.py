"""The schema of a PostgreSQL database: the tables it begins with, then the revisions of all engines."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import psycopg
from psycopg import sql
from sqlalchemy import Connection, NullPool, create_engine
from sqlalchemy.exc import DBAPIError

import gateway.storage.migrations
from gateway.errors import StorageError
from gateway.storage.migrations import MEMORIES, SESSIONS, Chain, too_new
from gateway.storage.postgres.advisory_locks import LockClass
from gateway.storage.postgres.connections import Raw, ServerAddress, raw_of
from gateway.storage.postgres.failures import storage_error

BASELINE = Path(gateway.storage.migrations.__file__).parent / "baseline"

LOCK = f"SELECT pg_advisory_lock(hashtextextended('gateway migrate', {LockClass.MIGRATION:d}))"
"""Held by what changes the tables, until its connection is closed."""
_OF_CHAIN = sql.SQL("SELECT version_num FROM {}")
_BEGIN_CHAIN = sql.SQL("CREATE TABLE {} (version_num VARCHAR(32) NOT NULL PRIMARY KEY)")
_SET_CHAIN = sql.SQL("INSERT INTO {} VALUES (%s)")


class Migrated(NamedTuple):
    """A chain with the revision it had (None: it was new); it has the newest one now."""

    chain: Chain
    before: str | None


def migrate(server: ServerAddress) -> Sequence[Migrated]:
    """Brings the database to the newest revisions, one process at a time. The connection must be no pooler's.

    Raises:
        StorageError: it cannot be reached or changed, or it was written by a newer version (code
            database_too_new).
    """
    engine = create_engine(
        "postgresql+psycopg://",
        creator=lambda: server.connect(autocommit=False, options="-c lock_timeout=60s"),
        poolclass=NullPool,
    )
    try:
        with engine.connect() as connection:
            connection.exec_driver_sql(LOCK)
            connection.commit()
            return [_brought(connection, chain) for chain in (SESSIONS, MEMORIES)]
    except (psycopg.Error, DBAPIError) as error:
        raise storage_error(error) from error
    finally:
        engine.dispose()


def check_revisions(server: ServerAddress) -> None:
    """Raises StorageError: the server cannot be reached, the schema is older than this version (code
    database_outdated) or newer (database_too_new)."""
    try:
        with server.connect() as raw:
            for chain in (SESSIONS, MEMORIES):
                _check(raw, chain)
    except psycopg.Error as error:
        raise storage_error(error) from error


def revision_of(raw: Raw, chain: Chain) -> str | None:
    """The revision that a chain has; None when there are no tables yet."""
    known = raw.execute("SELECT to_regclass(%s)", (chain.table,)).fetchone()
    if known is None or known[0] is None:
        return None
    row = raw.execute(_OF_CHAIN.format(sql.Identifier(chain.table))).fetchone()
    return row[0] if row else None


def _check(raw: Raw, chain: Chain) -> None:
    revision = revision_of(raw, chain)
    if revision == chain.head:
        return
    if revision is None or revision < chain.head:
        raise StorageError(
            f"The schema of the database ({revision or 'none yet'}) is older than this version of the "
            f"gateway ({chain.head}): run `gateway migrate`.",
            code="database_outdated",
            retryable=False,
        )
    raise too_new(raw.info.dbname, revision)


def _brought(connection: Connection, chain: Chain) -> Migrated:
    from gateway.storage.migrations import run  # noqa: PLC0415 - Alembic takes half a second to import

    raw = raw_of(connection)
    before = revision_of(raw, chain)
    config = run.config_of(chain, chain.table)
    run.check_is_known(config, raw.info.dbname, before)
    if before is None:
        raw.execute((BASELINE / f"{chain.folder}.sql").read_bytes(), prepare=False)
        table = sql.Identifier(chain.table)
        raw.execute(_BEGIN_CHAIN.format(table))
        raw.execute(_SET_CHAIN.format(table), (chain.baseline,))
    raw.commit()
    run.upgrade_on(connection, config, chain.head)
    connection.commit()
    return Migrated(chain, before)
