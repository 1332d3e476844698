"""The operations of sessions: make one, list them, change, delete; its branches."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

from gateway.auth import Principal
from gateway.cancellation_shield import finish
from gateway.errors import Draining, NotFound, SessionIdTaken
from gateway.history.message_view import messages_of
from gateway.ids import new_session_id, now_ms
from gateway.prompt.text_cleaning import clean
from gateway.service.dependencies import Dependencies
from gateway.service.first_instructions import first_instructions
from gateway.service.follower import Snapshot
from gateway.service.limits import UserLimits
from gateway.service.retention import TenantRetention
from gateway.service.seeding import SeedMessage, seed
from gateway.service.session_access import owner_of, read_only
from gateway.service.session_removal import forget_session_memories, remove_session
from gateway.storage.branches import SessionBranches
from gateway.storage.projects import Standing
from gateway.storage.retention import SessionDays
from gateway.storage.sessions import FoundIn, MatchedText, Order, SessionRow, Sharing, Whose
from gateway.storage.sessions.access import Need
from gateway.storage.turns import TurnRow
from gateway.turn.in_flight import InFlight


class UserSessions:
    """One per process. Checks what the caller may do with a session."""

    def __init__(
        self,
        deps: Dependencies,
        in_flight: InFlight,
        limits: UserLimits,
        retention: TenantRetention,
        stop: Callable[[Sequence[TurnRow]], Awaitable[None]],
    ) -> None:
        """`stop` ends turns of those who may not write any more where they do."""
        self._deps = deps
        self._in_flight = in_flight
        self._stop = stop
        self._limits = limits
        self._retention = retention

    async def create(
        self,
        who: Principal,
        session_id: str | None,
        title: str | None,
        *,
        project_id: str | None = None,
        role_id: str | None = None,
        instructions: str | None = None,
        is_temporary: bool = False,
    ) -> SessionRow:
        """With `instructions` for its turns; None: those of its project. Raises errors.SessionIdTaken: the
        caller has one of that id; errors.SessionsFull."""
        first = await first_instructions(self._deps, who, project_id, instructions)
        async with self._new_id(who, session_id) as new_id:
            return await self._deps.sessions.create(
                new_id,
                who.user_id,
                title,
                now_ms(),
                project_id=project_id,
                role_id=role_id,
                instructions=first,
                is_temporary=is_temporary,
                quota=self._deps.settings.session_quota,
            )

    async def seed(
        self,
        who: Principal,
        session_id: str | None,
        title: str | None,
        messages: Sequence[SeedMessage],
        *,
        project_id: str | None = None,
        role_id: str | None = None,
        instructions: str | None = None,
    ) -> SessionRow:
        """Makes a session that begins with a history which the client brings along: see `seeding.seed`.
        Raises errors.Draining as well."""
        if self._in_flight.draining.is_set():
            raise Draining("The server is shutting down. Make the session again in a moment.")
        first = await first_instructions(self._deps, who, project_id, instructions)
        async with self._new_id(who, session_id) as new_id:
            now = now_ms()
            session = SessionRow(new_id, who.user_id, title, now, now, 0, project_id, role_id)
            # To its end: else it would be unknown whether archives that were written belong to a session.
            return await finish(seed(self._deps, session, messages, first))

    async def id_of(self, who: Principal, name: str) -> str:
        """The id of the session that the caller calls so: see `SessionIds.find`."""
        return await self._deps.session_ids.find(who.user_id, name)

    async def get(self, who: Principal, session_id: str) -> SessionRow:
        """Also one that its owner shares with the caller. Raises errors.NotFound."""
        return await self._deps.sessions.get(session_id, await self._owner(who, session_id))

    async def list(
        self,
        who: Principal,
        *,
        limit: int,
        before: tuple[int, str] | None,
        query: str | None,
        pinned: bool | None = None,
        archived: bool | None = False,
        order: Order = "updated",
        project_id: str | None = None,
        whose: Whose | None = None,
        found_in: FoundIn | None = None,
        used: tuple[int | None, int | None] = (None, None),
    ) -> Sequence[SessionRow]:
        """The caller's, or those that are shared with them, as `Sessions.list` has them."""
        return await self._deps.sessions.list(
            who.user_id,
            limit=limit,
            before=before,
            query=query,
            pinned=pinned,
            archived=archived,
            order=order,
            project_id=project_id,
            whose=whose,
            found_in=found_in,
            used=used,
        )

    async def standing(self, who: Principal, rows: Sequence[SessionRow]) -> Mapping[str, Standing]:
        """What the caller may do with each of these sessions, which they see, and in which project they are
        shared, by session id; without those that are theirs alone."""
        shared = [row for row in rows if row.shared is not None or row.owner != who.user_id]
        if not shared:
            return {}
        projects = {each.project.id: each for each in await self._deps.projects.list(who.user_id)}
        return {row.id: Standing.of(row, who.user_id, projects.get(row.project_id or "")) for row in shared}

    async def size_of_all(self, who: Principal) -> int:
        """The bytes that the caller's sessions count against their quota."""
        return await self._deps.sessions.size_of_all(who.user_id)

    async def where_found(self, query: str, rows: Sequence[SessionRow]) -> Mapping[str, MatchedText]:
        """The newest passage with the words of `query` in each of these sessions, which `list` found by it,
        by session id."""
        found = dict[str, MatchedText]()
        for owner in {row.owner for row in rows}:
            theirs = [row.id for row in rows if row.owner == owner]
            found |= await self._deps.search.where(owner, query, theirs)
        return found

    async def change(
        self,
        who: Principal,
        session_id: str,
        *,
        title: str | None = None,
        pinned: bool | None = None,
        archived: bool | None = None,
        project_id: str | None = None,
        shared: Sharing | None = None,
        retention: SessionDays | None = None,
        instructions: str | None = None,
    ) -> SessionRow:
        """Another title, pinned or archived, in another project ("": in none), shared with its members, with
        other days of its own, with other instructions ("": with none); None: that stays. All of it is
        done, or nothing. An owner of the project may give it another title, and unshare it. Raises
        errors.NotFound, errors.Forbidden, errors.Conflict (retention_fixed), and what `Sessions.change`
        raises."""
        owner = await self._owner(who, session_id, "manage")
        owners_alone = (
            project_id,
            pinned,
            archived,
            retention,
            instructions,
            None if shared == "none" else shared,
        )
        if owner != who.user_id and any(each is not None for each in owners_alone):
            raise read_only()
        if retention is not None:
            await self._retention.check(who, retention)
        changed = await self._deps.sessions.change(
            session_id,
            owner,
            now_ms(),
            title=title,
            pinned=pinned,
            archived=archived,
            project_id=project_id,
            shared=shared,
            retention=retention,
            instructions=clean(instructions) if instructions is not None else None,
        )
        if project_id is not None or shared is not None:
            await self._stop(await self._deps.turns.stopping(session_id))
        return changed

    async def branches(self, who: Principal, session_id: str) -> SessionBranches:
        """Raises errors.NotFound."""
        await self.get(who, session_id)
        return await self._deps.branches.list(session_id)

    async def active_turns(self, who: Principal, session_id: str) -> frozenset[str]:
        """The turns of the branch in which turns go on. Raises errors.NotFound."""
        active = (await self.branches(who, session_id)).active
        return await self._deps.branches.turns(session_id, active)

    async def activate_branch(self, who: Principal, session_id: str, branch: int) -> SessionBranches:
        """Turns go on in that branch. Raises errors.NotFound, errors.TurnInProgress."""
        await self._owner(who, session_id, "write")
        await self._deps.branches.activate(session_id, branch)
        return await self._deps.branches.list(session_id)

    async def delete(self, who: Principal, session_id: str) -> None:
        """Once this returns nothing of the session can be found; the rows of a long one are removed later
        (see `PurgeWorker`). Memories that belong to the session alone are erased after it. If that fails, the
        same call again erases them.

        Raises:
            errors.NotFound, errors.TurnInProgress while a turn is running or waiting, errors.Conflict
            (legal_hold), errors.StorageError.
        """
        await self._limits.settle()
        try:
            owner = await self._owner(who, session_id, "manage")
        except NotFound:
            await forget_session_memories(self._deps, session_id, who.user_id)
            raise
        await remove_session(self._deps, session_id, owner)

    async def snapshot(self, who: Principal, session_id: str) -> Snapshot:
        """Raises errors.NotFound."""
        whole = not self._deps.settings.use_compressions
        owner = await self._owner(who, session_id)
        outline = await self._deps.sessions.outline(session_id, owner, whole=whole)
        head, open_turn = outline.session.head, outline.open_turn
        if open_turn is None:
            return Snapshot(messages_of(self._deps.sessions, outline), None, head)
        before = messages_of(self._deps.sessions, outline, without_turn=open_turn.id)
        return Snapshot(before, open_turn, open_turn.first_seq - 1 if open_turn.first_seq else head)

    @asynccontextmanager
    async def _new_id(self, who: Principal, name: str | None) -> AsyncGenerator[str]:
        """The id of a session that is to be made, of that name if it has one: by it the caller is told that
        it is taken."""
        new_id = new_session_id() if name is None else await self._deps.session_ids.new(who.user_id, name)
        try:
            yield new_id
        except SessionIdTaken:
            raise SessionIdTaken(name or new_id) from None

    async def _owner(self, who: Principal, session_id: str, need: Need = "read") -> str:
        return await owner_of(self._deps.projects, who, session_id, need)
