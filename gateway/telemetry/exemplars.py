"""Which trace a measurement is an example of."""

from collections.abc import Callable

from opentelemetry.context import Context
from opentelemetry.trace import Span, set_span_in_context

from gateway.telemetry.base import Turn
from gateway.telemetry.traces import root_of

Exemplify = Callable[[Span, Turn], Context | None]
"""The context in which to record what was measured of a span; None when it must not become an example."""


def of_trace(trace_id: str) -> Context:
    """The root span of the trace of a turn (32 hex digits), for `Histogram.record`."""
    return set_span_in_context(root_of(trace_id), Context())


def of_span(span: Span, turn: Turn) -> Context | None:
    """`span` of `turn`, or where none is drawn the place of the root span: the trace id alone leads to the
    log lines and to the turn's events."""
    if span.get_span_context().is_valid:
        return set_span_in_context(span, Context())
    return of_trace(turn.trace_id)
