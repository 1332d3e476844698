"""Indexes memories anew that an earlier version has indexed, in the background."""

import asyncio

import structlog

from gateway.errors import StorageError
from gateway.memory.validation import indexed
from gateway.storage.memories.store import MemoryStore

BATCH = 25
"""Memories of one transaction: some ten milliseconds."""
PAUSE = 0.05
"""Seconds between two transactions: nobody waits long for the database."""
RETRY = 60.0
"""Seconds until the next attempt, where the database failed."""

log = structlog.get_logger(__name__)


class MemoryReindexing:
    """One of all processes runs it."""

    def __init__(self, store: MemoryStore, *, pause: float = PAUSE) -> None:
        self._store, self._pause = store, pause

    async def run(self) -> None:
        """Works until nothing is left, and then waits until it is cancelled."""
        while True:
            try:
                is_over = not await self._store.reindex(BATCH, indexed)
            except StorageError as error:
                log.warning("memories_not_reindexed", error=error.code, retry_in=RETRY)
                await asyncio.sleep(RETRY)
                continue
            if is_over:
                await asyncio.get_running_loop().create_future()
            await asyncio.sleep(self._pause)
