"""Metrics of tool calls: outcomes, approvals, skills, steps, suggestions.

Names of tools and skills come from a model, so only the first of them are themselves. Those of clients'
tools are theirs to choose: all of them count as one.
"""

from collections.abc import Mapping

from opentelemetry.util.types import AttributeValue

from gateway.telemetry import semconv
from gateway.telemetry.metrics import instrument_table as table
from gateway.telemetry.metrics.bounded import FewNames
from gateway.telemetry.metrics.exemplars import Exemplify, of_span
from gateway.telemetry.metrics.exposition import Exposition
from gateway.telemetry.tool_facts import ApprovalState, SkillUse, ToolRun
from gateway.telemetry.turn_facts import TelemetryReader, TurnFacts
from gateway.tools.policy import CLIENT_TOOL

Attributes = Mapping[str, AttributeValue]

_MAX_NAMES = 200


class ToolMetrics(TelemetryReader):
    """Counts and times tool calls."""

    def __init__(self, exposition: Exposition, agent: str, exemplify: Exemplify = of_span) -> None:
        self._agent: Attributes = {semconv.AGENT: agent}
        self._exemplify = exemplify
        self._tools = FewNames(_MAX_NAMES)
        self._skills = FewNames(_MAX_NAMES)
        self._errors = FewNames()
        self._calls = exposition.counter(table.TOOL_CALLS)
        self._seconds = exposition.histogram(table.TOOL_DURATION)
        self._steps = exposition.counter(table.TOOL_STEPS)
        self._suggestions = exposition.counter(table.SUGGESTIONS)
        self._decisions = exposition.counter(table.APPROVALS)
        self._waits = exposition.histogram(table.APPROVAL_WAIT)
        self._uses = exposition.counter(table.SKILL_USES)

    def approval_ended(self, turn: TurnFacts, run: ToolRun, approval: ApprovalState) -> None:
        if approval.decision is None or approval.kind is None:
            return
        by = {semconv.APPROVAL_BY: approval.kind}
        tool = {semconv.TOOL: self._tools.name(run.name)}
        self._decisions.add(1, {**tool, **by, semconv.APPROVAL_DECISION: approval.decision})
        if approval.waited_ms is not None:
            self._waits.record(approval.waited_ms / 1000, by, self._exemplify(approval.span, turn))

    def skill_used(self, turn: TurnFacts, run: ToolRun | None, use: SkillUse) -> None:
        name = self._skills.name(use.name)
        about = {semconv.SKILL_NAME: name, semconv.SKILL_TYPE: use.type, semconv.SKILL_ACTION: use.action}
        self._uses.add(1, about)

    def tool_ended(self, turn: TurnFacts, run: ToolRun) -> None:
        if run.status is None:
            return
        tool = {semconv.TOOL: CLIENT_TOOL if run.on_client else self._tools.name(run.name)}
        self._calls.add(1, {**tool, semconv.TOOL_STATUS: run.status})
        # What was denied did not run, and would make the others look fast; a client's took its user's time.
        if run.status != "denied" and not run.on_client:
            about = {**self._agent, **tool, semconv.TOOL_TYPE: "function"}
            context = self._exemplify(run.span, turn)
            self._seconds.record(run.duration_ms / 1000, self._with_error(about, run.error), context)
        for step in run.steps:
            self._steps.add(1, self._with_error(tool, step.error))
        for kind in run.suggested:
            self._suggestions.add(1, {semconv.MEMORY_TYPE: kind})

    def _with_error(self, attributes: Attributes, error: str | None) -> Attributes:
        return attributes if error is None else {**attributes, semconv.ERROR_TYPE: self._errors.name(error)}
