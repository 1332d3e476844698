"""Cursors, followers of a session, and the data from which a client draws a session."""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.errors import CursorAhead, StorageError
from gateway.events.envelope import StoredEvent
from gateway.ids import OPERATION_PREFIX
from gateway.messages import Message
from gateway.service.eager_task import EagerTask
from gateway.storage.log.bus import Bus
from gateway.storage.log.event_log import EventLog
from gateway.storage.turns import TurnRow

PAGE = 500
"""Events read from the log at a time: what a reader that catches up holds in memory."""
PAGE_SIZE = 4_194_304
"""Bytes from which on a page that is read backwards has fewer events."""
MAX_LOOKED = 20_000
"""Numbers of events among which such a page is looked for."""

Take = Callable[[Sequence[StoredEvent]], Coroutine[Any, Any, None]]
"""What a reader does with the events that come: at least one, in order. It may wait, and is not asked again
meanwhile; it must not ask for the current task before that (see `EagerTask`)."""


@dataclass(frozen=True, slots=True)
class StreamRange:
    """A place to follow a session from. Scoped to `turn`, the stream ends after that turn's `done`; with
    `live` false it ends at `head`, the session's last seq when it began. A reader that leaves before that end
    releases the turn, `release_after` seconds being its grace; None: the turn goes on. `made_at`: when the
    session was made. With `turns` only theirs, and what happened beside turns. `guest` is the reader
    where the session is not their own."""

    session_id: str
    head: int
    after: int
    turn: TurnRow | None = None
    types: frozenset[str] = frozenset()
    live: bool = True
    release_after: float | None = None
    made_at: int = 0
    turns: frozenset[str] | None = None
    guest: str | None = None

    @property
    def until(self) -> int:
        """The last event that a page may have."""
        turn = self.turn
        return turn.last_seq if turn is not None and turn.status == "done" else self.head

    @property
    def exhausted(self) -> bool:
        """Whether nothing will ever come: the turn is over and the cursor is at its end."""
        turn = self.turn
        return turn is not None and turn.status == "done" and 0 < turn.last_seq <= self.after

    def choose(self, events: Sequence[StoredEvent]) -> Sequence[StoredEvent]:
        """Those of `events` that this follower wants."""
        if self.turn is not None:
            turn_id = self.turn.id
            events = [event for event in events if event.turn_id == turn_id]
        if (turns := self.turns) is not None:
            events = [e for e in events if e.turn_id in turns or e.turn_id.startswith(OPERATION_PREFIX)]
        if self.types:
            events = [event for event in events if event.type in self.types]
        return events


async def page_before(
    log: EventLog, place: StreamRange, before: int, limit: int
) -> tuple[Sequence[StoredEvent], int | None]:
    """At most `limit` events of the place before that seq, the newest of them, in order, and the seq before
    which the others are; None when there are no more. Fewer when they are large, or when much has to be
    looked through to find them, maybe none."""
    end, span, looked = min(before - 1, place.until), limit, 0
    kept: deque[StoredEvent] = deque()
    while end > place.after and looked < MAX_LOOKED:
        begin = max(place.after, end - span)
        newest, size, is_cut = await _newest(log, place, begin, end, limit - len(kept))
        kept.extendleft(reversed(newest))
        if is_cut or len(kept) == limit or size > PAGE_SIZE:
            return list(kept), kept[0].seq if kept[0].seq > place.after + 1 else None
        looked += end - begin
        end, span = begin, span * 2
    return list(kept), end + 1 if end > place.after else None


async def _newest(
    log: EventLog, place: StreamRange, after: int, until: int, limit: int
) -> tuple[Sequence[StoredEvent], int, bool]:
    """The newest of a stretch: their bytes, and whether there are more."""
    newest: deque[StoredEvent] = deque()
    size, is_cut, types = 0, False, sorted(place.types)
    while after < until:
        found = await log.read(place.session_id, after=after, limit=PAGE, until=until, types=types)
        if not found:
            break
        after = found[-1].seq
        for event in place.choose(found):
            newest.append(event)
            size += len(event.body)
            while len(newest) > limit or (size > PAGE_SIZE and len(newest) > 1):
                size -= len(newest.popleft().body)
                is_cut = True
    return newest, size, is_cut


