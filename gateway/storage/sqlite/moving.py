"""An SQLite end of a move: the file of the sessions with that of the memories attached."""

import sqlite3
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from sqlalchemy import Connection, NullPool, Table, create_engine, event, inspect

from gateway.errors import StorageError
from gateway.storage.data_folder_lock import FolderLock, opening
from gateway.storage.migrations import MEMORIES, MOVING, SESSIONS, schema_of, too_new, upgrade
from gateway.storage.migrations.run import begin
from gateway.storage.moving import Values, not_own
from gateway.storage.sqlite.memory_words import Fts5Words
from gateway.storage.sqlite.sqlite_file import raw_of


class SqliteMoving:
    """The `MovingDatabase` protocol."""

    version_table = "main.alembic_version"

    def __init__(self, name: str, connection: Connection) -> None:
        self.name, self.connection = name, connection
        self.words = Fts5Words()

    def has(self, table: str) -> bool:
        """Whether the table exists."""
        return inspect(self.connection).has_table(table)

    def add(self, table: Table, rows: Sequence[Values]) -> None:
        """Adds rows by one prepared INSERT."""
        columns, values = ", ".join(table.c.keys()), ", ".join("?" * len(table.c))
        statement = f"INSERT INTO {table.name} ({columns}) VALUES ({values})"  # noqa: S608 - names of ours
        raw_of(self.connection).executemany(statement, rows)

    def settle(self) -> None:
        """Does nothing: SQLite numbers rows behind the largest number there is."""

    def vacuum(self) -> None:
        """Does nothing: SQLite keeps no statistics that have to be made first."""


@contextmanager
def open_source(path: Path, memory_path: Path) -> Generator[SqliteMoving]:
    """Files that no other process changes meanwhile.

    Raises:
        StorageError: there is none, it is of another version, or it is in use.
    """
    for file, chain in ((path, SESSIONS), (memory_path, MEMORIES)):
        if not file.exists():
            raise StorageError(f"There is no database {file}.", retryable=False)
        found = schema_of(file)
        if found.revision == MOVING:
            raise too_new(str(file), found, chain)
        if found.is_newer(chain, str(file)):
            raise not_own(str(file), str(found.revision))
        if found.revision != chain.head:
            raise StorageError(
                f"{file} is at revision {found.revision or 'none'}, not {chain.head}: "
                "`gateway migrate` brings it there.",
                code="database_outdated",
                retryable=False,
            )
    with FolderLock.of_file(path), _connected(path, memory_path) as connection, connection.begin():
        yield SqliteMoving(_name(path), connection)


@contextmanager
def open_target(path: Path, memory_path: Path) -> Generator[SqliteMoving]:
    """Files that are made if they are missing."""
    with ExitStack() as stack:
        stack.enter_context(FolderLock.of_file(path))
        stack.enter_context(opening(memory_path))
        files = {path: SESSIONS, memory_path: MEMORIES}
        if schema_of(path).revision == MOVING:
            del files[path]
        for file, chain in files.items():
            _, revision = upgrade(file, chain)
            if revision != chain.head:
                raise not_own(str(file), revision)
        yield SqliteMoving(_name(path), stack.enter_context(_connected(path, memory_path)))


def _name(path: Path) -> str:
    return f"sqlite:///{path.resolve()}"


@contextmanager
def _connected(path: Path, memory_path: Path) -> Generator[Connection]:
    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(path, isolation_level=None)
        connection.execute("ATTACH ? AS memory", (str(memory_path),))
        return connection

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)
    # Both files: also where only one of them is read, no other process may change the other one.
    event.listen(engine, "begin", begin)
    try:
        with engine.connect() as connection:
            yield connection
    except sqlite3.Error as error:
        raise StorageError(f"The database {path} failed: {error}.") from error
    finally:
        engine.dispose()
