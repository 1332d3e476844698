"""The operations that all entry points call. They check what the caller may do with a session, and nothing
here knows HTTP."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from gateway.artifacts.attached_files import Upload
from gateway.auth import Principal
from gateway.cancellation_shield import finish
from gateway.errors import Draining, LimitReached, NotFound, SessionIdTaken, StorageError, TurnInProgress
from gateway.events.envelope import StoredEvent
from gateway.events.session_changes import Feedback, Rating
from gateway.history.message_view import messages_of
from gateway.ids import new_session_id, now_ms
from gateway.messages import Attached, ToolSpec, clean_text
from gateway.service.abandoned_turns import Releases
from gateway.service.acceptance import accept_with, new_turn
from gateway.service.approvals import TurnApprovals
from gateway.service.archiver import Archiver
from gateway.service.artifacts import UserArtifacts
from gateway.service.audit import UserAudit
from gateway.service.client_tools import ClientResults, client_tools
from gateway.service.dependencies import Dependencies
from gateway.service.documents import DocumentedMemories
from gateway.service.follower import (
    Follower,
    Snapshot,
    StreamRange,
    Take,
    following_from,
    page_before,
)
from gateway.service.history import SessionHistory
from gateway.service.holds import UserHolds
from gateway.service.keys import ApiKeys
from gateway.service.limits import UserLimits, show
from gateway.service.memory import UserMemories
from gateway.service.projects import UserProjects
from gateway.service.prompts import Prompts
from gateway.service.provider_keys import UserProviderKeys
from gateway.service.replay_export_import import SessionRecords
from gateway.service.retention import TenantRetention
from gateway.service.schedules import UserSchedules
from gateway.service.secrets import SecretRotation
from gateway.service.seeding import SeedMessage, seed
from gateway.service.sent_prompts import SentPrompts
from gateway.service.session_access import may_read, owner_of, read_only
from gateway.service.session_removal import forget_session_memories, remove_session
from gateway.service.skills import SkillsOffered
from gateway.service.webhooks import UserWebhooks
from gateway.storage.branches import SessionBranches
from gateway.storage.limits import Standing
from gateway.storage.projects import Need, Sharing
from gateway.storage.retention import SessionDays
from gateway.storage.sessions import MatchedText, Order, SessionRow
from gateway.storage.turns import Accepted, ModelUsage, NewTurn, OnConflict, TurnRow, TurnState
from gateway.turn.in_flight import InFlight
from gateway.turn.ownership import Ownership
from gateway.turn.request import TurnRequest


class Gateway:
    """One per process; all entry points share it."""

    def __init__(
        self,
        deps: Dependencies,
        in_flight: InFlight,
        ownership: Ownership,
        archiver: Archiver,
        *,
        memory: UserMemories,
        documents: DocumentedMemories,
        artifacts: UserArtifacts,
        schedules: UserSchedules,
        webhooks: UserWebhooks,
        audit: UserAudit,
        keys: ApiKeys,
        projects: UserProjects,
        holds: UserHolds,
        retention: TenantRetention,
        limits: UserLimits,
        provider_keys: UserProviderKeys,
        secrets: SecretRotation,
    ) -> None:
        self._deps = deps
        self._in_flight = in_flight
        self.ownership = ownership
        self.history = SessionHistory(deps, in_flight)
        self.approvals = TurnApprovals(deps, in_flight)
        self.client_results = ClientResults(deps, in_flight)
        self.skills = SkillsOffered(deps)
        self.prompts = Prompts(deps)
        self.sent_prompts = SentPrompts(deps)
        self.memory = memory
        self.documents = documents
        self.artifacts = artifacts
        self.schedules = schedules
        self.webhooks = webhooks
        self.audit = audit
        self.keys = keys
        self.projects = projects
        self.holds = holds
        self.retention = retention
        self.limits = limits
        self.provider_keys = provider_keys
        self.secrets = secrets
        schedules.destinations["webhook"] = webhooks.destination
        projects.stop = self.stop
        self.records = SessionRecords(deps, in_flight, archiver)
        self.releases = Releases(deps.turns, deps.signals, self._cancel, shared=deps.settings.is_shared)
        self._followers: set[Follower] = set()
        self._looks: set[asyncio.Task[None]] = set()
        deps.signals.on("access", self._look_at_guests)
        self._closing = False

    @property
    def is_draining(self) -> bool:
        return self._in_flight.draining.is_set()

    @property
    def queued(self) -> int:
        """Accepted turns that wait for those before them, as of the last look."""
        return self.ownership.queued

    # Sessions

    async def create_session(
        self,
        who: Principal,
        session_id: str | None,
        title: str | None,
        *,
        project_id: str | None = None,
        role_id: str | None = None,
    ) -> SessionRow:
        """Raises errors.SessionIdTaken: the caller has one of that id."""
        new_id = await self._new_id(who, session_id)
        try:
            return await self._deps.sessions.create(
                new_id, who.user_id, title, now_ms(), project_id=project_id, role_id=role_id
            )
        except SessionIdTaken:
            raise SessionIdTaken(session_id or new_id) from None

    async def seed(
        self,
        who: Principal,
        session_id: str | None,
        title: str | None,
        messages: Sequence[SeedMessage],
        *,
        project_id: str | None = None,
        role_id: str | None = None,
    ) -> SessionRow:
        """Makes a session that begins with a history which the client brings along: see `seeding.seed`.
        Raises errors.Draining as well."""
        if self.is_draining:
            raise Draining("The server is shutting down. Make the session again in a moment.")
        now, new_id = now_ms(), await self._new_id(who, session_id)
        session = SessionRow(new_id, who.user_id, title, now, now, 0, project_id, role_id)
        try:
            # To its end: else it would be unknown whether archives that were written belong to a session.
            return await finish(seed(self._deps, session, messages))
        except SessionIdTaken:
            raise SessionIdTaken(session_id or new_id) from None

    async def session_id(self, who: Principal, name: str) -> str:
        """The id of the session that the caller calls so: see `SessionIds.find`."""
        return await self._deps.session_ids.find(who.user_id, name)

    async def session(self, who: Principal, session_id: str) -> SessionRow:
        """Also one that its owner shares with the caller. Raises errors.NotFound."""
        return await self._deps.sessions.get(session_id, await self._owner(who, session_id))

    async def sessions(
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
    ) -> Sequence[SessionRow]:
        """The caller's, as `Sessions.list` has them; of a project also those that are shared with them."""
        return await self._deps.sessions.list(
            who.user_id,
            limit=limit,
            before=before,
            query=query,
            pinned=pinned,
            archived=archived,
            order=order,
            project_id=project_id,
        )

    async def where_found(
        self, who: Principal, query: str, session_ids: Sequence[str]
    ) -> Mapping[str, MatchedText]:
        """The newest passage with the words of `query` in each of these sessions of the principal, by session
        id."""
        return await self._deps.search.where(who.user_id, query, session_ids)

    async def change_session(
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
    ) -> SessionRow:
        """Another title, pinned or archived, in another project, shared with its members, with other days of
        its own; None: that stays. All of it is done, or nothing. An owner of the project may give it another
        title, and unshare it. Raises errors.NotFound, errors.Forbidden, errors.Conflict (retention_fixed),
        and what `Sessions.change` raises."""
        owner = await self._owner(who, session_id, "manage")
        owners_alone = project_id, pinned, archived, retention, None if shared == "none" else shared
        if owner != who.user_id and any(each is not None for each in owners_alone):
            raise read_only()
        if retention is not None:
            await self.retention.check(who, retention)
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
        )
        if project_id is not None or shared is not None:
            await self.stop(await self._deps.turns.stopping(session_id))
        return changed

    async def branches(self, who: Principal, session_id: str) -> SessionBranches:
        """Raises errors.NotFound."""
        await self.session(who, session_id)
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

    async def delete_session(self, who: Principal, session_id: str) -> None:
        """Once this returns nothing of the session can be found; the rows of a long one are removed later
        (see `PurgeWorker`). Memories that belong to the session alone are erased after it. If that fails, the
        same call again erases them.

        Raises:
            errors.NotFound, errors.TurnInProgress while a turn is running or waiting, errors.Conflict
            (legal_hold), errors.StorageError.
        """
        await self.limits.settle()
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

    # Turns

    async def start(self, who: Principal, request: TurnRequest) -> Accepted:
        """Accepts a turn and starts it; once accepted it runs to its `done` whether anybody listens or not.

        Raises:
            errors.Draining, errors.QueueFull, errors.InvalidRequest (model, instructions, tools,
            price_unknown), and what `Attachments.attach` and `Turns.accept` raise.
        """
        return await self._start(who, request)

    async def regenerate(
        self,
        who: Principal,
        session_id: str,
        turn_id: str,
        *,
        client_message_id: str | None = None,
        on_conflict: OnConflict = "reject",
        model: str | None = None,
    ) -> Accepted:
        """Asks the message of a turn anew, with its files and its client's instructions, and with its tools
        where they are the caller's, where it was asked: in a branch of its own. `model` None takes the
        turn's, as long as it may be used.

        Raises:
            errors.NotFound, errors.Conflict (no_branch_point): as `Branches.parent`; and what `start` raises.
        """
        turn = await self.turn(who, session_id, turn_id, "write")
        if model is None and turn.model in self._deps.settings.models:
            model = turn.model
        request = TurnRequest(
            turn.input,
            session_id,
            client_message_id=client_message_id,
            on_conflict=on_conflict,
            model=model,
            parent_turn_id=await self._deps.branches.parent(session_id, turn_id),
            instructions=await self._instructions_of(turn),
        )
        tools: Sequence[ToolSpec] = ()
        if turn.client_tools is not None and turn.owner == who.user_id:
            tools = await self._deps.turns.client_tools(session_id, turn.client_tools)
        return await self._start(who, request, turn.attachments, tools)

    async def _instructions_of(self, turn: TurnRow) -> str:
        sessions, digest = self._deps.sessions, turn.instructions
        return await sessions.instructions(turn.session_id, digest) or "" if digest is not None else ""

    async def turn(
        self, who: Principal, session_id: str | None, turn_id: str, need: Need = "read"
    ) -> TurnRow:
        """A turn in that session, with which the caller may do what they `need`, or (None) in any of their
        own, or one that they sent elsewhere. Raises errors.NotFound, errors.Forbidden."""
        if session_id is None:
            turn = await self._deps.turns.get(None, turn_id, who.user_id)
            if turn.session_owner != who.user_id:
                await self._owner(who, turn.session_id, need)
            return turn
        return await self._deps.turns.get(session_id, turn_id, await self._owner(who, session_id, need))

    async def turns(
        self, who: Principal, state: TurnState | None, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[TurnRow]:
        """The caller's turns of all sessions, as `Turns.of_owner` lists them."""
        return await self._deps.turns.of_owner(who.user_id, state, limit=limit, before=before)

    async def usage(self, who: Principal, since: int) -> Sequence[ModelUsage]:
        """What the principal's turns used that were accepted since that time and are over, by model."""
        return await self._deps.turns.usage(who.user_id, since)

    async def standings(self, who: Principal) -> Sequence[Standing]:
        """How the limits stand that hold for them. Raises errors.StorageError."""
        return await self.limits.standings(who)

    async def asked_after(self, who: Principal, session_id: str, turn_id: str) -> str:
        """What another turn has to come after, to be asked instead of that one. Raises as `regenerate`."""
        await self.turn(who, session_id, turn_id, "write")
        return await self._deps.branches.parent(session_id, turn_id)

    async def sent(self, who: Principal, session_id: str, client_message_id: str) -> TurnRow | None:
        """The turn that this message of the caller's started; None where there is none."""
        return await self._deps.turns.sent(session_id, client_message_id, who.user_id)

    async def marked(self, who: Principal, mark: str) -> Sequence[TurnRow]:
        """The caller's turns with that mark, the newest first, at most some: as a client that sends its whole
        history each time finds its place."""
        return await self._deps.turns.marked(who.user_id, mark)

    async def cancel(self, who: Principal, session_id: str | None, turn_id: str) -> TurnRow:
        """Asks a turn to stop; a turn that is over stays as it is. Raises errors.NotFound,
        errors.Forbidden."""
        turn = await self.turn(who, session_id, turn_id, "write")
        if turn.status == "done":
            return turn
        # A client that leaves now must not leave a turn without an owner.
        await finish(self._cancel(turn))
        return await self.turn(who, session_id, turn_id)

    async def stop(self, turns: Sequence[TurnRow]) -> None:
        """Takes up turns that were asked to stop, as their senders may not write any more where they do."""
        for turn in turns:
            await finish(self._cancel(turn))

    async def release(self, who: Principal, session_id: str | None, turn_id: str, grace: float) -> TurnRow:
        """Asks a turn to stop when it gets no reader within `grace` seconds: for clients whose Stop is only a
        closed connection. A turn with a reader stays as it is, and so does one that waits for a person or a
        client. Raises errors.NotFound, errors.Forbidden."""
        turn = await self.turn(who, session_id, turn_id, "write")
        if turn.status != "done":
            self.releases.release(turn, grace)
        return turn

    async def rate(
        self,
        who: Principal,
        session_id: str,
        turn_id: str,
        rating: Rating,
        *,
        reason: str | None = None,
        of: Literal["turn", "message"] = "turn",
    ) -> TurnRow:
        """Records what the caller thinks of a turn that is over, in place of what they thought before. Raises
        errors.NotFound, errors.TurnInProgress: it is not over."""
        turn = await self.turn(who, session_id, turn_id, "write")
        if turn.status != "done":
            details = {"turn_id": turn_id, "seq": turn.last_seq}
            raise TurnInProgress(f"Turn {turn_id} is not over yet.", details=details)
        reason = clean_text(reason) if reason is not None else None
        await finish(self._deps.log.rate(turn, Feedback(rating=rating, reason=reason, of=of), now_ms()))
        return await self.turn(who, session_id, turn_id)

    async def open_turn(self, session_id: str) -> TurnRow | None:
        """The running turn of a session whose owner was checked before."""
        return await self._deps.turns.open_turn(session_id)

    # Events

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
        session = await self.session(who, session_id)
        turn = await self.turn(who, session_id, turn_id) if turn_id is not None else None
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
        follower = Follower(place, take, bus=deps.bus, events=deps.log, trouble=self._in_flight.trouble)
        if self._closing:
            follower.close()
        self._followers.add(follower)
        try:
            if place.guest is not None:
                await self._end_unless_readable(follower, place.guest)
            with self.releases.reading(place):
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

    # The process

    async def recover(self) -> None:
        """Start-up: ends the turns that wait and were cancelled, and goes on with those that a former process
        left open."""
        for turn in await self._deps.turns.cancelled_waiting():
            await self._in_flight.close_waiting(turn)
        await self.ownership.look()

    async def drain(self, grace: float) -> None:
        """Shutdown: no new turns, running ones get `grace` seconds, then all streams end."""
        await self._in_flight.drain(grace)
        await self.ownership.leave()
        await self.history.close()
        await self.releases.close()
        self._closing = True
        for follower in self._followers:
            follower.close()

    async def _new_id(self, who: Principal, name: str | None) -> str:
        if name is None:
            return new_session_id()
        return await self._deps.session_ids.new(who.user_id, name)

    async def _owner(self, who: Principal, session_id: str, need: Need = "read") -> str:
        return await owner_of(self._deps.projects, who, session_id, need)

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

    async def _start(
        self,
        who: Principal,
        request: TurnRequest,
        attached: tuple[Attached, ...] = (),
        tools: Sequence[ToolSpec] = (),
    ) -> Accepted:
        """`attached` was before, in the same session; `tools` were brought along before."""
        if self.is_draining:
            raise Draining("The server is shutting down. Send the message again in a moment.")
        if request.create_session and request.session_id is not None:
            request = replace(request, session_id=await self._new_id(who, request.session_id))
        new = new_turn(self._deps, who, request)
        new = replace(new, charges=self.limits.charges(who, new.model, new.input))
        with self._in_flight.admission(who.user_id, new.session_id):
            tools = tools or await client_tools(self._deps, request.tools)
            new = replace(new, attachments=attached, client_tools=tools)
            # A client that leaves now must not leave a turn that is accepted and never started.
            return await finish(self._accept(new, request.attachments))

    async def _accept(self, new: NewTurn, given: Sequence[str | Upload]) -> Accepted:
        try:
            if given:
                accepted = await accept_with(self._deps, new, given)
            else:
                most = self._deps.settings.max_queued_turns
                accepted = await self._deps.turns.accept(new, max_queued=most)
        except (NotFound, SessionIdTaken) as error:
            hides = isinstance(error, SessionIdTaken) or error.code == "session_not_found"
            if hides and await may_read(self._deps.projects, new.owner, new.session_id):
                raise read_only() from None
            raise
        except TurnInProgress:
            self._in_flight.queue(new.session_id)  # between two turns: see to it that the next one is claimed
            raise
        except LimitReached as error:
            self.limits.reached(error)
            raise
        if not accepted.repeated:
            show(accepted.standings)
            if accepted.turn.status == "running":
                self._in_flight.start(accepted)
            if accepted.interrupts is not None:
                await self.approvals.take_up(accepted.interrupts)
        return accepted

    async def _cancel(self, turn: TurnRow) -> None:
        if turn.status == "accepted" and await self._in_flight.close_waiting(turn):
            return
        await self._deps.turns.request_cancel(turn.id)
        await self.approvals.take_up(turn.id)  # its owner closes its books; one that is parked has none
