"""The memories in a PostgreSQL database, beside the sessions."""

import itertools
import random
from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import Connection

from gateway.errors import StorageError
from gateway.storage.database import Lock
from gateway.storage.postgres.connections import raw_of
from gateway.storage.postgres.memory_words import PostingWords
from gateway.storage.postgres.postgres_database import PostgresDatabase

T = TypeVar("T")

COUNTERS = 16
"""Rows that count writes: two transactions at the same time seldom wait for the same one."""

COUNT = """
    INSERT INTO memory_writes AS w (counter, writes) VALUES (%s, 1)
    ON CONFLICT (counter) DO UPDATE SET writes = w.writes + 1
"""
STATE = "SELECT coalesce(sum(writes), 0)::bigint FROM memory_writes"


class PostgresMemoryDatabase(PostgresDatabase):
    """The `MemoryDatabase` protocol. Made by `open`."""

    about = "memory"
    words = PostingWords()
    _unknown = itertools.count(-1, -1)

    async def write(
        self,
        work: Callable[[Connection], T],
        *,
        over: Lock | None = None,
        committed: Callable[[], None] | None = None,
    ) -> T:
        """Runs `work` in a transaction that also raises the number of `state`, unless it returned False."""

        def counted(connection: Connection) -> T:
            value = work(connection)
            if not isinstance(value, bool) or value:
                # At the end: others may wait for this row.
                counter = random.randrange(COUNTERS)  # noqa: S311 - no secret
                raw_of(connection).execute(COUNT, (counter,))
            return value

        return await super().write(counted, over=over, committed=committed)

    async def state(self) -> int:
        """How many writes there were: a question to the server."""
        try:
            return await self.read(_state, snapshot=False)
        except StorageError:
            return next(self._unknown)

    async def scrub(self) -> None:
        """Does nothing: what was erased is in no row any more. The server's VACUUM frees its bytes, and its
        logs and backups have them for as long as they are kept."""


def _state(connection: Connection) -> int:
    ((writes,),) = raw_of(connection).execute(STATE).fetchall()
    return writes
