"""Results of schedules, delivered where they were asked for beside their session.

    run is over ─▶ undelivered ─▶ claim: due again later ─▶ Destination.deliver ─┬▶ done: due no more
                      (wake)                                                     └▶ failed, killed: tried then

Any number of processes do this beside each other: who moves the time of the next try on delivers.
"""

import asyncio
from collections.abc import Mapping

import structlog

from gateway.backlog import doubled
from gateway.errors import StorageError
from gateway.ids import now_ms
from gateway.schedules.schedule_editor import Destination
from gateway.storage.schedules import Undelivered
from gateway.storage.schedules.store import Schedules

TIMEOUT = 20.0
"""Seconds that a destination may take, below FIRST_RETRY: nobody else tries meanwhile."""
FIRST_RETRY, LAST_RETRY = 30.0, 3600.0
"""Seconds until the next try, doubled each time."""
MAX_TRIES = 14
"""Some eight hours."""
AT_ONCE = 20

log = structlog.get_logger(__name__)


class ScheduleResults:
    """One per process."""

    def __init__(self, deliveries: Schedules, destinations: Mapping[str, Destination]) -> None:
        self._deliveries = deliveries
        self._destinations = destinations
        self._wanted = asyncio.Event()

    def wake(self) -> None:
        """Some are undelivered: the tick of schedules.py has seen it."""
        self._wanted.set()

    async def run(self) -> None:
        """Delivers until it is cancelled."""
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            try:
                while self._destinations and await self.look():
                    pass
            except StorageError as error:
                log.warning("schedule_results_not_looked_at", code=error.code, error=str(error))

    async def look(self) -> bool:
        """Tries to deliver some of what is due now; whether there may be more. Raises errors.StorageError."""
        found = await self._deliveries.undelivered(now_ms(), AT_ONCE)
        tried = await asyncio.gather(*map(self._tried, found), return_exceptions=True)
        for failure in tried:
            if isinstance(failure, BaseException):
                raise failure
        return len(found) == AT_ONCE

    async def _tried(self, found: Undelivered) -> None:
        """Raises errors.StorageError."""
        schedule, run, _, tries = found
        assert schedule.destination is not None  # it is wanted there
        kind, _, address = schedule.destination.partition(":")
        again_at = now_ms() + int(doubled(FIRST_RETRY, tries + 1, LAST_RETRY) * 1000)
        if not await self._deliveries.claim_delivery(found, again_at):
            return
        claimed = found._replace(deliver_at=again_at)
        try:
            async with asyncio.timeout(TIMEOUT):
                key = f"{schedule.id}-{run.due_at}"
                await self._destinations[kind].deliver(address, schedule, run, key)
        except Exception:  # of an adapter, whatever it is
            log.exception(
                "schedule_result_not_delivered", schedule_id=schedule.id, destination=kind, tries=tries + 1
            )
            if tries + 1 < MAX_TRIES:
                return
        await self._deliveries.claim_delivery(claimed, None)
