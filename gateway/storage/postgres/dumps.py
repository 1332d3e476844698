"""A PostgreSQL database in a backup: what pg_dump writes, and pg_restore reads. They come with the server."""

import os
import subprocess
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import Literal

import psycopg
from psycopg import conninfo
from sqlalchemy import NullPool, create_engine

from gateway.errors import SettingsError, StorageError
from gateway.storage.backups import CopiedDatabases, OnProgress
from gateway.storage.migrations import MEMORIES, SESSIONS
from gateway.storage.moving import MoveProgress
from gateway.storage.moving.blobs import each_named_blob
from gateway.storage.postgres.advisory_locks import LockClass
from gateway.storage.postgres.connections import AS_LONG_AS_IT_TAKES, Raw, ServerAddress, raw_of
from gateway.storage.postgres.failures import storage_error
from gateway.storage.postgres.migrating import newer_schemas, schema_of

DUMP = "database.dump"
HOLD = f"SELECT pg_try_advisory_lock(hashtextextended('gateway backup', {LockClass.BACKUP:d}))"
PLACES = "/usr/lib/postgresql"
"""Where Debian keeps the programs of each version, those that are not in PATH."""
DUMP_OPTIONS = ("--format=custom", "--no-owner", "--no-privileges", "--lock-wait-timeout=60s")


class PostgresBackup:
    """The `BackedUpDatabases` protocol. The address must be the server's own, not a pooler's."""

    engine: Literal["postgresql"] = "postgresql"

    def __init__(self, url: str) -> None:
        self._server = ServerAddress(url)
        self._program = program("pg_dump")

    @contextmanager
    def hold(self) -> Generator[None]:
        """Holds removals of blobs up by a lock in the database, which they look for. Raises StorageError."""
        with _connected(self._server) as raw:
            if not _first(raw, HOLD):
                raise StorageError("Another backup of the database is being made.", retryable=False)
            yield

    @contextmanager
    def copied(self, folder: Path, report: OnProgress) -> Generator[CopiedDatabases]:
        """What pg_dump writes of a snapshot, in which the names of the blobs are read as well."""
        engine = create_engine(
            "postgresql+psycopg://",
            creator=lambda: self._server.connect(AS_LONG_AS_IT_TAKES, autocommit=False),
            poolclass=NullPool,
            isolation_level="REPEATABLE READ",
        )
        try:
            with engine.connect() as connection:
                raw = raw_of(connection)
                newer_schemas(raw)  # raises: it is of another version
                revisions = {
                    chain.holds: str(schema_of(raw, chain).revision) for chain in (SESSIONS, MEMORIES)
                }
                snapshot = _first(raw, "SELECT pg_export_snapshot()")
                report(MoveProgress(DUMP, 0, 1))
                target = folder / DUMP
                target.touch(mode=0o600)
                given = (*DUMP_OPTIONS, f"--snapshot={snapshot}", f"--file={target}")
                _run(self._program, self._server, *given)
                report(MoveProgress(DUMP, 1, 1))

                def blobs() -> Iterator[str]:
                    streamed = connection.execution_options(stream_results=True)
                    yield from (path for path, _ in each_named_blob(streamed))

                yield CopiedDatabases(revisions, blobs)
        except psycopg.Error as error:
            raise storage_error(error) from error
        finally:
            engine.dispose()


def restore_dump(dump: Path, url: str) -> None:
    """Fills the empty database at `url`, in one transaction.

    Raises:
        StorageError: it is not empty (target_not_empty), or pg_restore fails: nothing is there then.
        SettingsError: there is no pg_restore.
    """
    server, restore = ServerAddress(url), program("pg_restore")
    with _connected(server) as raw:
        if _first(raw, "SELECT count(*) FROM pg_tables WHERE schemaname = current_schema()"):
            raise StorageError(
                "The database is not empty: make a new one (createdb), and set GATEWAY_DATABASE_URL to it.",
                code="target_not_empty",
                retryable=False,
            )
    _run(
        restore, server, "--no-owner", "--no-privileges", "--single-transaction", "--exit-on-error", str(dump)
    )
    with _connected(server) as raw:
        raw.execute("ANALYZE")


def check_dump(dump: Path) -> None:
    """Raises StorageError: pg_restore cannot read it. SettingsError: there is no pg_restore."""
    _run(program("pg_restore"), None, "--list", str(dump))


def program(name: str) -> str:
    """The path of a program of PostgreSQL, the newest there is. Raises SettingsError: there is none."""
    found = sorted(Path(PLACES).glob(f"*/bin/{name}"), key=lambda each: _version(each.parts[-3]))
    if (path := str(found[-1]) if found else which(name)) is None:
        raise SettingsError(
            f"{name} is not installed, which writes and reads backups of a PostgreSQL database: install the "
            "server's client programs (Debian: postgresql-client), of its version or a newer one."
        )
    return path


def _version(name: str) -> float:
    try:
        return float(name)
    except ValueError:
        return 0


@contextmanager
def _connected(server: ServerAddress) -> Generator[Raw]:
    with server.connect(AS_LONG_AS_IT_TAKES) as raw:
        try:
            yield raw
        except psycopg.Error as error:
            raise storage_error(error) from error


def _first(raw: Raw, query: str) -> object:
    row = raw.execute(query.encode()).fetchone()
    return row[0] if row is not None else None


def _run(path: str, server: ServerAddress | None, *arguments: str) -> None:
    """The address is given in the environment, where no list of processes has its password."""
    environment = dict(os.environ)
    if server is not None:
        parts = conninfo.conninfo_to_dict(server.url)
        for each in psycopg.pq.Conninfo.get_defaults():
            if each.envvar is not None and (value := parts.get(each.keyword.decode())) is not None:
                environment[each.envvar.decode()] = str(value)
        arguments = ("--no-password", *arguments)
        if path.endswith("pg_restore"):
            arguments = (f"--dbname={parts.get('dbname', '')}", *arguments)
    done = subprocess.run(  # noqa: S603 - a program of the server's
        [path, *arguments], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        said = " ".join(done.stderr.split())[:500] or f"exit code {done.returncode}"
        raise StorageError(f"{Path(path).name} failed: {said}", retryable=False)
