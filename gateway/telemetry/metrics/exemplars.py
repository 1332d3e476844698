"""Which trace a measurement is an example of."""

from collections.abc import Callable

from opentelemetry.trace import Span, SpanContext

from gateway.telemetry.spans.span_creation import root_of
from gateway.telemetry.turn_facts import TurnFacts

Exemplify = Callable[[Span, TurnFacts], SpanContext | None]
"""The span that is an example of what was measured of one; None when there must be none."""


def of_trace(trace_id: str) -> SpanContext:
    """The root span of the trace of a turn (32 hex digits), for `Histogram.record`."""
    return root_of(trace_id).get_span_context()


def of_span(span: Span, turn: TurnFacts) -> SpanContext | None:
    """`span` of `turn`, or where none is drawn the place of the root span: the trace id alone leads to the
    log lines and to the turn's events."""
    context = span.get_span_context()
    return context if context.is_valid else of_trace(turn.trace_id)
