"""The event log on SQLite."""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection

from gateway.errors import ArchiveDamaged, StorageError
from gateway.events.envelope import EventData, StoredEvent
from gateway.storage import outbox
from gateway.storage.archives import ReadArchivedEvents, archives_after, no_archives
from gateway.storage.base import Append, Bus, OutboxEntry, TurnRow
from gateway.storage.records import ArchiveRow
from gateway.storage.sqlite.append import Pending
from gateway.storage.sqlite.database import SqliteDatabase, raw_of

log = logging.getLogger(__name__)

PAGE_BYTES = 1_048_576
"""Most bytes of bodies in one `read`, but always one event."""

# One row holds them all: a reader's thread has to win the interpreter lock back after every row, which takes
# milliseconds when the event loop is busy.
READ = """
    SELECT group_concat(seq), group_concat(type), group_concat(turn_id), group_concat(length(body)),
        CAST(group_concat(body, '') AS BLOB), {archived}
    FROM (
        SELECT seq, type, turn_id, body, sum(length(body)) OVER (ORDER BY seq) - length(body) AS before
        FROM events WHERE session_id = :session_id AND seq > :after AND seq <= :until {types}
        ORDER BY seq LIMIT iif({archived} IS NULL AND {is_there}, :limit, 0)
    )
    WHERE before < :bytes
"""
# Part of the same statement, and so of the same moment: a session whose rows move to an archive meanwhile is
# seen before or after that, never in between.
ARCHIVED = "(SELECT 1 FROM session_archives WHERE session_id = :session_id AND to_seq > :after)"
# The rows of a deleted session are removed after it.
IS_THERE = "EXISTS (SELECT 1 FROM sessions WHERE id = :session_id)"
LAST = 2**63 - 1


class SqliteEventLog:
    """The `EventLog` protocol. Events are published on `bus` as soon as they are durable, before their append
    is settled, in the same tick of the event loop. `archived` reads what was moved to archives."""

    def __init__(
        self, database: SqliteDatabase, bus: Bus, archived: ReadArchivedEvents = no_archives
    ) -> None:
        self._database = database
        self._bus = bus
        self._archived = archived
        database.on_delivery(self._deliver)

    def append(self, batch: Append) -> None:
        """See `EventLog.append`."""
        try:
            self._database.append(Pending.of(batch))
        except StorageError as closed:
            asyncio.get_running_loop().call_soon(batch.settled, closed)

    async def read(
        self, session_id: str, *, after: int, limit: int, until: int | None = None, types: Sequence[str] = ()
    ) -> list[StoredEvent]:
        """See `EventLog.read`. A page also ends after PAGE_BYTES, or where a member of an archive does."""
        last = LAST if until is None else until
        while True:
            found = await self._database.read(_page_of(session_id, after, limit, last, types), snapshot=False)
            if not isinstance(found, ArchiveRow):
                return found
            events = await self._read_archived(found, after=after, limit=limit, until=last, types=types)
            if events:
                return events
            after = found.to_seq

    async def note(self, session_id: str, operation_id: str, data: EventData, at: int) -> OutboxEntry | None:
        """See `EventLog.note`."""
        outcome = await self._beside(
            session_id,
            lambda connection: outbox.append_beside(connection, session_id, operation_id, [data], at),
        )
        return outcome.entry

    async def close_waiting(self, turn: TurnRow, data: Sequence[EventData], at: int) -> OutboxEntry | None:
        """See `EventLog.close_waiting`."""
        outcome = await self._beside(
            turn.session_id,
            lambda connection: outbox.close_waiting(connection, turn.session_id, turn.id, data, at),
        )
        return outcome.entry

    async def deliver(self, session_id: str, at: int) -> bool:
        """See `EventLog.deliver`."""
        outcome = await self._beside(
            session_id, lambda connection: outbox.deliver(connection, session_id, at)
        )
        return outcome.is_free

    async def undelivered(self) -> Sequence[str]:
        """See `EventLog.undelivered`."""
        rows = await self._database.read(
            lambda connection: outbox.SESSIONS.run(connection).fetchall(), snapshot=False
        )
        return [session_id for (session_id,) in rows]

    async def outbox_of(self, session_id: str) -> Sequence[OutboxEntry]:
        """See `EventLog.outbox_of`."""
        return await self._database.read(
            lambda connection: outbox.entries(connection, session_id), snapshot=False
        )

    async def _beside(self, session_id: str, work: Callable[[Connection], outbox.Outcome]) -> outbox.Outcome:
        outcomes: list[outbox.Outcome] = []

        def once(connection: Connection) -> outbox.Outcome:
            outcomes[:] = [work(connection)]
            return outcomes[0]

        def committed() -> None:
            if outcomes[0].stored:
                self._bus.publish(session_id, outcomes[0].stored)

        return await self._database.write(once, committed=committed)

    async def _read_archived(
        self, row: ArchiveRow, *, after: int, limit: int, until: int, types: Sequence[str]
    ) -> list[StoredEvent]:
        try:
            return await self._archived(row, after=after, limit=limit, until=until, types=types)
        except ArchiveDamaged:
            # A session that was deleted meanwhile took its archives along.
            rows = await self._database.read(
                lambda connection: archives_after(connection, row.session_id, after), snapshot=False
            )
            if row not in rows:
                return []
            raise

    def _deliver(self, appends: Sequence[Pending], refusals: Sequence[StorageError | None]) -> None:
        stored: dict[str, list[StoredEvent]] = {}
        for pending, refusal in zip(appends, refusals, strict=True):
            if refusal is None:
                stored.setdefault(pending.batch.session_id, []).extend(pending.batch.events)
        for session_id, events in stored.items():
            try:
                self._bus.publish(session_id, events)
            except Exception:
                # It is stored: those who wait must hear of it, and readers find it in the log.
                log.exception("events of session %s were not published", session_id)
        for pending, refusal in zip(appends, refusals, strict=True):
            try:
                pending.batch.settled(refusal)
            except Exception:
                # One turn's fault must not keep the others from hearing of theirs.
                log.exception("the writer of turn %s failed to hear of its append", pending.batch.turn_id)


def _page_of(
    session_id: str, after: int, limit: int, until: int, types: Sequence[str]
) -> Callable[[Connection], list[StoredEvent] | ArchiveRow]:
    """Reads a page of the table, or finds the archive that holds what comes after the cursor."""
    values: dict[str, str | int] = {
        "session_id": session_id,
        "after": after,
        "until": until,
        "limit": limit,
        "bytes": PAGE_BYTES,
    }
    values.update({f"type_{number}": name for number, name in enumerate(types)})
    names = ", ".join(f":type_{number}" for number in range(len(types)))
    statement = READ.format(
        archived=ARCHIVED, is_there=IS_THERE, types=f"AND type IN ({names})" if types else ""
    )

    def page(connection: Connection) -> list[StoredEvent] | ArchiveRow:
        *row, is_archived = raw_of(connection).execute(statement, values).fetchone()
        if is_archived:
            archives = archives_after(connection, session_id, after)
            return archives[0] if archives else []  # none: the session has been deleted since
        return events_of(row)

    return page


def events_of(row: Sequence[Any]) -> list[StoredEvent]:
    """The events in the one row that READ gives."""
    seqs, types, turn_ids, sizes, bodies = row
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
