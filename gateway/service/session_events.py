"""Events that happen beside a session's turns."""

from collections.abc import Sequence

import structlog

from gateway.errors import GatewayError
from gateway.events.envelope import EventData
from gateway.ids import new_operation_id, now_ms
from gateway.memory.changes import Changed
from gateway.storage.log.event_log import EventLog

log = structlog.get_logger(__name__)


class SessionEvents:
    """Stores such events at once: in the log, or in the outbox while a turn is being written, whose emitter
    then puts them into the log."""

    def __init__(self, log: EventLog) -> None:
        self._log = log

    async def add(self, session_id: str, owner: str, operation_id: str, data: EventData) -> None:
        """Stores one event, with `operation_id` for its turn unless one is open.

        Raises:
            errors.StorageError: it is not stored.
            errors.NotFound: the session is gone, or another user's now.
        """
        await self._log.note(session_id, operation_id, data, now_ms(), owner=owner)

    async def add_changes(self, session_id: str, owner: str, changed: Sequence[Changed]) -> None:
        """Stores what became of memories, which are kept also where this fails."""
        operation = new_operation_id()
        for each in changed:
            try:
                await self.add(session_id, owner, operation, each.event)
            except GatewayError as error:
                log.warning("memory_events_lost", session_id=session_id, code=error.code, lost=len(changed))
                return
