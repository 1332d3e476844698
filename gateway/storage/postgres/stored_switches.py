"""Skills that are switched off, read from a server by commands."""

import asyncio

from gateway.errors import StorageError
from gateway.storage.migrations import SESSIONS
from gateway.storage.postgres.connections import ServerAddress
from gateway.storage.postgres.migrating import schema_of

DISABLED = "SELECT name FROM skill_switches WHERE NOT enabled"


class ServedSwitches:
    """The `SkillSwitches` protocol for commands that read. Where there are no tables nothing is off."""

    def __init__(self, server: ServerAddress) -> None:
        self._server = server

    async def disabled(self) -> frozenset[str]:
        """Names of the skills that are switched off."""
        return await asyncio.to_thread(self._read)

    async def switch(self, name: str, *, enabled: bool, by: str, at: int) -> None:
        """Raises errors.StorageError, always."""
        raise StorageError("Only a running gateway switches skills.", retryable=False)

    def _read(self) -> frozenset[str]:
        with self._server.connect() as raw:
            if schema_of(raw, SESSIONS).revision is None:
                return frozenset()
            return frozenset(name for (name,) in raw.execute(DISABLED).fetchall())
