"""Makes what was said searchable, in the background, a moment after each turn's end."""

import asyncio
import logging
from collections.abc import Sequence

from gateway.events.envelope import StoredEvent
from gateway.storage.records import Search

log = logging.getLogger(__name__)

BATCH = 32
"""Sessions that are indexed at a time, with one commit while each has but a turn or two."""

MAX_WAITING = 10_000
"""Sessions that are remembered. What does not fit is found again by asking the database what is due."""

GATHER = 0.25
"""Seconds that a batch gathers, unless it is full before: so that turns share a commit, and the words of one
are not looked up while the next one begins."""

PAUSE = 0.05
"""Seconds between full batches, so that their commits do not crowd out others."""

FIRST_RETRY, LAST_RETRY = 1.0, 60.0
"""Seconds after a failure until the next attempt: doubled each time, up to the last."""

MAX_ATTEMPTS = 5
"""Attempts of one session before it is left for the next start."""


class Indexer:
    """Hears of finished turns and indexes their sessions. One per process, on its event loop."""

    def __init__(
        self,
        search: Search,
        *,
        gather: float = GATHER,
        pause: float = PAUSE,
        first_retry: float = FIRST_RETRY,
    ) -> None:
        self._search = search
        self._gather = gather
        self._pause = pause
        self._first_retry = first_retry
        self._waiting: dict[str, int] = {}  # sessions and how often they failed, the oldest first
        self._behind = True
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()

    def watch(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        """An observer of the bus: quick, and never raises."""
        for event in events:
            if event.type == "done":
                self.nudge(session_id)
                return

    def nudge(self, session_id: str) -> None:
        """Something new is in the session: it will be indexed soon."""
        if len(self._waiting) < MAX_WAITING or session_id in self._waiting:
            self._waiting[session_id] = 0
        else:
            self._behind = True
        self._idle.clear()
        self._wake.set()

    async def run(self) -> None:
        """Indexes until it is cancelled: first what a former process left, then what it hears of."""
        retry = self._first_retry
        while True:
            try:
                await self._catch_up()
                failed = await self._next_batch()
            except Exception as error:  # noqa: BLE001 - whatever it was: without a search the gateway goes on
                log.warning("what is to be indexed cannot be read: %s", error)
                failed = True
            if failed:
                await asyncio.sleep(retry)
                retry = min(2 * retry, LAST_RETRY)
                continue
            retry = self._first_retry
            if not self._waiting and not self._behind:
                self._idle.set()
                await self._wake.wait()
            is_full = len(self._waiting) >= BATCH or self._behind
            await asyncio.sleep(self._pause if is_full else self._gather)

    async def settled(self) -> None:
        """Returns when all that was heard of until now can be found, or was given up."""
        await self._idle.wait()

    async def _catch_up(self) -> None:
        """Asks what is due, a batch at a time, as long as there may be something that nobody told of."""
        if not self._behind:
            return
        self._behind = False
        try:
            after = ""
            while found := await self._search.due(after=after, limit=BATCH):
                after = found[-1]
                await self._index(dict.fromkeys(found, 0))
                await asyncio.sleep(self._pause)
        except BaseException:
            self._behind = True
            raise

    async def _next_batch(self) -> bool:
        """Indexes those who wait longest; whether one of them failed."""
        self._wake.clear()
        batch = {name: self._waiting[name] for name in list(self._waiting)[:BATCH]}
        for name in batch:
            del self._waiting[name]
        return bool(batch) and await self._index(batch)

    async def _index(self, batch: dict[str, int]) -> bool:
        try:
            await self._search.index(*batch)
        except Exception as error:  # noqa: BLE001 - as in run
            if len(batch) > 1:  # one of them must not keep the others from being found
                return any([await self._index({name: failures}) for name, failures in batch.items()])
            [(name, failures)] = batch.items()
            self._put_back(name, failures + 1, error)
            return True
        return False

    def _put_back(self, name: str, failures: int, error: Exception) -> None:
        if failures < MAX_ATTEMPTS:
            log.warning("session %s was not indexed and will be tried again: %s", name, error)
            self._waiting.setdefault(name, failures)
        else:
            log.error("session %s was not indexed in %d attempts: %s", name, failures, error)
