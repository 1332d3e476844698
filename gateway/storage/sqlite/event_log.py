"""The event log on SQLite."""

import asyncio
import logging
import sqlite3
from collections.abc import Sequence

from sqlalchemy import Connection

from gateway.errors import StorageError
from gateway.events.envelope import StoredEvent
from gateway.storage.base import Append, Bus
from gateway.storage.sqlite.append import Pending
from gateway.storage.sqlite.database import SqliteDatabase, raw_of

log = logging.getLogger(__name__)

PAGE_BYTES = 1_048_576
"""Most bytes of bodies in one `read`, but always one event."""

# One row holds them all: a reader's thread has to win the interpreter lock back after every row, which takes
# milliseconds when the event loop is busy.
READ = """
    SELECT group_concat(seq), group_concat(type), group_concat(turn_id), group_concat(length(body)),
        CAST(group_concat(body, '') AS BLOB)
    FROM (
        SELECT seq, type, turn_id, body, sum(length(body)) OVER (ORDER BY seq) - length(body) AS before
        FROM events WHERE session_id = :session_id AND seq > :after AND seq <= :until {types}
        ORDER BY seq LIMIT :limit
    )
    WHERE before < :bytes
"""
LAST = 2**63 - 1


class SqliteEventLog:
    """The `EventLog` protocol. Events are published on `bus` as soon as they are durable, before their append
    is settled, in the same tick of the event loop."""

    def __init__(self, database: SqliteDatabase, bus: Bus) -> None:
        self._database = database
        self._bus = bus
        database.on_delivery(self._deliver)

    def append(self, batch: Append) -> None:
        """See `EventLog.append`.

        Raises:
            ValueError: the events do not continue from `batch.head`.
        """
        try:
            self._database.append(Pending.of(batch))
        except StorageError as closed:
            asyncio.get_running_loop().call_soon(batch.settled, closed)

    async def read(
        self, session_id: str, *, after: int, limit: int, until: int | None = None, types: Sequence[str] = ()
    ) -> list[StoredEvent]:
        """See `EventLog.read`. A page also ends after PAGE_BYTES."""
        values: dict[str, str | int] = {
            "session_id": session_id,
            "after": after,
            "until": LAST if until is None else until,
            "limit": limit,
            "bytes": PAGE_BYTES,
        }
        values.update({f"type_{number}": name for number, name in enumerate(types)})
        names = ", ".join(f":type_{number}" for number in range(len(types)))
        statement = READ.format(types=f"AND type IN ({names})" if types else "")

        def page(connection: Connection) -> list[StoredEvent]:
            return events_of(raw_of(connection).execute(statement, values))

        return await self._database.read(page, snapshot=False)

    def _deliver(self, appends: Sequence[Pending], refusals: Sequence[StorageError | None]) -> None:
        stored: dict[str, list[StoredEvent]] = {}
        for pending, refusal in zip(appends, refusals, strict=True):
            if refusal is None:
                stored.setdefault(pending.batch.session_id, []).extend(pending.batch.events)
        for session_id, events in stored.items():
            self._bus.publish(session_id, events)
        for pending, refusal in zip(appends, refusals, strict=True):
            try:
                pending.batch.settled(refusal)
            except Exception:
                # One turn's fault must not keep the others from hearing of theirs.
                log.exception("the writer of turn %s failed to hear of its append", pending.batch.turn_id)


def events_of(cursor: sqlite3.Cursor) -> list[StoredEvent]:
    """The events of the one row that READ gives."""
    seqs, types, turn_ids, sizes, bodies = cursor.fetchone()
    if seqs is None:
        return []
    events: list[StoredEvent] = []
    at = 0
    for seq, event_type, turn_id, size in zip(
        seqs.split(","), types.split(","), turn_ids.split(","), sizes.split(","), strict=True
    ):
        end = at + int(size)
        events.append(StoredEvent(int(seq), event_type, turn_id, bodies[at:end]))
        at = end
    return events
