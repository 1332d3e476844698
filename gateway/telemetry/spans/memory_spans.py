"""Spans of what is remembered: each change in a turn, and the runs that learn from conversations."""

from typing import Any

from opentelemetry.util.types import AttributeValue

from gateway.ids import trace_id_of
from gateway.memory.learning.report import LearningReport, learning_id
from gateway.telemetry import semconv
from gateway.telemetry.facts import TelemetryReader, TurnFacts
from gateway.telemetry.spans.span_facts import changer, ids_of, memory_facts
from gateway.telemetry.spans.traces import Traces, add_event, close
from gateway.telemetry.tool_runs import ToolRun

MAX_CHANGES = 100
"""Changes of one run that have an event each."""


class MemorySpans(TelemetryReader):
    """Draws `gateway.memory`, a moment in the call or turn that changed a memory; and `gateway.memory.learn`,
    a root, with its changes as events. Must come after the reader that draws the calls."""

    def __init__(self, traces: Traces) -> None:
        self._traces = traces

    def remembered(self, turn: TurnFacts, run: ToolRun | None, data: dict[str, Any], at: int) -> None:
        span = self._traces.child(
            run.span if run else turn.span,
            semconv.MEMORY,
            f"memory {turn.last_seq}",
            at=at,
            attributes={
                **ids_of(turn),
                **memory_facts(data),
                semconv.MEMORY_BY: changer(data.get("by"), suggested="quarantined" in data),
                semconv.FIRST_SEQ: turn.last_seq,
                semconv.LAST_SEQ: turn.last_seq,
            },
        )
        close(span, at, at, None)

    def learned(self, run: LearningReport) -> None:
        attributes: dict[str, AttributeValue] = {
            semconv.BESIDE_SESSION: run.session_id,
            semconv.REQUEST_MODEL: run.model,
            semconv.LEARNING_CALLS: run.calls,
            semconv.LEARNING_OFFERED: run.offered,
            semconv.LEARNING_DROPPED: sum(run.dropped.values()),
            semconv.LEARNING_CHANGED: len(run.changed),
        }
        if run.usage is not None:
            attributes[semconv.LEARNING_INPUT] = run.usage.total - run.usage.output_tokens
            attributes[semconv.LEARNING_OUTPUT] = run.usage.output_tokens
        trace_id = trace_id_of(learning_id(run.session_id, run.started_at))
        span = self._traces.root(semconv.LEARN, trace_id, at=run.started_at, attributes=attributes)
        for changed in run.changed[:MAX_CHANGES]:
            at = min(max(changed.row.updated_at, run.started_at), run.ended_at)
            add_event(span, semconv.MEMORY, at, memory_facts(changed.event.model_dump(exclude_none=True)))
        close(span, run.ended_at, run.started_at, run.error)
