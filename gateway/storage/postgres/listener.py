"""Follows what other processes commit to the same log, for the readers of this one.

    commit here  -> bus.publish -> observer -> Notifier ~~~ NOTIFY ~~~> Ear -> announced heads
                                                                                    | one at a time
    readers <- bus.hear <- one query for the new events of all sessions followed <--'

Most sessions are followed where they are written, if at all, and each notification wakes every process. So
each process announces which sessions it follows that others may write: when the first reader comes, and again
with each PING; an announcement holds for FOLLOWED. Commits from before the others knew of a reader are
announced once they do.

Notifications may be lost, with a connection or with the process that would have sent them: each POLL the
heads of all sessions that are followed are compared. A notification to itself, each PING, shows that the
connection receives them: behind a pooler that hands connections on after each transaction, LISTEN is accepted
and nothing ever comes.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextvars import Context
from functools import partial
from itertools import groupby
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Connection

from gateway.cancellation_shield import finish
from gateway.errors import StorageError
from gateway.events.envelope import StoredEvent
from gateway.storage.log.bus import Bus
from gateway.storage.postgres.connections import ServerAddress, raw_of
from gateway.storage.postgres.failures import storage_error
from gateway.storage.postgres.notify_channels import LOG, Ear, Notifier
from gateway.storage.postgres.pooler_check import POOLED, refuse_pooler
from gateway.storage.postgres.postgres_database import PostgresDatabase
from gateway.storage.replica_signals import Signal

PAGE = 500
"""Events of a session that are read at a time."""
POLL = 1.0
"""Seconds between two looks for commits without a notification."""
PING = 5.0
"""Seconds between two notifications to itself; one that has not arrived before the next is due shows that the
connection receives nothing."""
FOLLOWED = 3 * PING
"""Seconds for which a session counts as followed elsewhere."""
UNSURE = 2 * PING
"""Seconds after it began to listen for which a process announces all commits: by then the others have
announced again what they follow."""
SOON = 0.01
"""Seconds until a new reader is announced, if it is still there: many leave with the end of the turn that was
written here."""
PAUSE = 1.0
"""Seconds before another attempt at what failed."""

NEWER = """
    SELECT event.session_id, event.seq, event.type, event.turn_id, event.body
    FROM unnest(%s::text[], %s::bigint[]) AS seen (session_id, seq) JOIN LATERAL (
        SELECT * FROM loose_events
        WHERE loose_events.session_id = seen.session_id AND loose_events.seq > seen.seq
        ORDER BY loose_events.seq LIMIT %s
    ) AS event ON true
    ORDER BY event.session_id, event.seq
"""
HEADS = """
    SELECT sessions.id, heads.head, sessions.created_at
    FROM heads JOIN sessions ON sessions.id = heads.session_id
    WHERE heads.session_id = ANY(%s::text[])
