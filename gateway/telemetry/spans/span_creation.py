"""Starts spans whose ids follow from what they are about (ids.py), and lets requests and turns find each
other."""

from collections.abc import Mapping, Sequence

from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    set_span_in_context,
)
from opentelemetry.util.types import AttributeValue

from gateway.ids import root_span_id, span_id_of
from gateway.telemetry import semconv

Attributes = Mapping[str, AttributeValue | None]
"""None: the span does not have it."""


class TurnIds(RandomIdGenerator):
    """Random ids, but for the next span the ones that were asked for."""

    def __init__(self) -> None:
        self._trace_id: str | None = None
        self._span_id: str | None = None

    def next_root(self, trace_id: str) -> None:
        self._trace_id, self._span_id = trace_id, root_span_id(trace_id)

    def next_child(self, span_id: str) -> None:
        self._trace_id, self._span_id = None, span_id

    def generate_trace_id(self) -> int:
        return int(self._trace_id, 16) if self._trace_id else super().generate_trace_id()

    def generate_span_id(self) -> int:
        span_id, self._trace_id, self._span_id = self._span_id, None, None
        return int(span_id, 16) or 1 if span_id else super().generate_span_id()


class Traces:
    """Draws spans after the fact; times are Unix milliseconds. `provider` must have been made with `ids`."""

    def __init__(self, provider: TracerProvider, ids: TurnIds) -> None:
        self._tracer = provider.get_tracer("gateway")
        self._ids = ids

    def root(
        self,
        name: str,
        trace_id: str,
        *,
        at: int,
        attributes: Attributes,
        requester: SpanContext | None = None,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Span:
        """The root of a trace; `requester` is the span of the request that asked for it."""
        self._ids.next_root(trace_id)
        span = self._tracer.start_span(
            name, context=Context(), kind=kind, attributes=known(attributes), start_time=_ns(at)
        )
        if requester is not None:
            link_to_requester(span, requester)
        return span

    def child(
        self,
        parent: Span,
        name: str,
        part: str,
        *,
        at: int,
        attributes: Attributes,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Span:
        """A child of `parent`; `part` is its part of the trace, and its id follows from that."""
        trace_id = f"{parent.get_span_context().trace_id:032x}"
        self._ids.next_child(span_id_of(trace_id, part))
        context = set_span_in_context(parent, Context())
        return self._tracer.start_span(
            name, context=context, kind=kind, attributes=known(attributes), start_time=_ns(at)
        )

    def request(self, name: str, *, attributes: Attributes, links: Sequence[Link] = ()) -> Span:
        """The span of a request, from now on: a root for every client."""
        return self._tracer.start_span(
            name, context=Context(), kind=SpanKind.SERVER, attributes=known(attributes), links=links
        )


def known(attributes: Attributes) -> dict[str, AttributeValue]:
    """Those that have a value."""
    return {name: value for name, value in attributes.items() if value is not None}


def root_of(trace_id: str) -> Span:
    """The root of a trace (32 hex digits), drawn or not, as a parent or an example."""
    sampled = TraceFlags(TraceFlags.SAMPLED)  # the SDK records nothing under others
    span_id = int(root_span_id(trace_id), 16)
    return NonRecordingSpan(SpanContext(int(trace_id, 16), span_id, is_remote=False, trace_flags=sampled))


def link_to_requester(span: Span, requester: SpanContext) -> None:
    """Backends that do not show links show the attribute."""
    span.add_link(requester, {semconv.LINK: "triggered_by"})
    span.set_attribute(semconv.REQUEST_TRACE, f"{requester.trace_id:032x}")


def add_event(span: Span, name: str, at: int, attributes: Attributes | None = None) -> None:
    span.add_event(name, known(attributes or {}), _ns(at))


def close(span: Span, at: int | None, started_at: int, error: str | None) -> None:
    """Ends the span at `at`, with `error` as its error.type if it is one. No description: an endpoint's
    message about a failure may quote the prompt."""
    if error is not None:
        span.set_status(StatusCode.ERROR)
        span.set_attribute(semconv.ERROR_TYPE, error)
    span.end(_ns(max(at or started_at, started_at)))


def _ns(milliseconds: int) -> int:
    return milliseconds * 1_000_000
