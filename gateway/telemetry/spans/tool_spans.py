"""Spans below `execute_tool`: whether the call might run, which skills it read, and the steps that it took.

Their names are always the same: what a tool calls its steps may be anything, so it is an attribute.
"""

from opentelemetry.trace import Span
from opentelemetry.util.types import AttributeValue

from gateway.telemetry import semconv
from gateway.telemetry.facts import TelemetryReader, TurnFacts
from gateway.telemetry.spans.span_facts import ids_of, pseudonym
from gateway.telemetry.spans.traces import Attributes, Traces, close
from gateway.telemetry.tool_runs import ApprovalState, SkillUse, Step, ToolRun


class ToolSpans(TelemetryReader):
    """Draws `gateway.approval`, from the question to its end, or in the moment of a decision that nobody was
    asked for; `gateway.skill`; and `gateway.tool.step`. Must come after the reader that draws the calls.
    With `salt` approvals have the pseudonym of whoever decided."""

    def __init__(self, traces: Traces, salt: str | None = None) -> None:
        self._traces = traces
        self._salt = salt

    def approval_asked(self, turn: TurnFacts, run: ToolRun, approval: ApprovalState) -> None:
        approval.span = self._approval(turn, run, approval, approval.asked_at or turn.seen_at)

    def approval_ended(self, turn: TurnFacts, run: ToolRun, approval: ApprovalState) -> None:
        at = approval.ended_at or turn.seen_at
        if approval.asked_at is None:
            approval.span = self._approval(turn, run, approval, at)
        span = approval.span
        for name, value in {
            semconv.APPROVAL_DECISION: approval.decision,
            semconv.APPROVAL_BY: approval.kind,
            semconv.APPROVAL_SCOPE: approval.scope,
            semconv.USER: self._decider(approval),
        }.items():
            if value is not None:
                span.set_attribute(name, value)
        span.set_attribute(semconv.LAST_SEQ, turn.last_seq)
        close(span, at, approval.asked_at or at, None)

    def skill_used(self, turn: TurnFacts, run: ToolRun | None, use: SkillUse) -> None:
        attributes: dict[str, AttributeValue] = {
            semconv.SKILL_NAME: use.name,
            semconv.SKILL_TYPE: use.type,
            semconv.SKILL_ACTION: use.action,
            semconv.FIRST_SEQ: turn.last_seq,
            semconv.LAST_SEQ: turn.last_seq,
        }
        if use.path is not None:
            attributes[semconv.SKILL_PATH] = use.path
        if use.digest is not None:
            attributes[semconv.SKILL_DIGEST] = use.digest
        parent = run.span if run is not None else turn.span
        span = self._child(
            turn, parent, semconv.SKILL, f"skill {turn.last_seq}", at=use.at, attributes=attributes
        )
        close(span, use.at, use.at, None)

    def on_steps(self, turn: TurnFacts, run: ToolRun) -> None:
        for step in run.steps:
            step.span = self._step(turn, run, step)

    def tool_ended(self, turn: TurnFacts, run: ToolRun) -> None:
        for step in run.steps:
            close(step.span, step.ended_at, step.started_at, step.error)

    def _approval(self, turn: TurnFacts, run: ToolRun, approval: ApprovalState, at: int) -> Span:
        attributes: dict[str, AttributeValue] = {
            semconv.APPROVAL_ASKED: approval.asked_at is not None,
            semconv.FIRST_SEQ: approval.first_seq,
        }
        return self._child(
            turn, run.span, semconv.APPROVAL, f"approval {run.call_id}", at=at, attributes=attributes
        )

    def _step(self, turn: TurnFacts, run: ToolRun, step: Step) -> Span:
        attributes: dict[str, AttributeValue] = {semconv.STEP_ID: step.id, semconv.STEP_NAME: step.name}
        part = f"step {step.number} of {run.call_id}"
        return self._child(turn, run.span, semconv.STEP, part, at=step.started_at, attributes=attributes)

    def _child(
        self, turn: TurnFacts, parent: Span, name: str, part: str, *, at: int, attributes: Attributes
    ) -> Span:
        return self._traces.child(parent, name, part, at=at, attributes={**ids_of(turn), **attributes})

    def _decider(self, approval: ApprovalState) -> str | None:
        if self._salt is None or approval.by is None or approval.kind != "user":
            return None
        return pseudonym(approval.by, self._salt)
