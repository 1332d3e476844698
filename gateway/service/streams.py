"""The operations of events: follow a session as they become durable, or read a page of them."""

from collections.abc import Sequence
from dataclasses import replace

from gateway.auth import Principal
from gateway.events.envelope import StoredEvent
from gateway.service.dependencies import Dependencies
from gateway.service.follower import Follower, StreamRange, Take, following_from, page_before
from gateway.service.open_access import OpenAccess
from gateway.service.sessions import UserSessions
from gateway.service.turns import UserTurns
from gateway.storage.turns import Accepted
from gateway.turn.in_flight import InFlight


class SessionStreams:
    """One per process: knows who follows a session here."""

    def __init__(
        self,
        deps: Dependencies,
        in_flight: InFlight,
        sessions: UserSessions,
        turns: UserTurns,
        access: OpenAccess,
    ) -> None:
        self._deps = deps
        self._in_flight = in_flight
        self._sessions = sessions
        self._turns = turns
        self._access = access
        self._followers: set[Follower] = set()
        self._closing = False

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
        time. Ends with the range, or at shutdown. Raises errors.StorageError as `Follower.run` does;
        errors.AccessEnded: a guest may not read the session any more."""
        deps = self._deps
        follower = Follower(place, take, bus=deps.bus, events=deps.log, trouble=self._in_flight.storage_error)
        if self._closing:
            follower.close()
        self._followers.add(follower)
        try:
            if place.guest is None:
                await self._run(follower, place)
            else:
                with self._access.guest(place.guest, place.session_id) as guest:
                    await self._access.check_guest(guest)
                    await self._run(follower, place)
        finally:
            self._followers.remove(follower)

    async def _run(self, follower: Follower, place: StreamRange) -> None:
        with self._turns.releases.reading(place):
            await follower.run()

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
