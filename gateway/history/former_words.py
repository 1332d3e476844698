"""Makes words anew by which an earlier version made sessions searchable, in the background."""

import asyncio
import logging

from gateway.errors import StorageError
from gateway.storage.sessions.former_words import FormerWords

log = logging.getLogger(__name__)

BATCH = 50
"""Sessions that are asked for at a time."""
PAUSE = 0.05
"""Seconds between two transactions, each of which takes some ten milliseconds of the writer: nobody waits
long."""
RETRY = 60.0
"""Seconds until the next attempt, where the database failed."""


class WordsRenewal:
    """One of all processes runs it."""

    def __init__(self, words: FormerWords, *, pause: float = PAUSE) -> None:
        self._words, self._pause = words, pause

    async def run(self) -> None:
        """Works until nothing is left, and then waits until it is cancelled."""
        while True:
            if await self._renew_all():
                await asyncio.get_running_loop().create_future()
            await asyncio.sleep(RETRY)

    async def _renew_all(self) -> bool:
        """Whether all were renewed that can be."""
        after, count = "", 0
        try:
            while found := await self._words.sessions(after=after, limit=BATCH):
                for session_id in found:
                    await self._words.renew(session_id, pause=self._pause)
                    await asyncio.sleep(self._pause)
                after, count = found[-1], count + len(found)
        except StorageError as error:
            log.warning("words of sessions were not made anew and will be tried again: %s", error)
            return False
        if count:
            log.info("words of %s sessions were made anew", count)
        return True
