"""The operations of what has happened: replay a session at the pace it had, read it turn by turn."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any

from gateway.auth import Principal
from gateway.errors import CursorAhead, InvalidRequest, NotFound
from gateway.history.replay import replay
from gateway.service.dependencies import Dependencies
from gateway.service.follower import Take
from gateway.service.open_access import OpenAccess
from gateway.service.sessions import UserSessions
from gateway.storage.sessions import SessionRow
from gateway.turn.in_flight import InFlight


@dataclass(frozen=True, slots=True)
class Replaying:
    """A checked range to replay: events with seq > `after` and <= `until`, with `turns` only theirs. `speed`
    1 is as it was, None as fast as it is read; no pause is longer than `max_pause` seconds. `guest` is the
    reader where the session is not their own."""

    session_id: str
    after: int
    until: int
    speed: float | None
    max_pause: float
    turns: frozenset[str] | None = None
    guest: str | None = None

    @property
    def exhausted(self) -> bool:
        """Whether nothing will come."""
        return self.after >= self.until


class SessionReplays:
    """One per process."""

    def __init__(
        self, deps: Dependencies, in_flight: InFlight, sessions: UserSessions, access: OpenAccess
    ) -> None:
        self._deps = deps
        self._access = access
        self._sessions = sessions
        self._draining = in_flight.draining

    async def replaying(
        self,
        who: Principal,
        session_id: str,
        *,
        speed: float | None,
        max_pause: float,
        first: int = 1,
        last: int | None = None,
        cursor: int = 0,
        branch: int | None = None,
    ) -> Replaying:
        """A checked range: the events `first` to `last`, by default all there are now, of which a reader that
        comes back has seen those up to `cursor`. Of a `branch` those of its turns.

        Raises:
            errors.NotFound: also of the branch (branch_not_found).
            errors.CursorAhead: the range or the cursor is beyond the last event.
            errors.InvalidRequest: the range ends before it begins.
        """
        session = await self._sessions.get(who, session_id)
        if last is not None and first > last:
            raise InvalidRequest(f"The range from {first} to {last} ends before it begins.")
        if max(first if first > 1 else 0, last or 0, cursor) > session.head:
            raise CursorAhead(
                f"The range goes beyond the session's last event {session.head}.",
                details={"head": session.head},
            )
        until = session.head if last is None else last
        turns = await self._deps.branches.turns(session.id, branch) if branch is not None else None
        guest = who.user_id if session.owner != who.user_id else None
        return Replaying(session.id, max(first - 1, cursor), until, speed, max_pause, turns, guest)

    async def replay(self, place: Replaying, take: Take) -> None:
        """Hands the events of the range to `take` when they are due; ends early at shutdown, when the session
        is deleted. Raises errors.StorageError, errors.ArchiveDamaged; errors.AccessEnded: a guest may not
        read it any more."""
        if place.guest is None:
            await self._replay(place, take)
            return
        with self._access.guest(place.guest, place.session_id) as guest:
            await self._access.check_guest(guest)
            await self._replay(place, take)

    async def _replay(self, place: Replaying, take: Take) -> None:
        with self._deps.bus.subscribe(place.session_id) as live:
            found = replay(
                self._deps.log,
                place.session_id,
                after=place.after,
                until=place.until,
                speed=place.speed,
                max_pause=place.max_pause,
                stop=self._draining,
                turns=place.turns,
            )
            async with aclosing(found):
                async for events in found:
                    if live.gone:
                        return
                    await take(events)

    async def shared_turns(
        self, who: Principal, session_id: str, *, until: int | None = None, branch: int | None = None
    ) -> tuple[SessionRow, AsyncGenerator[tuple[str, list[dict[str, Any]]]]]:
        """A session, and the turns of its active branch, each with its events: those that are over in the
        order of their ends, then what there is of one that runs. Raises errors.NotFound; while the turns are
        read also errors.StorageError, errors.ArchiveDamaged. `until` is the seq of the last event, None: of
        the last that there is; `branch` another one than the active."""
        session = await self._sessions.get(who, session_id)
        chosen = session.active_branch if branch is None else branch
        turns = await self._deps.branches.turns(session.id, chosen)
        return session, self._turns(session, turns, session.head if until is None else until)

    async def _turns(
        self, session: SessionRow, turns: frozenset[str], until: int
    ) -> AsyncGenerator[tuple[str, list[dict[str, Any]]]]:
        begun: dict[str, list[dict[str, Any]]] = {}
        with self._deps.bus.subscribe(session.id) as live:
            found = replay(self._deps.log, session.id, after=0, until=until, speed=None, turns=turns)
            async with aclosing(found):
                async for events in found:
                    if live.gone:
                        raise NotFound(f"Session {session.id} was deleted.", code="session_not_found")
                    for event in events:
                        if event.turn_id not in turns or event.type == "feedback":
                            continue
                        begun.setdefault(event.turn_id, []).append(event.load())
                        if event.type == "done":
                            yield event.turn_id, begun.pop(event.turn_id)
        for each in begun.items():
            yield each
