"""The operations of approvals: decide on a tool call, list grants, revoke them; and deadlines."""

import asyncio
from collections.abc import Sequence
from typing import Any

import orjson
import structlog

from gateway.auth import Principal
from gateway.cancellation_shield import finish
from gateway.errors import BadArguments, Forbidden, GatewayError, InvalidRequest, NotFound
from gateway.events.tool_calls import Decision, Scope
from gateway.ids import now_ms
from gateway.messages import clean_text
from gateway.model.strict_json import parse_object
from gateway.service.dependencies import Dependencies
from gateway.service.session_access import owner_of
from gateway.storage.decisions.approvals import ApprovalRow, Grant, Verdict
from gateway.storage.sessions.access import Need
from gateway.tools.arguments import check_arguments
from gateway.turn.in_flight import InFlight

MAX_LISTED = 200
MAX_REASON = 2000
"""Characters of the reason of a denial."""
MAX_ROUND_SECONDS = 5.0
"""Seconds between two looks for turns that wait too long: it ends later than set by at most so much."""

log = structlog.get_logger(__name__)


class TurnApprovals:
    """What people decide about the calls of their turns."""

    def __init__(self, deps: Dependencies, in_flight: InFlight) -> None:
        self._deps = deps
        self._in_flight = in_flight
        self.parked = 0
        """How many turns were suspended at the last look for overdue ones."""

    async def read(
        self, who: Principal, session_id: str, turn_id: str, tool_call_id: str, need: Need = "read"
    ) -> ApprovalRow:
        """Raises errors.NotFound, errors.Forbidden."""
        owner = await owner_of(self._deps.projects, who, session_id, need)
        return await self._deps.approvals.get(session_id, turn_id, tool_call_id, owner)

    async def decide(
        self,
        who: Principal,
        session_id: str,
        turn_id: str,
        tool_call_id: str,
        decision: Decision,
        *,
        scope: Scope = "once",
        reason: str | None = None,
        arguments: dict[str, Any] | None = None,
    ) -> ApprovalRow:
        """Decides about a call; its turn goes on. `arguments` replace those of the model, `reason`, cut to
        MAX_REASON, explains a denial to it. The same decision again changes nothing.

        Raises:
            errors.NotFound: no such call, or it needs no approval.
            errors.Forbidden: the session is somebody else's; or the arguments of a call in a turn that
                somebody else sent are to be replaced: it acts as them.
            errors.Conflict: it was decided otherwise, came too late, or the turn is over.
            errors.InvalidRequest: the arguments do not fit the tool, or do not go with this decision.
            errors.QueueFull: as many turns run as may.
        """
        row = await self.read(who, session_id, turn_id, tool_call_id, "write")
        if arguments == row.arguments:
            arguments = None
        if arguments is not None:
            await self._check(row, decision, scope, arguments)
            if (await self._deps.turns.get(session_id, turn_id, row.owner)).owner != who.user_id:
                raise Forbidden(
                    "This call acts as the person who sent the message: only they replace its arguments. "
                    "Approve it as it is, or deny it with a reason."
                )
        reason = clean_text(reason[:MAX_REASON]) if reason is not None else None
        with self._in_flight.admission(who.user_id, session_id):
            verdict = Verdict(decision, who.user_id, now_ms(), scope, reason, arguments, who.key_id)
            # A client that leaves now must not leave a turn without a task.
            return await finish(self._decide(row, verdict))

    async def waiting(self, who: Principal) -> Sequence[ApprovalRow]:
        """The caller's calls that wait for a decision, the first MAX_LISTED of them."""
        return await self._deps.approvals.waiting(who.user_id, MAX_LISTED)

    async def grants(self, who: Principal) -> Sequence[Grant]:
        """What the caller allowed to run without asking."""
        return await self._deps.approvals.grants(who.user_id)

    async def revoke(self, who: Principal, tool: str) -> None:
        """Takes back what was granted to a tool, in all sessions. Raises errors.NotFound."""
        if not await self._deps.approvals.revoke(who.user_id, tool):
            raise NotFound(f"Nothing is granted to {tool}.", code="grant_not_found")

    async def take_up(self, turn_id: str) -> None:
        """Goes on with a turn if it is suspended. Not while the server shuts down: the next process finds
        it."""
        if not self._in_flight.draining.is_set():
            self._in_flight.resume(await self._deps.approvals.wake(turn_id))

    async def watch_deadlines(self) -> None:
        """Goes on with the turns that waited too long, for as long as the process lives. What fails in a way
        that was not foreseen is raised, after all other turns of the round had their turn."""
        settings = self._deps.settings
        every = min(MAX_ROUND_SECONDS, settings.approval_timeout / 4, settings.client_tool_timeout / 4)
        while True:
            try:
                await self._expire()
                self.parked = await self._deps.approvals.count_parked()
            except GatewayError as error:  # the database, for now
                log.warning("deadlines_not_read", code=error.code, error=str(error))
            await asyncio.sleep(every)

    async def _expire(self) -> None:
        failed: Exception | None = None
        for turn_id in await self._deps.approvals.overdue(now_ms(), self._in_flight.free_slots):
            try:
                await self.take_up(turn_id)
            except Exception as error:  # noqa: BLE001 - one turn's failure must not keep the others waiting
                failed = error
        if failed is not None:
            raise failed

    async def _decide(self, row: ApprovalRow, verdict: Verdict) -> ApprovalRow:
        row, accepted = await self._deps.approvals.decide(row, verdict)
        self._in_flight.resume(accepted)
        return row

    async def _check(
        self, row: ApprovalRow, decision: Decision, scope: Scope, arguments: dict[str, Any]
    ) -> None:
        if decision == "denied":
            raise InvalidRequest("arguments: go with an approval only.")
        if scope != "once":
            raise InvalidRequest("scope: edited arguments are approved once.")
        try:
            parse_object(orjson.dumps(arguments).decode())  # as strictly as the model's own
        except (TypeError, ValueError) as error:
            raise InvalidRequest(f"arguments: {error}.") from None
        catalog = self._deps.skills.catalog
        if row.name not in catalog.tools:
            return  # the model reads it when the call is tried
        try:
            await check_arguments(catalog.tools.get(row.name), arguments)
        except BadArguments as error:
            raise InvalidRequest(f"arguments: {error.message}") from None
