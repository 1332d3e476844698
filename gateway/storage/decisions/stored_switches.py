"""Skills that are switched off, read from a SQLite file that a gateway may have open. The SQL stands here as
it is: with SQLAlchemy and the schema, a command that lists skills takes half as long again."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

from gateway.errors import StorageError

IS_THERE = "SELECT 1 FROM sqlite_master WHERE name = 'skill_switches'"
DISABLED = "SELECT name FROM skill_switches WHERE NOT enabled"


class StoredSwitches:
    """The `SkillSwitches` protocol for commands that read: nothing is locked, made or changed. Where there is
    no database, or one that is older than switches, nothing is off."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def disabled(self) -> frozenset[str]:
        """Names of the skills that are switched off."""
        return await asyncio.to_thread(self._read)

    async def switch(self, name: str, *, enabled: bool, by: str, at: int) -> None:
        """Raises errors.StorageError, always."""
        raise StorageError("Only a running gateway switches skills.", retryable=False)

    def _read(self) -> frozenset[str]:
        if not self._path.is_file():
            return frozenset()
        try:
            with closing(self._connect()) as connection:
                if connection.execute(IS_THERE).fetchone() is None:
                    return frozenset()
                return frozenset(name for (name,) in connection.execute(DISABLED))
        except sqlite3.Error as error:
            raise StorageError(
                f"The database {self._path} cannot be read: {error}.", retryable=False
            ) from error

    def _connect(self) -> sqlite3.Connection:
        # The only reader of a file would leave a write-ahead log beside it, which belongs to
        # another user perhaps than the next gateway. (sqlite.org/wal.html, "Read-Only Databases")
        is_open = self._path.with_name(f"{self._path.name}-wal").exists()
        how = "mode=ro" if is_open else "mode=ro&immutable=1"
        return sqlite3.connect(f"{self._path.absolute().as_uri()}?{how}", uri=True, timeout=5)
