"""What long sessions leave in the tables when they are deleted or archived is removed beside the requests."""

import asyncio
from contextlib import suppress
from time import monotonic

import structlog

from gateway.errors import StorageError
from gateway.storage.sessions.purges import Purges

PAUSE = 0.01
"""Seconds between two slices at least. A pause is as long as the slice and its commit took: half of the
writer's time is left to others."""
LOOK_EVERY = 30.0
"""Seconds between two looks for purges that began in other processes."""
RETRY = 5.0
"""Seconds until another attempt when the database could not do its work."""

log = structlog.get_logger(__name__)


class PurgeWorker:
    """One of all processes runs it."""

    def __init__(self, purges: Purges) -> None:
        self._purges = purges

    async def run(self) -> None:
        """Removes until it is cancelled: first what a former process left, then what begins."""
        while True:
            try:
                await self.finish()
            except StorageError as error:
                log.warning("purge_failed", code=error.code, error=str(error))
                await asyncio.sleep(RETRY)
                continue
            with suppress(TimeoutError):
                await asyncio.wait_for(self._purges.awaited(), LOOK_EVERY)

    async def finish(self) -> None:
        """Removes slice after slice until nothing is left. Raises errors.StorageError."""
        slices, began = 0, monotonic()
        while (done := await self._purges.next_slice()) is not None:
            slices += 1
            if done.is_last:
                log.info("rows_removed", slices=slices)
                slices = 0
            await asyncio.sleep(max(PAUSE, monotonic() - began))
            began = monotonic()
