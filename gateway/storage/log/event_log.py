"""The event log, in SQL. Its tables are written and read in each engine's own way."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from sqlalchemy import Connection

from gateway.errors import ArchiveDamaged, StorageError
from gateway.events.envelope import EventData, StoredEvent
from gateway.events.session_changes import Feedback
from gateway.storage.archives import ArchiveRow
from gateway.storage.archives.reader import ReadArchivedEvents, no_archives
from gateway.storage.archives.store import archives_after
from gateway.storage.database import Database, SessionLock
from gateway.storage.log import Append, OutboxEntry, Page, outbox
from gateway.storage.log.appending import Pending
from gateway.storage.log.bus import Bus
from gateway.storage.log.feedback import rate
from gateway.storage.log.group_commit import Deliver
from gateway.storage.turns import TurnRow
from gateway.storage.turns.heads import HEAD, SKIP_FREE

log = logging.getLogger(__name__)

LAST = 2**63 - 1


class ReadPage(Protocol):
    """How an engine reads a page of what is not archived."""

    def __call__(
        self,
        connection: Connection,
        session_id: str,
        *,
        after: int,
        limit: int,
        until: int,
        types: Sequence[str] = (),
    ) -> Page | None:
        """A page of the events with seq > `after` and <= `until`, only of `types` if given; `seen` is `until`
        when there are no more. None: what comes next is in an archive."""
        ...


class EventDatabase(Database, Protocol):
    """A database that appends in its own way."""

    @property
    def read_page(self) -> ReadPage: ...

    @property
    def page_snapshot(self) -> bool:
        """Whether all statements of `read_page` must see the same moment."""
        ...

    @property
    def newer_schema(self) -> Mapping[str, str]:
        """In what its schema is newer than this version, which works on it: revisions by what it holds."""
        ...

    async def scrub(self) -> None:
        """Leaves no byte of what was removed where that is the engine's own file. Raises
        errors.StorageError."""
        ...

    def append(self, pending: Pending) -> None:
        """Adds an append to the next commit. Raises StorageError when the database is closed."""
        ...

    def on_delivery(self, deliver: Deliver) -> None:
        """`deliver` is called on the event loop with the appends of each commit, and None or an error for
        each."""
        ...


class EventLog:
    """The record of everything that happened. Events are published on `bus` as soon as they are durable,
    before their append is settled, in the same tick of the event loop. `archived` reads what was moved to
    archives."""

    def __init__(self, database: EventDatabase, bus: Bus, archived: ReadArchivedEvents = no_archives) -> None:
        self._database = database
        self._bus = bus
        self._archived = archived
        database.on_delivery(self._deliver)

    def append(self, batch: Append) -> None:
        """As `EventAppender.append`: `batch.settled` is called once it is durable or refused."""
        try:
            self._database.append(Pending.of(batch, self._bus.life(batch.session_id)))
        except StorageError as closed:
            asyncio.get_running_loop().call_soon(batch.settled, closed)

    async def read(
        self, session_id: str, *, after: int, limit: int, until: int | None = None, types: Sequence[str] = ()
    ) -> list[StoredEvent]:
        """Events with seq > `after` (and <= `until`), in order, at most `limit`, only of `types` if given;
        archived ones too. Empty only when there are no more. A page also ends when it is large, after the
        packs, and where a member of an archive does.

        Raises:
            errors.ArchiveDamaged: the archive that holds the next ones is missing or not what was written.
        """
        last = LAST if until is None else until

        def page(connection: Connection) -> Page | ArchiveRow:
            found = self._database.read_page(
                connection, session_id, after=after, limit=limit, until=last, types=types
            )
            if found is not None:
                return found
            archives = archives_after(connection, session_id, after)
            return archives[0] if archives else Page([], last)  # none: the session has been deleted since

        while after < last:
            found = await self._database.read(page, snapshot=self._database.page_snapshot)
            if isinstance(found, Page):
                events, seen = found
            else:
                events = await self._read_archived(found, after=after, limit=limit, until=last, types=types)
                seen = found.to_seq
            if events:
                return events
            after = seen
        return []

    async def note(
        self, session_id: str, operation_id: str, data: EventData, at: int, *, owner: str | None = None
    ) -> OutboxEntry | None:
        """Stores one event that no turn emits. Its turn_id is `operation_id`, or that of the open turn. It is
        in the log when this returns None. While a turn of the session is being written it is in the outbox,
        and returned: that turn's emitter writes it (`Append.entry`), or `deliver` once it ended. Raises
        errors.NotFound (session_not_found), also where the id has come to a session of another than `owner`
        (None: of any owner)."""
        outcome = await self._beside(
            session_id,
            at,
            lambda connection: outbox.append_beside(
                connection, session_id, operation_id, [data], at, owner=owner
            ),
        )
        return outcome.entry

    async def close_waiting(self, turn: TurnRow, data: Sequence[EventData], at: int) -> OutboxEntry | None:
        """Ends a turn that waits as cancelled, with `data` for its events, which are stored as by `note`.
        Raises errors.Conflict (turn_not_waiting)."""
        outcome = await self._beside(
            turn.session_id,
            at,
            lambda connection: outbox.close_waiting(connection, turn.session_id, turn.id, data, at),
        )
        return outcome.entry

    async def rate(self, turn: TurnRow, data: Feedback, at: int) -> OutboxEntry | None:
        """Stores what its owner thinks of a turn that is over, as by `note` but with the turn's id; nothing
        when that is what they thought last. Raises errors.NotFound (session_not_found, turn_not_found)."""
        outcome = await self._beside(
            turn.session_id,
            at,
            lambda connection: rate(connection, turn.session_id, turn.id, data, at, owner=turn.session_owner),
        )
        return outcome.entry

    async def deliver(self, session_id: str, at: int) -> bool:
        """Moves what the outbox has of a session into its log. False, and nothing done, while a turn of the
        session is being written. Raises errors.NotFound (session_not_found)."""
        outcome = await self._beside(
            session_id, at, lambda connection: outbox.deliver(connection, session_id, at)
        )
        return outcome.is_free

    async def outbox_of(self, session_id: str) -> Sequence[OutboxEntry]:
        """The outbox entries of a session, in order."""
        return await self._database.read(
            lambda connection: outbox.entries(connection, session_id), snapshot=False
        )

    async def _beside(
        self, session_id: str, at: int, work: Callable[[Connection], outbox.Outcome]
    ) -> outbox.Outcome:
        outcomes: list[outbox.Outcome] = []
        (made_at, shown), life = self._bus.newest(session_id), self._bus.life(session_id)

        def once(connection: Connection) -> outbox.Outcome:
            stored = _skipped(connection, session_id, shown, made_at, at) if shown else ()
            outcome = work(connection)
            outcomes[:] = [outcome._replace(stored=[*stored, *outcome.stored])]
            return outcomes[0]

        def committed() -> None:
            if outcomes[0].stored and life == self._bus.life(session_id):
                self._bus.publish(session_id, outcomes[0].stored)

        return await self._database.write(once, over=SessionLock(session_id), committed=committed)

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
            session_id = pending.batch.session_id
            # What a session had that is gone must not reach one that has its id now.
            if refusal is None and pending.life == self._bus.life(session_id):
                stored.setdefault(session_id, []).extend(pending.batch.events)
        for session_id, events in stored.items():
            try:
                self._bus.publish(session_id, events)
            except Exception:
                # It is stored: its writers must be notified, and readers find it in the log.
                log.exception("events of session %s were not published", session_id)
        for pending, refusal in zip(appends, refusals, strict=True):
            try:
                pending.batch.settled(refusal)
            except Exception:
                # One turn's fault must not keep the others from their notification.
                log.exception("the writer of turn %s failed to hear of its append", pending.batch.turn_id)


def _skipped(
    connection: Connection, session_id: str, shown: int, made_at: int, at: int
) -> Sequence[StoredEvent]:
    """The warning that numbers are skipped, which were shown and are lost; none if nothing was lost."""
    head = HEAD.one(connection, session_id=session_id)
    if head is None or head[0] >= shown:
        return ()
    if not SKIP_FREE.run(connection, session_id=session_id, skipped=shown, made_at=made_at).rowcount:
        return ()
    outbox.add_lost(connection, session_id, head[0] + 1, shown)
    return outbox.deliver(connection, session_id, at).stored
