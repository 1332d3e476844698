"""Makes messages searchable, in the background, a moment after each turn's end."""

import asyncio
import logging
from collections.abc import Collection, Sequence

from gateway.backlog import Backlog
from gateway.errors import StorageError
from gateway.events.envelope import StoredEvent
from gateway.storage.sessions.search import Search

log = logging.getLogger(__name__)

BATCH = 32
"""Sessions that are indexed at a time, with one commit while each has but a turn or two."""

MAX_WAITING = 10_000
"""Sessions that are remembered. What does not fit is found again by asking the database what is due."""

GATHER = 0.25
"""Seconds that a batch gathers, unless it is full before: so that turns share a commit, and the words of one
are not looked up while the next one begins."""

LOOK_EVERY = 600.0
"""Seconds between two looks for what a process has left that ended before it was indexed."""

PAUSE = 0.05
"""Seconds between full batches, so that their commits do not crowd out others."""

FIRST_RETRY, LAST_RETRY = 1.0, 60.0
"""Seconds after a failure until the next attempt: doubled each time, up to the last."""

MAX_ATTEMPTS = 5
"""Attempts of one session before it is left for the next start. Those that fail because the database does
(errors.StorageError) are not bounded: no session is left out for that."""


class Indexer:
    """Observes finished turns and indexes their sessions. One per process, on its event loop."""

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
        self._backlog = Backlog[str, None](
            limit=MAX_WAITING, first_retry=first_retry, last_retry=LAST_RETRY, attempts=MAX_ATTEMPTS
        )
        self._behind = False

    def watch(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        """An observer of the bus: quick, and never raises."""
        for event in events:
            if event.type == "done":
                self.nudge(session_id)
                return

    def nudge(self, session_id: str) -> None:
        """Something new is in the session: it will be indexed soon."""
        if not self._backlog.add(session_id, None):
            self._behind = True

    async def look(self) -> None:
        """Has what others left found, at once and then now and then, until it is cancelled."""
        while True:
            self._behind = True
            self._backlog.look()
            await asyncio.sleep(LOOK_EVERY)

    async def run(self) -> None:
        """Indexes the sessions of finished turns, and those that a `look` finds, until it is cancelled."""
        while True:
            try:
                await self._catch_up()
            except Exception as error:  # noqa: BLE001 - of every kind: the gateway works without the search
                log.warning("what is to be indexed cannot be read: %s", error)
                await asyncio.sleep(self._backlog.pause())
                continue
            self._backlog.go_on()
            await self._backlog.ready()
            is_full = len(self._backlog) >= BATCH or self._behind
            await asyncio.sleep(self._pause if is_full else self._gather)
            if batch := self._backlog.take(BATCH):
                await self._index(batch)

    async def settled(self) -> None:
        """Returns when all sessions that were queued until now are searchable or were given up."""
        await self._backlog.settled()

    async def _catch_up(self) -> None:
        """Asks what is due, a batch at a time, as long as there may be sessions that no event announced."""
        if not self._behind:
            return
        self._behind = False
        try:
            after = ""
            while found := await self._search.due(after=after, limit=BATCH):
                after = found[-1]
                await self._index(found)
                await asyncio.sleep(self._pause)
        except BaseException:
            self._behind = True
            raise

    async def _index(self, batch: Collection[str]) -> None:
        try:
            await self._search.index(*batch)
        except Exception as error:  # noqa: BLE001 - as in run
            if len(batch) > 1:  # one of them must not keep the others from being found
                for name in batch:
                    await self._index([name])
                return
            (name,) = batch
            is_database = isinstance(error, StorageError)
            if self._backlog.failed(name, None, gives_up=not is_database):
                log.warning("session %s was not indexed and will be tried again: %s", name, error)
            elif is_database:
                self._behind = True  # too many wait: the database names it again
            else:
                log.error("session %s is not indexed before the next start: %s", name, error)
        else:
            for name in batch:
                self._backlog.done(name)
