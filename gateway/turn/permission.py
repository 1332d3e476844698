"""Which tool calls may run: by the rules of skills, the tool policy and the decisions of people."""

from collections.abc import Mapping

import structlog

from gateway.events.memory_skill_artifact import Skill
from gateway.events.tool_calls import AUTOMATIC_DECIDERS, ApprovalRequest, ApprovalResponse, Scope
from gateway.ids import now_ms
from gateway.skills.call_gate import refusal
from gateway.storage.decisions.approvals import ApprovalRow, Verdict
from gateway.storage.projects import member_handle
from gateway.tools.base import digest_of
from gateway.tools.policy import Ruling, verdict_of
from gateway.turn.context import TurnContext
from gateway.turn.influence import influence_on, why_ask
from gateway.turn.progress import CallState
from gateway.turn.tool_results import tool_result
from gateway.turn.tool_run import context_of, invalid_arguments_result

EXPIRED = "Nobody approved this call in time, so it was not run. Tell the user, and go on without it."
CHANGED = (
    "You allowed this tool before, but what it says of itself now, its description, its arguments or its "
    "effect, is not known to be what you allowed."
)

log = structlog.get_logger(__name__)


async def seek_permission(turn: TurnContext) -> None:
    """Answers the open calls that may not run, and asks a person about those that need one. Afterwards every
    open call either may run or waits."""
    asking: dict[str, Ruling] = {}
    async for call_id, state in turn.progress.open_calls():
        if state.asked or state.runs_on_client or state.verdict is not None:
            continue
        if _forbid(turn, call_id, state) or state.name in turn.prompt.client_tools:
            continue
        ruling = await _ruling(turn, call_id, state)
        if state.needs_approval and ruling.verdict != "ask":  # the request that was emitted still holds
            ruling = Ruling("ask", None)
        if ruling.verdict == "ask" and state.name in turn.tools and await _fits(turn, call_id, state):
            asking[call_id] = ruling
    if asking:
        await _ask(turn, asking)


async def apply_decisions(turn: TurnContext) -> bool:
    """Emits the decisions since then, made by a person or by expiry, and returns whether there were any. A
    call that the rules forbid by now does not run, even if a person approved it."""
    approvals, turn_id = turn.deps.approvals, turn.row.id
    undecided = {call_id: state for call_id, state in waiting_calls(turn).items() if state.undecided}
    if not undecided:
        return False
    await approvals.expire(turn_id, now_ms(), EXPIRED)
    rows = {row.tool_call_id: row for row in await approvals.of_turn(turn_id)}
    others = {call_id for call_id in undecided if _is_of_another(turn, rows[call_id].verdict)}
    if others and await approvals.withdraw(turn.row.session_id, turn_id, others):
        rows = {row.tool_call_id: row for row in await approvals.of_turn(turn_id)}
    decided = False
    for call_id, state in undecided.items():
        verdict = rows[call_id].verdict
        if verdict is None:
            continue
        decided, response = True, _response_of(turn, verdict)
        if response.decision == "denied":
            _deny(turn, call_id, state, response)
        elif not _forbid(turn, call_id, state):
            turn.emit(response, tool_call_id=call_id)
    await turn.emitter.flush()
    return decided


async def park(turn: TurnContext) -> bool:
    """Suspends the turn until a decision or a client's result arrives; False if it already has."""
    approvals, row = turn.deps.approvals, turn.row
    await turn.emitter.flush()
    waiting = waiting_calls(turn)
    rows = [*await approvals.of_turn(row.id), *await turn.deps.client_calls.of_turn(row.id)]
    until = min(each.expires_at for each in rows if each.tool_call_id in waiting)
    parked = await approvals.park(row, waiting.keys(), until)
    if parked:
        log.info("turn_parked", waiting=len(waiting), until=until)
    return parked


def waiting_calls(turn: TurnContext) -> dict[str, CallState]:
    """The calls that a person has still to decide about, or a client to answer."""
    calls = turn.progress.calls.items()
    return {call_id: state for call_id, state in calls if state.result is None and state.waits}


