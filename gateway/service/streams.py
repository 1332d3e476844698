"""The operations of events: follow a session as they become durable, or read a page of them."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from gateway.auth import Principal
from gateway.errors import StorageError
from gateway.events.envelope import StoredEvent
from gateway.service.dependencies import Dependencies
from gateway.service.follower import Follower, StreamRange, Take, following_from, page_before
from gateway.service.session_access import may_read
from gateway.service.sessions import UserSessions
from gateway.service.turns import UserTurns
from gateway.storage.turns import Accepted
from gateway.turn.in_flight import InFlight


class SessionStreams:
    """One per process: knows who follows a session here."""

    def __init__(
        self, deps: Dependencies, in_flight: InFlight, sessions: UserSessions, turns: UserTurns
    ) -> None:
        self._deps = deps
        self._in_flight = in_flight
        self._sessions = sessions
        self._turns = turns
        self._followers: set[Follower] = set()
        self._looks: set[asyncio.Task[None]] = set()
        self._closing = False
        deps.signals.on("access", self._look_at_guests)

    async def following(
        self,
        who: Principal,
        session_id: str,
        *,
        after: int = 0,
        turn_id: str | None = None,
        types: frozenset[str] = frozenset(),
        live: bool = True,
        branch: int | None = None,
    ) -> StreamRange:
        """A checked place to follow from; of a `branch` as it is now. Raises errors.NotFound, or
        errors.CursorAhead beyond the last event."""
        # The session first: a turn that begins between the two reads must not have its first events skipped.
        session = await self._sessions.get(who, session_id)
        turn = await self._turns.get(who, session_id, turn_id) if turn_id is not None else None
        place = following_from(session_id, session.head, after, turn, types=types, live=live)
        turns = await self._deps.branches.turns(session_id, branch) if branch is not None else None
        guest = who.user_id if session.owner != who.user_id else None
        return replace(place, made_at=session.created_at, turns=turns, guest=guest)

    def following_turn(
        self, accepted: Accepted, *, after: int = 0, release_after: float | None = None
    ) -> StreamRange:
        """The place from which a turn is followed that was just accepted, or had been before: then a client
        that asks again goes on behind the event `after`. Raises errors.CursorAhead as `following` does."""
        after = after if accepted.repeated else 0
        place = following_from(accepted.turn.session_id, accepted.head, after, accepted.turn)
        guest = accepted.turn.owner if accepted.turn.host is not None else None
        return replace(place, release_after=release_after, made_at=accepted.made_at, guest=guest)

    async def follow(self, place: StreamRange, take: Take) -> None:
        """Hands what comes after the place to `take`, in order, as it becomes durable, several events at a
        time. Ends with the range, at shutdown, or when its reader may not read the session any more. Raises
        errors.StorageError as `Follower.run` does."""
        deps = self._deps
        follower = Follower(place, take, bus=deps.bus, events=deps.log, trouble=self._in_flight.storage_error)
        if self._closing:
            follower.close()
        self._followers.add(follower)
        try:
            if place.guest is not None:
                await self._end_unless_readable(follower, place.guest)
            with self._turns.releases.reading(place):
                await follower.run()
        finally:
            self._followers.remove(follower)

    async def page(self, place: StreamRange, limit: int) -> tuple[Sequence[StoredEvent], int | None]:
        """At most `limit` stored events from the place on (fewer when they are large), and the cursor to go
        on from; None when there are no more."""
        until = place.until
        found = await self._deps.log.read(
            place.session_id, after=place.after, limit=limit, until=until, types=sorted(place.types)
        )
        more = found and found[-1].seq < until
        return place.choose(found), found[-1].seq if more else None

    async def page_before(
        self, place: StreamRange, before: int, limit: int
    ) -> tuple[Sequence[StoredEvent], int | None]:
        """As `follower.page_before`."""
        return await page_before(self._deps.log, place, before, limit)

    def close(self) -> None:
        """Shutdown: every stream ends behind what is published by now."""
        self._closing = True
        for follower in self._followers:
            follower.close()

    def _look_at_guests(self, _: str) -> None:
        """Somebody may do less than before: those who read what is not theirs are looked at again."""
        for follower in self._followers:
            if (guest := follower.place.guest) is not None:
                task = asyncio.create_task(self._end_unless_readable(follower, guest))
                self._looks.add(task)
                task.add_done_callback(self._looks.discard)

    async def _end_unless_readable(self, follower: Follower, guest: str) -> None:
        try:
            is_readable = await may_read(self._deps.projects, guest, follower.place.session_id)
        except StorageError:  # not known: whoever still may follows again
            is_readable = False
        if not is_readable:
            follower.end()