def following_from(
    session_id: str,
    head: int,
    after: int,
    turn: TurnRow | None = None,
    *,
    types: frozenset[str] = frozenset(),
    live: bool = True,
) -> StreamRange:
    """The place behind the event `after` of a session whose last event is `head`; of a `turn` not before its
    first event. Raises errors.CursorAhead when there is no such event yet."""
    if after > head:
        raise CursorAhead(
            f"The cursor {after} is beyond the session's last event {head}.", details={"head": head}
        )
    if turn is not None:
        after = max(after, turn.first_seq - 1 if turn.first_seq else head)
    return StreamRange(session_id, head, after, turn, types, live)


class Follower:
    """Hands what comes after a place to one reader, in order, as it becomes durable.

    The reader pulls: a writer never waits for it. While it waits at the end of the log, what is
    published is handed on by the publication itself, without a task switch; where `take` has to wait for its
    client, the reader's task goes on with it, and looks itself for what has come meanwhile.
    """

    def __init__(
        self,
        place: StreamRange,
        take: Take,
        *,
        bus: Bus,
        events: EventLog,
        trouble: Callable[[str], StorageError | None],
    ) -> None:
        """`trouble` returns why a session's open turn cannot be recorded now, or None."""
        self._place = place
        self._take = take
        self._bus = bus
        self._events = events
        self._trouble = trouble
        self._cursor = place.after
        self._is_closing = False
        self._waiting: asyncio.Future[None] | None = None
        self._begun: EagerTask[bool] | None = None

    async def run(self) -> None:
        """Returns where the place ends, or after `close`. Raises errors.StorageError: the open turn cannot
        be recorded now; following again later resumes."""
        place = self._place
        until, turn = place.head if not place.live else None, place.turn
        if turn is not None and turn.status == "done" and turn.last_seq:
            until = turn.last_seq
        with self._bus.subscribe(place.session_id, self._on_events, place.made_at) as live:
            while (until is None or self._cursor < until) and not live.gone:
                found = live.since(self._cursor)
                if found is None:
                    found = await self._events.read(
                        place.session_id, after=self._cursor, limit=PAGE, until=until
                    )
                    if live.gone:
                        return
                    if not found:
                        continue  # what was published while the log was read is known to `since` alone
                elif until is not None:
                    found = [event for event in found if event.seq <= until]
                if found:
                    if await self._hand_on(found):
                        return
                    continue
                if self._is_closing or until is not None:
                    return
                if (trouble := self._trouble(place.session_id)) is not None:
                    raise trouble
                if await self._wait():
                    return

    def close(self) -> None:
        """Ends it behind what is published by now."""
        self._is_closing = True
        self._wake()

    async def _hand_on(self, events: Sequence[StoredEvent]) -> bool:
        """Whether the turn that is followed has ended with `events`, which come next."""
        place = self._place
        self._cursor = events[-1].seq
        if chosen := place.choose(events):
            await self._take(chosen)
        if (turn := place.turn) is not None:
            for event in events:
                if event.type == "done" and event.turn_id == turn.id:
                    return True
        return False

    async def _wait(self) -> bool:
        """Until there is something to do for the task; whether that was the end."""
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            await self._waiting
            begun, self._begun = self._begun, None
            return begun is not None and await begun
        finally:
            self._waiting = None
            if self._begun is not None:
                self._begun.close()

    def _on_events(self, events: Sequence[StoredEvent]) -> None:
        waiting = self._waiting
        if waiting is None or waiting.done():
            return  # the task looks itself
        if events and events[0].seq == self._cursor + 1:
            begun = EagerTask(self._hand_on(events))
            if begun.result is False:
                return
            self._begun = begun
        self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a client needs to draw a session and then follow it from `as_of_seq` without gap or repetition:
    the events of the open turn, if there is one, all come after it. The messages come a few at a time, as
    they are read: see `messages_of`."""

    messages: AsyncGenerator[Sequence[Message]]
    open_turn: TurnRow | None
    as_of_seq: int