async def _ask(turn: TurnContext, asking: Mapping[str, Ruling]) -> None:
    approvals, calls = turn.deps.approvals, turn.progress.calls
    names = {calls[call_id].name for call_id in asking}
    digests = {name: digest_of(turn.tools.get(name)) for name in names}
    granted = await approvals.granted(turn.row.owner, turn.row.session_id, digests)
    now = now_ms()
    until = now + int(turn.settings.approval_timeout * 1000)
    rows = [
        ApprovalRow(
            turn.row.session_id,
            turn.row.id,
            call_id,
            turn.row.session_owner,
            calls[call_id].name,
            calls[call_id].arguments,
            f"{CHANGED} {ruling.reason}" if calls[call_id].name in granted.changed else ruling.reason,
            requested_at=now,
            expires_at=until,
            tool_digest=digests[calls[call_id].name],
        )
        for call_id, ruling in asking.items()
        if calls[call_id].name not in granted.scopes or ruling.because is not None
    ]
    await approvals.ask(rows)
    for row in rows:
        request = ApprovalRequest(
            name=row.name, arguments=row.arguments, reason=row.reason, expires_at=row.expires_at
        )
        turn.emit(request, tool_call_id=row.tool_call_id)
    for call_id, ruling in asking.items():
        scope: Scope | None = granted.scopes.get(calls[call_id].name) if ruling.because is None else None
        if scope is not None:
            turn.emit(ApprovalResponse(decision="approved", by="grant", scope=scope), tool_call_id=call_id)
    await turn.emitter.flush()


async def _ruling(turn: TurnContext, call_id: str, state: CallState) -> Ruling:
    """As the policy says, and where no rule of it allows the call, as what the model has read demands."""
    ruling = verdict_of(turn.settings.tool_policy, state.name, state.effect)
    if (ruling.verdict == "allow" and ruling.rule is not None) or state.name not in turn.tools:
        return ruling
    await turn.find_others()
    tool = turn.tools.get(state.name)
    influence = await influence_on(turn.settings, tool, state.arguments, context_of(turn, call_id))
    because = why_ask(influence)
    return ruling if because is None else Ruling("ask", ruling.rule, because)


def _is_of_another(turn: TurnContext, verdict: Verdict | None) -> bool:
    """Whether a member decided whose session it is not."""
    return verdict is not None and verdict.by not in {*AUTOMATIC_DECIDERS, turn.row.session_owner}


def _response_of(turn: TurnContext, verdict: Verdict) -> ApprovalResponse:
    is_member = _is_of_another(turn, verdict) and turn.row.project_id is not None
    return ApprovalResponse(
        decision=verdict.decision,
        by=member_handle(turn.row.project_id or "", verdict.by) if is_member else verdict.by,
        scope=verdict.scope if verdict.decision == "approved" else None,
        reason=verdict.reason,
        arguments=verdict.arguments,
    )


def _deny(turn: TurnContext, call_id: str, state: CallState, response: ApprovalResponse) -> None:
    content = response.reason or ""
    if response.by not in AUTOMATIC_DECIDERS:
        reason = f" They say: {response.reason}" if response.reason else ""
        content = f"The user did not allow this call, and it was not run.{reason}"
    with turn.emitter.atomic():
        turn.emit(response, tool_call_id=call_id)
        turn.emit_result(call_id, tool_result(state.name, "denied", content))


def _forbid(turn: TurnContext, call_id: str, state: CallState) -> bool:
    """Answers the call if skills or the policy forbid it; whether they do."""
    active, only_with_skill = turn.progress.skills.items(), turn.settings.skill_only_tools
    if (reason := refusal(state.name, turn.prompt.catalog, active, only_with_skill)) is not None:
        _refuse_by_skill(turn, call_id, state, reason)
        return True
    ruling = verdict_of(turn.settings.tool_policy, state.name, state.effect)
    if ruling.verdict == "deny":
        reason = f"This call is not allowed and was not run. {ruling.reason}"
        _deny(turn, call_id, state, ApprovalResponse(decision="denied", by="policy", reason=reason))
    return ruling.verdict == "deny"


def _refuse_by_skill(turn: TurnContext, call_id: str, state: CallState, reason: str) -> None:
    found = turn.prompt.catalog.find(state.name)
    event = Skill(
        name=state.name[:256],
        type=found.type if found is not None else "markdown",
        action="refused",
        reason=reason,
    )
    with turn.emitter.atomic():
        turn.emit(event, tool_call_id=call_id)
        turn.emit_result(call_id, tool_result(state.name, "denied", reason))


async def _fits(turn: TurnContext, call_id: str, state: CallState) -> bool:
    """Whether the arguments fit the schema: no approval is requested for a call that cannot run."""
    refused = await invalid_arguments_result(turn, call_id, state)
    if refused is not None:
        turn.emit_result(call_id, refused)
    return refused is None
