"""Which skills are switched off, read from a file that a gateway may have open."""

import asyncio
import sqlite3
from pathlib import Path

from sqlalchemy import NullPool, create_engine, inspect
from sqlalchemy.exc import DBAPIError

from gateway.errors import StorageError
from gateway.storage.decisions.switches import DISABLED
from gateway.storage.schema import skill_switches


class StoredSwitches:
    """The `SkillSwitches` protocol for commands that read: nothing is locked, made or changed. Where there is
    no database, or one that is older than switches, nothing is off."""

    def __init__(self, path: Path) -> None:
        self._path = path

    async def disabled(self) -> frozenset[str]:
        """See `SkillSwitches.disabled`."""
        return await asyncio.to_thread(self._read)

    async def switch(self, name: str, *, enabled: bool, by: str, at: int) -> None:
        """Raises errors.StorageError, always."""
        raise StorageError("Only a running gateway switches skills.", retryable=False)

    def _read(self) -> frozenset[str]:
        if not self._path.is_file():
            return frozenset()
        engine = create_engine("sqlite://", creator=self._connect, poolclass=NullPool)
        try:
            with engine.connect() as connection:
                if not inspect(connection).has_table(skill_switches.name):
                    return frozenset()
                return frozenset(name for (name,) in DISABLED.run(connection).fetchall())
        except (sqlite3.Error, DBAPIError) as error:
            cause = error.orig if isinstance(error, DBAPIError) else error
            raise StorageError(
                f"The database {self._path} cannot be read: {cause}.", retryable=False
            ) from error

    def _connect(self) -> sqlite3.Connection:
        # A reader of a file that nobody has open would leave a write-ahead log beside it, which belongs to
        # another user perhaps than the next gateway. (sqlite.org/wal.html, "Read-Only Databases")
        is_open = self._path.with_name(f"{self._path.name}-wal").exists()
        how = "mode=ro" if is_open else "mode=ro&immutable=1"
        return sqlite3.connect(f"{self._path.absolute().as_uri()}?{how}", uri=True, timeout=5)
