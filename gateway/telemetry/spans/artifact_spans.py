"""Spans of what is kept aside of tool results. The files of a message are attributes of its turn's span."""

from typing import Any

from gateway.telemetry import semconv
from gateway.telemetry.facts import TelemetryReader, TurnFacts
from gateway.telemetry.spans.span_facts import artifact_facts, ids_of
from gateway.telemetry.spans.traces import Traces, add_event, close
from gateway.telemetry.tool_runs import ToolRun


class ArtifactSpans(TelemetryReader):
    """Draws `gateway.artifact`, a moment in the call whose result was kept aside; what could not be kept or
    shown is an event of the turn. Must come after the reader that draws the calls."""

    def __init__(self, traces: Traces) -> None:
        self._traces = traces

    def offloaded(self, turn: TurnFacts, run: ToolRun | None, data: dict[str, Any], at: int) -> None:
        span = self._traces.child(
            run.span if run else turn.span,
            semconv.ARTIFACT,
            f"artifact {turn.last_seq}",
            at=at,
            attributes={
                **ids_of(turn),
                **artifact_facts(data),
                semconv.FIRST_SEQ: turn.last_seq,
                semconv.LAST_SEQ: turn.last_seq,
            },
        )
        close(span, at, at, None)

    def warned(self, turn: TurnFacts, data: dict[str, Any]) -> None:
        for code in data.get("reasons", (data["code"],)):
            if code in semconv.ARTIFACT_WARNINGS:
                add_event(turn.span, semconv.WARNING, turn.seen_at, {semconv.WARNING_CODE: code})
