"""Spans of tool calls and below them: whether a call might run, which skills it read, the steps that it took,
and the memories and artifacts that came of it.

The names below a call are always the same: what a tool calls its steps may be anything, and is an attribute.
"""

from typing import Any

from opentelemetry.trace import Span

from gateway.telemetry import semconv
from gateway.telemetry.spans.span_attributes import artifact_facts, changer, ids_of, memory_facts, pseudonym
from gateway.telemetry.spans.span_creation import Attributes, Traces, close, known
from gateway.telemetry.spans.turn_spans import Called
from gateway.telemetry.tool_facts import ApprovalState, SkillUse, Step, ToolRun
from gateway.telemetry.turn_facts import TelemetryReader, TurnFacts


class ToolSpans(TelemetryReader):
    """Draws `execute_tool`; `gateway.approval`, from the question to its end, or in the moment of a decision
    without a request; `gateway.tool.step`; and `gateway.skill`, `gateway.memory` and `gateway.artifact`,
    moments in the call or turn that used or changed one. Must come after the reader that draws the turns.
    With a salt approvals have the pseudonym of the person who decided."""

    def __init__(self, traces: Traces, called: Called) -> None:
        self._traces = traces
        self._called = called

    def tool_started(self, turn: TurnFacts, run: ToolRun) -> None:
        run.span = self._traces.child(
            turn.span,
            f"{semconv.EXECUTE_TOOL} {run.name}",
            f"tool_call {run.call_id}",
            at=run.started_at,
            attributes={
                **self._called.common(turn, semconv.EXECUTE_TOOL),
                semconv.TOOL: run.name,
                semconv.TOOL_TYPE: "function",
                semconv.TOOL_CALL_ID: run.call_id,
                semconv.FIRST_SEQ: run.first_seq,
                semconv.TOOL_EFFECT: run.effect,
                semconv.TOOL_RUNS_ON: "client" if run.on_client else None,
            },
        )

    def approval_asked(self, turn: TurnFacts, run: ToolRun, approval: ApprovalState) -> None:
        approval.span = self._approval(turn, run, approval, approval.asked_at or turn.seen_at)

    def approval_ended(self, turn: TurnFacts, run: ToolRun, approval: ApprovalState) -> None:
        at = approval.ended_at or turn.seen_at
        if approval.asked_at is None:
            approval.span = self._approval(turn, run, approval, at)
        span = approval.span
        span.set_attributes(
            known(
                {
                    semconv.APPROVAL_DECISION: approval.decision,
                    semconv.APPROVAL_BY: approval.kind,
                    semconv.APPROVAL_SCOPE: approval.scope,
                    semconv.USER: self._decider(approval),
                    semconv.LAST_SEQ: turn.last_seq,
                }
            )
        )
        close(span, at, approval.asked_at or at, None)

    def skill_used(self, turn: TurnFacts, run: ToolRun | None, use: SkillUse) -> None:
        attributes: Attributes = {
            semconv.SKILL_NAME: use.name,
            semconv.SKILL_TYPE: use.type,
            semconv.SKILL_ACTION: use.action,
            semconv.SKILL_PATH: use.path,
            semconv.SKILL_DIGEST: use.digest,
        }
        self._moment(turn, run, semconv.SKILL, attributes, use.at)

    def remembered(self, turn: TurnFacts, run: ToolRun | None, data: dict[str, Any], at: int) -> None:
        by = changer(data.get("by"), suggested="quarantined" in data)
        attributes = {**memory_facts(data), semconv.MEMORY_BY: by}
        self._moment(turn, run, semconv.MEMORY, attributes, at)

    def offloaded(self, turn: TurnFacts, run: ToolRun | None, data: dict[str, Any], at: int) -> None:
        self._moment(turn, run, semconv.ARTIFACT, artifact_facts(data), at)

    def on_steps(self, turn: TurnFacts, run: ToolRun) -> None:
        for step in run.steps:
            step.span = self._step(turn, run, step)

    def tool_ended(self, turn: TurnFacts, run: ToolRun) -> None:
        ended: Attributes = {semconv.LAST_SEQ: run.last_seq, semconv.TOOL_STATUS: run.status}
        run.span.set_attributes(known({**ended, semconv.SUGGESTIONS: len(run.suggested) or None}))
        close(run.span, run.ended_at, run.started_at, run.error)
        for step in run.steps:
            close(step.span, step.ended_at, step.started_at, step.error)

    def _approval(self, turn: TurnFacts, run: ToolRun, approval: ApprovalState, at: int) -> Span:
        asked, first_seq = approval.asked_at is not None, approval.first_seq
        attributes = {semconv.APPROVAL_ASKED: asked, semconv.FIRST_SEQ: first_seq}
        part = f"approval {run.call_id}"
        return self._child(turn, run.span, semconv.APPROVAL, part, at=at, attributes=attributes)

    def _step(self, turn: TurnFacts, run: ToolRun, step: Step) -> Span:
        attributes = {semconv.STEP_ID: step.id, semconv.STEP_NAME: step.name}
        part = f"step {step.number} of {run.call_id}"
        return self._child(turn, run.span, semconv.STEP, part, at=step.started_at, attributes=attributes)

    def _moment(
        self, turn: TurnFacts, run: ToolRun | None, name: str, attributes: Attributes, at: int
    ) -> None:
        seq = turn.last_seq
        attributes = {**attributes, semconv.FIRST_SEQ: seq, semconv.LAST_SEQ: seq}
        parent, subject = run.span if run is not None else turn.span, name.rpartition(".")[2]
        close(self._child(turn, parent, name, f"{subject} {seq}", at=at, attributes=attributes), at, at, None)

    def _child(
        self, turn: TurnFacts, parent: Span, name: str, part: str, *, at: int, attributes: Attributes
    ) -> Span:
        return self._traces.child(parent, name, part, at=at, attributes={**ids_of(turn), **attributes})

    def _decider(self, approval: ApprovalState) -> str | None:
        if self._called.salt is None or approval.by is None or approval.kind != "user":
            return None
        return pseudonym(approval.by, self._called.salt)
