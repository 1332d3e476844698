"""Which trace a measurement is an example of."""

from collections.abc import Callable

from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, TraceFlags, set_span_in_context

from gateway.ids import root_span_id
from gateway.telemetry.base import Turn

Exemplify = Callable[[Span, Turn], Context | None]
"""The context in which to record what was measured of a span; None when it must not become an example."""


def of_trace(trace_id: str) -> Context:
    """The root span of the trace of a turn (32 hex digits), for `Histogram.record`."""
    sampled = TraceFlags(TraceFlags.SAMPLED)  # the SDK takes no exemplar from others
    context = SpanContext(
        int(trace_id, 16), int(root_span_id(trace_id), 16), is_remote=False, trace_flags=sampled
    )
    return set_span_in_context(NonRecordingSpan(context), Context())


def of_span(span: Span, turn: Turn) -> Context | None:
    """`span` of `turn`, or where none is drawn the place of the root span: the trace id alone leads to the
    log lines and to the turn's events."""
    if span.get_span_context().is_valid:
        return set_span_in_context(span, Context())
    return of_trace(turn.trace_id)
