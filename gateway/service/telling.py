"""How something that happens beside the turns gets into a session's log."""

import asyncio
from collections.abc import Sequence

import structlog

from gateway.errors import GatewayError, StorageError
from gateway.events.envelope import EventData
from gateway.ids import new_operation_id, now_ms
from gateway.memory.memories import Changed
from gateway.storage.base import EventLog
from gateway.turn.in_flight import InFlight

log = structlog.get_logger(__name__)

ATTEMPTS, PAUSE = 100, 0.02
"""How long an event waits for the moment between two turns, in attempts and seconds."""


class Telling:
    """Appends events that belong to no turn: through the turn that runs, else by themselves."""

    def __init__(self, log: EventLog, in_flight: InFlight) -> None:
        self._log = log
        self._in_flight = in_flight

    async def tell(self, session_id: str, operation_id: str, data: EventData) -> None:
        """Puts the event into the log; by itself, it has `operation_id` for its turn.

        Raises:
            errors.StorageError: the log did not take it, also when a turn waits for a person all the time.
            errors.NotFound: the session is gone.
        """
        for _ in range(ATTEMPTS):
            emitter = self._in_flight.emitter_of(session_id)
            if emitter is not None:
                emitter.emit(data)
                return
            if await self._log.note(session_id, operation_id, data, now_ms()):
                return
            await asyncio.sleep(PAUSE)
        raise StorageError(f"The log of session {session_id} did not take an event.")

    async def tell_changes(self, session_id: str, changed: Sequence[Changed]) -> None:
        """Puts what became of memories into the log, as far as it takes it: they are kept all the same."""
        operation = new_operation_id()
        for each in changed:
            try:
                await self.tell(session_id, operation, each.event)
            except GatewayError as error:
                log.warning("memory_untold", session_id=session_id, code=error.code, untold=len(changed))
                return
