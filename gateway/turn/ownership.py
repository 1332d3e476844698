"""The one loop that asks for what this process is to run, and hands it to those in flight.

orphans, released turns ──▶ recover     sessions where turns only wait ──▶ queue
turns to be stopped     ──▶ cancel      what is left in the outbox     ──▶ deliver_left
"""

import asyncio
from contextlib import suppress

import structlog

from gateway.errors import StorageError
from gateway.storage.replicas import Replicas
from gateway.storage.turns import OwnedTurn, Turns
from gateway.turn.in_flight import InFlight
from gateway.turn.observer import ids_of

log = structlog.get_logger(__name__)


class Ownership:
    """One per process."""

    def __init__(self, replicas: Replicas, turns: Turns, in_flight: InFlight) -> None:
        self.queued = 0
        """Accepted turns, of all sessions, that wait for those before them, as of the last look."""
        self._replicas = replicas
        self._turns = turns
        self._in_flight = in_flight
        self._suspects: set[OwnedTurn] = set()
        self._woken = asyncio.Event()
        self._left = False

    def wake(self) -> None:
        """Something was released, or its owner died: the next look is at once."""
        self._woken.set()

    async def run(self) -> None:
        """Looks for as long as the process lives, also while it drains: a turn that ends here is this
        replica's until then."""
        while not self._left:
            try:
                await self.look()
            except StorageError as error:
                log.warning("ownership_not_looked_at", code=error.code, error=error.message)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._woken.wait(), self._replicas.every)
            self._woken.clear()

    async def leave(self) -> None:
        """Shutdown, when no task is left: what is still this replica's is released."""
        self._left = True
        try:
            await self._replicas.leave()
        except StorageError as error:  # it is taken over when the lease is over
            log.warning("turns_not_released", code=error.code, error=error.message)

    async def look(self) -> None:
        """One look, which is this replica's sign of life. Raises StorageError."""
        in_flight = self._in_flight
        found = await self._replicas.beat(room=0 if in_flight.draining.is_set() else in_flight.free_slots)
        self.queued = found.queued
        in_flight.others = found.others
        for accepted in found.taken:
            log.info("turn_recovered", **ids_of(accepted.turn))
            in_flight.recover(accepted)
        for turn_id in found.cancelled:
            in_flight.cancel(turn_id)
        if in_flight.draining.is_set():
            return
        for session_id in found.waiting:
            in_flight.queue(session_id)
        in_flight.deliver_left(found.undelivered)
        orphans = {turn for turn in found.owned if not in_flight.runs(turn.turn_id)}
        # At the first look it may have been accepted a moment ago.
        for turn in orphans & self._suspects:
            await self._take_back(turn)
        self._suspects = orphans

    async def _take_back(self, turn: OwnedTurn) -> None:
        """A turn of this process whose task is gone, of which there should be none."""
        accepted = await self._turns.take_over(turn.turn_id, recovered=True)
        if accepted is not None:
            log.error("turn_without_owner", **ids_of(accepted.turn))
            self._in_flight.recover(accepted)