"""

log = logging.getLogger(__name__)


class Listener:
    """One per process. Use it as an async context manager. `direct` is where the server itself is reached."""

    def __init__(self, database: PostgresDatabase, bus: Bus, direct: ServerAddress) -> None:
        self.latency: float | None = None
        """Seconds that the last notification to itself took; None while it receives nothing."""
        self._database = database
        self._bus = bus
        self._direct = direct
        self._loop = asyncio.get_running_loop()
        self._notifier = Notifier(direct, database.replica)
        self._ear: Ear | None = None
        self._pooled: StorageError | None = None
        self._deaf = asyncio.Event()
        self._announced: dict[str, int] = {}
        self._made: dict[str, int] = {}
        self._is_announced = asyncio.Event()
        self._pinged: float | None = None
        self._ping_due = self._listens_since = self._received_at = 0.0
        self._elsewhere: dict[str, float] = {}
        self._unsure_until = 0.0
        self._begun: set[str] = set()
        self._tasks: list[asyncio.Task[None]] = []
        self._wanted = set[str]()
        bus.watch(self._published)
        database.signals.on("gone", self._wanted.discard)
        database.signals.has_received_since = self.has_received_since
        bus.on_followed(self._begin)

    @property
    def is_listening(self) -> bool:
        """Whether it receives what other processes send, as far as is known."""
        return self._ear is not None

    def has_received_since(self, since: float) -> bool:
        """Whether it has listened since then on one connection and has received its own notifications. Else a
        silence of the others means nothing."""
        return self._ear is not None and self._listens_since <= since <= self._received_at

    @property
    def followed_elsewhere(self) -> set[str]:
        """The sessions whose commits are announced to other processes."""
        return set(self._elsewhere)

    async def __aenter__(self) -> Self:
        """Raises errors.StorageError: the server is not reached at the direct address."""
        await self._listen()
        for work in (self._stay, self._read, self._poll):
            self._tasks.append(asyncio.create_task(_again_and_again(work)))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._ear is not None:
            self._ear.close()
        await self._notifier.close()

    def _published(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        if (
            session_id in self._elsewhere
            or self._ear is None  # what others follow now is unknown
            or self._loop.time() < self._unsure_until
        ):
            self._notifier.publish_head(session_id, events[-1].seq)

    # What is followed, here and elsewhere

    def _begin(self, session_id: str) -> None:
        if not self._begun:
            self._loop.call_later(SOON, self._ask, context=Context())
        self._begun.add(session_id)

    def _ask(self) -> None:
        begun, self._begun = self._begun, set()
        if begun := begun.intersection(self._bus.followed):
            self._notifier.ping(begun)

    def _asked(self, session_ids: Sequence[str]) -> None:
        """Others follow these. Whether their readers have what is known here, they see for themselves."""
        until = self._loop.time() + FOLLOWED
        for session_id in session_ids:
            if session_id not in self._elsewhere and (head := self._bus.shown(session_id)):
                self._notifier.publish_head(session_id, head)
            self._elsewhere[session_id] = until

    # Hearing

    async def _listen(self) -> None:
        await finish(self._connect())  # so that no connection is left behind unknown

    async def check(self) -> None:
        """Raises errors.StorageError: what answers at the direct address has become a pooler, through which
        nothing is heard and no lock lasts."""
        if self._pooled is not None:
            raise storage_error(self._pooled)

    async def _connect(self) -> None:
        try:
            await asyncio.to_thread(refuse_pooler, self._direct)
        except StorageError as error:
            self._pooled = error if error.code == POOLED else None
            raise
        self._pooled = None
        self._ear = await Ear.open(self._direct, self._receive, self._lost)
        self._deaf.clear()
        self._listens_since = self._loop.time()
        self._unsure_until = self._listens_since + UNSURE
        self._ping()

    def _lost(self) -> None:
        self._ear = self.latency = None
        self._deaf.set()

    async def _stay(self) -> None:
        """Until the connection is lost; then there is another one."""
        await self._deaf.wait()
        if self._ear is not None:
            self._ear.close()
            self._lost()
        await self._listen()
        await self.look()  # notifications of the meantime were missed

    def _receive(self, channel: str, content: Any) -> None:
        sender, *rest = content
        if sender == self._database.replica:
            self._received_at = self._loop.time()
            if channel == LOG and self._pinged is not None:
                self.latency, self._pinged = self._loop.time() - self._pinged, None
            return
        if channel == LOG:
            heads, followed = rest
            self._note_heads({session_id: int(head) for session_id, head in heads.items()})
            self._asked(followed)
            return
        signal = Signal(*rest)
        if signal.kind == "gone":
            self._announced.pop(signal.subject, None)
        if signal.to in (None, self._database.replica):
            self._database.signals.hear([signal])

    def _ping(self) -> None:
        self._pinged = now = self._loop.time()
        self._ping_due = now + PING
        self._elsewhere = {each: until for each, until in self._elsewhere.items() if until > now}
        self._notifier.ping(self._bus.followed)

    # Reading

    def _note_heads(self, heads: Mapping[str, int]) -> None:
        if heads:
            self._announced.update(heads)
            self._is_announced.set()

    async def _read(self) -> None:
        """Reads the announced events for all readers at once; announcements that arrive meanwhile are read
        together next."""
        await self._is_announced.wait()
        self._is_announced.clear()
        announced, self._announced = self._announced, {}
        missing = self._bus.missing(announced)
        self._wanted.clear()
        while missing:
            self._wanted.update(missing)
            page = await self._database.read(partial(newer, after=missing), snapshot=False)
            missing = {}
            for session_id, events in page.items():
                if session_id not in self._wanted:  # it is gone, and who follows its id another one
                    continue
                self._bus.hear(session_id, events)
                if len(events) == PAGE:
                    missing[session_id] = events[-1].seq

    # Commits without a notification

    async def _poll(self) -> None:
        await asyncio.sleep(POLL)
        if self._loop.time() >= self._ping_due:
            if self._pinged is not None and self._ear is not None:
                log.warning("nothing is heard of other processes: the connection is made anew")
                self._deaf.set()
            self._ping()
        await self.look()

    async def look(self) -> None:
        """Compares the heads of all sessions that are followed. One that was made since the last look is
        another one under the same id. Raises errors.StorageError."""
        followed, made = self._bus.followed, self._made
        heads: dict[str, int] = {}
        self._made = {}
        if followed:
            found = await self._database.read(partial(heads_of, session_ids=followed), snapshot=False)
            for session_id, head, made_at in found:
                if made.get(session_id, made_at) == made_at:
                    heads[session_id], self._made[session_id] = head, made_at
            for session_id in set(followed) - heads.keys():
                self._bus.forget(session_id)
        self._note_heads(heads)


def newer(connection: Connection, after: Mapping[str, int]) -> dict[str, list[StoredEvent]]:
    """By session, its events behind the one it has in `after`, at most PAGE."""
    values = [list(after), list(after.values()), PAGE]
    with raw_of(connection).cursor(binary=True) as cursor:
        rows = cursor.execute(NEWER, values).fetchall()
    return {
        session_id: [StoredEvent(seq, name, turn_id, body) for _, seq, name, turn_id, body in found]
        for session_id, found in groupby(rows, key=lambda row: row[0])
    }


def heads_of(connection: Connection, session_ids: Sequence[str]) -> list[tuple[str, int, int]]:
    """The sessions that are there, with their heads and when they were made."""
    return raw_of(connection).execute(HEADS, [list(session_ids)]).fetchall()


async def _again_and_again(work: Callable[[], Awaitable[None]]) -> None:
    is_failing = False
    while True:
        try:
            await work()
            is_failing = False
        except StorageError as error:
            if not is_failing:
                log.warning("other processes are not followed now: %s", error)
            is_failing = True
            await asyncio.sleep(PAUSE)
        except Exception:
            # Readers wait for it: after any error the next round may succeed.
            log.exception("other processes are not followed now")
            await asyncio.sleep(PAUSE)
