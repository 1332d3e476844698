"""The operations of turns: start one, ask anew, stop it, rate it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from gateway.artifacts.attached_files import Upload
from gateway.auth import Principal
from gateway.cancellation_shield import finish
from gateway.errors import Draining, LimitReached, NotFound, SessionIdTaken, TurnInProgress
from gateway.events.session_changes import Feedback, Rating
from gateway.ids import now_ms
from gateway.messages import Attached, ToolSpec, clean_text
from gateway.service.abandoned_turns import Releases
from gateway.service.approvals import TurnApprovals
from gateway.service.client_tools import client_tools
from gateway.service.dependencies import Dependencies
from gateway.service.first_instructions import first_instructions
from gateway.service.limits import UserLimits, show
from gateway.service.session_access import may_read, owner_of, read_only
from gateway.service.turn_acceptance import accept_with, new_turn
from gateway.storage.sessions.access import Need
from gateway.storage.turns import Accepted, ModelUsage, NewTurn, OnConflict, TurnRow, TurnState
from gateway.turn.in_flight import InFlight
from gateway.turn.request import TurnRequest


class UserTurns:
    """One per process. Checks what the caller may do with a turn."""

    def __init__(
        self, deps: Dependencies, in_flight: InFlight, approvals: TurnApprovals, limits: UserLimits
    ) -> None:
        self._deps = deps
        self._in_flight = in_flight
        self._approvals = approvals
        self._limits = limits
        self.releases = Releases(deps.turns, deps.signals, self._cancel, shared=deps.settings.is_shared)

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
        turn = await self.get(who, session_id, turn_id, "write")
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

    async def get(self, who: Principal, session_id: str | None, turn_id: str, need: Need = "read") -> TurnRow:
        """A turn in that session, with which the caller may do what they `need`, or (None) in any of their
        own, or one that they sent elsewhere. Raises errors.NotFound, errors.Forbidden."""
        if session_id is None:
            turn = await self._deps.turns.get(None, turn_id, who.user_id)
            if turn.session_owner != who.user_id:
                await self._owner(who, turn.session_id, need)
            return turn
        return await self._deps.turns.get(session_id, turn_id, await self._owner(who, session_id, need))

    async def list(
        self, who: Principal, state: TurnState | None, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[TurnRow]:
        """The caller's turns of all sessions, as `Turns.of_owner` lists them."""
        return await self._deps.turns.of_owner(who.user_id, state, limit=limit, before=before)

    async def usage(self, who: Principal, since: int) -> Sequence[ModelUsage]:
        """What the principal's turns used that were accepted since that time and are over, by model."""
        return await self._deps.turns.usage(who.user_id, since)

    async def asked_after(self, who: Principal, session_id: str, turn_id: str) -> str:
        """What another turn has to come after, to be asked instead of that one. Raises as `regenerate`."""
        await self.get(who, session_id, turn_id, "write")
        return await self._deps.branches.parent(session_id, turn_id)

    async def sent(self, who: Principal, session_id: str, client_message_id: str) -> TurnRow | None:
        """The turn that this message of the caller's started; None where there is none."""
        return await self._deps.turns.sent(session_id, client_message_id, who.user_id)

    async def marked(self, who: Principal, mark: str) -> Sequence[TurnRow]:
        """The caller's turns with that mark, the newest first, at most some: as a client that sends its whole
        history each time finds its place."""
        return await self._deps.turns.marked(who.user_id, mark)

    async def open_turn(self, session_id: str) -> TurnRow | None:
        """The running turn of a session whose owner was checked before."""
        return await self._deps.turns.open_turn(session_id)

    async def cancel(self, who: Principal, session_id: str | None, turn_id: str) -> TurnRow:
        """Asks a turn to stop; a turn that is over stays as it is. Raises errors.NotFound,
        errors.Forbidden."""
        turn = await self.get(who, session_id, turn_id, "write")
        if turn.status == "done":
            return turn
        # A client that leaves now must not leave a turn without a task.
        await finish(self._cancel(turn))
        return await self.get(who, session_id, turn_id)

    async def stop(self, turns: Sequence[TurnRow]) -> None:
        """Takes up turns that were asked to stop, as their senders may not write any more where they do."""
        for turn in turns:
            await finish(self._cancel(turn))

    async def release(self, who: Principal, session_id: str | None, turn_id: str, grace: float) -> TurnRow:
        """Asks a turn to stop when it gets no reader within `grace` seconds: for clients whose Stop is only a
        closed connection. A turn with a reader stays as it is, and so does one that waits for a person or a
        client. Raises errors.NotFound, errors.Forbidden."""
        turn = await self.get(who, session_id, turn_id, "write")
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
        turn = await self.get(who, session_id, turn_id, "write")
        if turn.status != "done":
            details = {"turn_id": turn_id, "seq": turn.last_seq}
            raise TurnInProgress(f"Turn {turn_id} is not over yet.", details=details)
        reason = clean_text(reason) if reason is not None else None
        await finish(self._deps.log.rate(turn, Feedback(rating=rating, reason=reason, of=of), now_ms()))
        return await self.get(who, session_id, turn_id)

    async def _start(
        self,
        who: Principal,
        request: TurnRequest,
        attached: tuple[Attached, ...] = (),
        tools: Sequence[ToolSpec] = (),
    ) -> Accepted:
        """`attached` was before, in the same session; `tools` were brought along before."""
        if request.create_session and request.session_id is not None:
            new_id = await self._deps.session_ids.new(who.user_id, request.session_id)
            if new_id != request.session_id:
                request = replace(request, session_id=new_id)
        first = None
        if request.project_id is not None:
            first = await first_instructions(self._deps, who, request.project_id, request.instructions)
        new = new_turn(self._deps, who, request, first)
        charges = self._limits.charges(who, new.model, new.input)
        with self._in_flight.admission(who.user_id, new.session_id):
            if self._in_flight.draining.is_set():  # later than this, the shutdown waits for it
                raise Draining("The server is shutting down. Send the message again in a moment.")
            tools = tools or await client_tools(self._deps, request.tools)
            new = replace(new, charges=charges, attachments=attached, client_tools=tools)
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
            self._limits.reached(error)
            raise
        if not accepted.repeated:
            show(accepted.standings)
            if accepted.turn.status == "running":
                self._in_flight.start(accepted)
            if accepted.interrupts is not None:
                await self._approvals.take_up(accepted.interrupts)
        return accepted

    async def _cancel(self, turn: TurnRow) -> None:
        if turn.status == "accepted" and await self._in_flight.close_waiting(turn):
            return
        await self._deps.turns.request_cancel(turn.id)
        await self._approvals.take_up(turn.id)  # a suspended turn has no task that could end it

    async def _instructions_of(self, turn: TurnRow) -> str:
        sessions, digest = self._deps.sessions, turn.instructions
        return await sessions.instructions(turn.session_id, digest) or "" if digest is not None else ""

    async def _owner(self, who: Principal, session_id: str, need: Need = "read") -> str:
        return await owner_of(self._deps.projects, who, session_id, need)
