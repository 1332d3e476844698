"""Which tool calls may run: what skills forbid, what the policy says, and what a person decides."""

from collections.abc import Mapping

import structlog

from gateway.events.calls import DECIDERS, ApprovalRequest, ApprovalResponse, Scope
from gateway.events.upkeep import Skill
from gateway.ids import now_ms
from gateway.skills.catalog import Catalog
from gateway.skills.gate import refusal
from gateway.storage.decisions import ApprovalRow, Verdict
from gateway.tools.policy import Ruling, verdict_of
from gateway.tools.registry import Tools
from gateway.turn.answering import answer_call
from gateway.turn.emitter import Emitter
from gateway.turn.parts import Parts
from gateway.turn.progress import CallState
from gateway.turn.tool_run import refusal_of, tool_result

EXPIRED = "Nobody approved this call in time, so it was not run. Tell the user, and go on without it."

log = structlog.get_logger(__name__)


async def seek_permission(parts: Parts, catalog: Catalog, tools: Tools, emitter: Emitter) -> None:
    """Answers the open calls that may not run, and asks a person about those that need one. Afterwards every
    open call either may run or waits."""
    asking: dict[str, Ruling] = {}
    for call_id, state in open_calls(emitter).items():
        if state.asked or state.verdict is not None or _forbid(parts, catalog, emitter, call_id, state):
            continue
        ruling = verdict_of(parts.settings.tool_policy, state.name, state.effect)
        if state.needs_approval and ruling.verdict != "ask":  # what was told with the call still holds
            ruling = Ruling("ask", None)
        if (
            ruling.verdict == "ask"
            and state.name in tools
            and await _fits(call_id, state, tools, emitter, parts)
        ):
            asking[call_id] = ruling
    if asking:
        await _ask(parts, asking, emitter)


async def hear_decisions(parts: Parts, catalog: Catalog, emitter: Emitter) -> bool:
    """Emits what has been decided since, by a person or by time; whether there was anything. What the rules
    have come to forbid meanwhile does not run, whoever approved it."""
    turn_id = emitter.turn.id
    await parts.approvals.expire(turn_id, now_ms(), EXPIRED)
    rows = {row.tool_call_id: row for row in await parts.approvals.of_turn(turn_id)}
    heard = False
    for call_id, state in waiting_calls(emitter).items():
        verdict = rows[call_id].verdict
        if verdict is None:
            continue
        heard, response = True, _told(verdict)
        if response.decision == "denied":
            _deny(call_id, state, response, emitter)
        elif not _forbid(parts, catalog, emitter, call_id, state):
            emitter.emit(response, tool_call_id=call_id)
    await emitter.settled()
    return heard


async def park(parts: Parts, emitter: Emitter) -> bool:
    """Gives the turn up until somebody decides; False when that has happened already."""
    await emitter.settled()
    waiting = waiting_calls(emitter)
    rows = await parts.approvals.of_turn(emitter.turn.id)
    until = min(row.expires_at for row in rows if row.tool_call_id in waiting)
    parked = await parts.approvals.park(emitter.turn, waiting.keys(), until)
    if parked:
        log.info("turn_parked", waiting=len(waiting), until=until)
    return parked


def open_calls(emitter: Emitter) -> dict[str, CallState]:
    """The calls of the latest model call that have no result."""
    return {call_id: state for call_id, state in emitter.progress.calls.items() if state.result is None}


def waiting_calls(emitter: Emitter) -> dict[str, CallState]:
    """Those of them that a person has still to decide."""
    return {call_id: state for call_id, state in open_calls(emitter).items() if state.waits}


async def _ask(parts: Parts, asking: Mapping[str, Ruling], emitter: Emitter) -> None:
    turn, calls = emitter.turn, emitter.progress.calls
    names = {calls[call_id].name for call_id in asking}
    granted = await parts.approvals.granted(turn.owner, turn.session_id, names)
    now = now_ms()
    until = now + int(parts.settings.approval_timeout * 1000)
    rows = [
        ApprovalRow(
            turn.session_id,
            turn.id,
            call_id,
            turn.owner,
            calls[call_id].name,
            calls[call_id].arguments,
            ruling.reason,
            requested_at=now,
            expires_at=until,
        )
        for call_id, ruling in asking.items()
        if calls[call_id].name not in granted
    ]
    await parts.approvals.ask(rows)
    for row in rows:
        request = ApprovalRequest(
            name=row.name, arguments=row.arguments, reason=row.reason, expires_at=row.expires_at
        )
        emitter.emit(request, tool_call_id=row.tool_call_id)
    for call_id in asking:
        scope: Scope | None = granted.get(calls[call_id].name)
        if scope is not None:
            emitter.emit(ApprovalResponse(decision="approved", by="grant", scope=scope), tool_call_id=call_id)
    await emitter.settled()


def _told(verdict: Verdict) -> ApprovalResponse:
    return ApprovalResponse(
        decision=verdict.decision,
        by=verdict.by,
        scope=verdict.scope if verdict.decision == "approved" else None,
        reason=verdict.reason,
        arguments=verdict.arguments,
    )


def _deny(call_id: str, state: CallState, response: ApprovalResponse, emitter: Emitter) -> None:
    content = response.reason or ""
    if response.by not in DECIDERS:
        said = f" They say: {response.reason}" if response.reason else ""
        content = f"The user did not allow this call, and it was not run.{said}"
    with emitter.together():
        emitter.emit(response, tool_call_id=call_id)
        answer_call(emitter, call_id, tool_result(state.name, "denied", content))


def _forbid(parts: Parts, catalog: Catalog, emitter: Emitter, call_id: str, state: CallState) -> bool:
    """Answers the call if skills or the policy forbid it; whether they do."""
    active, only_with_skill = emitter.progress.skills.items(), parts.settings.skill_only_tools
    if (reason := refusal(state.name, catalog, active, only_with_skill)) is not None:
        _refuse_by_skill(call_id, state, reason, catalog, emitter)
        return True
    ruling = verdict_of(parts.settings.tool_policy, state.name, state.effect)
    if ruling.verdict == "deny":
        said = f"This call is not allowed and was not run. {ruling.reason}"
        _deny(call_id, state, ApprovalResponse(decision="denied", by="policy", reason=said), emitter)
    return ruling.verdict == "deny"


def _refuse_by_skill(call_id: str, state: CallState, reason: str, catalog: Catalog, emitter: Emitter) -> None:
    found = catalog.find(state.name)
    event = Skill(
        name=state.name[:256],
        type=found.type if found is not None else "markdown",
        action="refused",
        reason=reason,
    )
    with emitter.together():
        emitter.emit(event, tool_call_id=call_id)
        answer_call(emitter, call_id, tool_result(state.name, "denied", reason))


async def _fits(call_id: str, state: CallState, tools: Tools, emitter: Emitter, parts: Parts) -> bool:
    """Whether the arguments fit: nobody is asked about a call that cannot run."""
    refused = await refusal_of(call_id, state, tools, emitter, parts)
    if refused is not None:
        answer_call(emitter, call_id, refused)
    return refused is None
