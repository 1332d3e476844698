"""Spans of the model calls that are no part of a turn's answer."""

from opentelemetry.trace import Span, SpanKind

from gateway.model.side_calls import ModelCall
from gateway.telemetry import semconv
from gateway.telemetry.spans.span_attributes import call_facts, turn_ids
from gateway.telemetry.spans.span_creation import Attributes, Traces, add_event, close, root_of
from gateway.telemetry.spans.turn_spans import Called
from gateway.telemetry.spans.upkeep_spans import UpkeepSpans
from gateway.telemetry.turn_facts import TelemetryReader


class CallSpans(TelemetryReader):
    """Draws a `chat` span for each: a child of the turn, compression or reading that it is a part of, or a
    root."""

    def __init__(self, traces: Traces, called: Called, upkeep: UpkeepSpans) -> None:
        self._traces = traces
        self._called = called
        self._upkeep = upkeep
        self._drawn = 0

    def model_called(self, call: ModelCall) -> None:
        span = self._start(call, {**self._ids(call), **self._called.asked(call)})
        for number, attempt in enumerate(call.superseded, 1):
            add_event(
                span, semconv.RETRY, attempt.at, {semconv.ATTEMPT: number, semconv.ERROR_TYPE: attempt.reason}
            )
        if call.first_content_at is not None:
            add_event(span, semconv.FIRST_CHUNK, call.first_content_at)
        span.set_attributes(call_facts(call, dup=self._called.dup))
        close(span, call.ended_at, call.started_at, call.error)

    def _start(self, call: ModelCall, attributes: Attributes) -> Span:
        name, kind = f"{semconv.CHAT} {call.model}", SpanKind.CLIENT
        if call.context.turn_id is None and call.context.operation is None:
            return self._traces.root(
                name, call.trace_id, at=call.started_at, attributes=attributes, kind=kind
            )
        self._drawn += 1  # two calls may begin in one millisecond
        part = f"{call.purpose} {call.started_at} {self._drawn}"
        parent = self._parent_of(call)
        return self._traces.child(parent, name, part, at=call.started_at, attributes=attributes, kind=kind)

    def _parent_of(self, call: ModelCall) -> Span:
        if call.purpose == "compression" and call.context.session_id is not None:
            running = self._upkeep.running(call.context.session_id)
            if running is not None and f"{running.get_span_context().trace_id:032x}" == call.trace_id:
                return running
        return root_of(call.trace_id)

    def _ids(self, call: ModelCall) -> Attributes:
        context = call.context
        found = {semconv.OPERATION: semconv.CHAT}
        if context.session_id is not None and context.turn_id is not None:
            return {
                **found,
                semconv.AGENT: self._called.agent,
                **turn_ids(context.session_id, context.turn_id),
            }
        return found if context.session_id is None else {**found, semconv.BESIDE_SESSION: context.session_id}
