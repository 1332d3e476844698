"""One trace per turn, drawn from the times in its events."""

from collections.abc import Mapping
from typing import Any

from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, StatusCode, set_span_in_context
from opentelemetry.util.types import AttributeValue

from gateway.messages import Usage
from gateway.telemetry import semconv
from gateway.telemetry.base import Call, Reader, ToolRun, Turn
from gateway.telemetry.observer import FAILURES

Attributes = Mapping[str, AttributeValue]


def root_span_id(trace_id: str) -> str:
    """The id of a turn's root span: the lower half of its trace id, so that whoever knows that id can link
    to the root."""
    return f"{int(trace_id[16:], 16) or 1:016x}"


class TurnIds(RandomIdGenerator):
    """Random ids, but for the next root span the ones of a turn."""

    def __init__(self) -> None:
        self._trace_id: str | None = None

    def next_root(self, trace_id: str) -> None:
        self._trace_id = trace_id

    def generate_trace_id(self) -> int:
        return int(self._trace_id, 16) if self._trace_id else super().generate_trace_id()

    def generate_span_id(self) -> int:
        trace_id, self._trace_id = self._trace_id, None
        return int(root_span_id(trace_id), 16) if trace_id else super().generate_span_id()


class Spans(Reader):
    """Draws `invoke_agent` with its `chat`, `execute_tool` and `retrieval` children.

    No content gets into a span: names, counts and codes only. `provider` must have been made with `ids`.
    """

    def __init__(self, provider: TracerProvider, ids: TurnIds, agent: str) -> None:
        self._tracer = provider.get_tracer("gateway")
        self._ids = ids
        self._agent = agent

    def turn_started(self, turn: Turn, link: SpanContext | None = None) -> None:
        """Opens the root span; `link` is the span of the request that asked for the turn, when known."""
        attributes: dict[str, AttributeValue] = {semconv.FIRST_SEQ: turn.first_seq}
        if turn.model is not None:
            attributes[semconv.REQUEST_MODEL] = turn.model
        if not turn.whole:
            attributes[semconv.RESUMED] = True
        self._ids.next_root(turn.trace_id)
        turn.span = self._tracer.start_span(
            f"{semconv.INVOKE_AGENT} {self._agent}",
            context=Context(),
            kind=SpanKind.INTERNAL,
            attributes=self._common(turn, semconv.INVOKE_AGENT) | attributes,
            links=[Link(link, {semconv.LINK: "triggered_by"})] if link else None,
            start_time=_ns(turn.started_at),
        )

    def call_started(self, turn: Turn, call: Call) -> None:
        call.span = self._child(
            turn,
            turn.span,
            semconv.CHAT,
            call.model,
            kind=SpanKind.CLIENT,
            at=call.started_at,
            attributes={
                semconv.PROVIDER: semconv.ANTHROPIC,
                semconv.REQUEST_MODEL: call.model,
                semconv.REQUEST_STREAM: True,
                semconv.ITERATION: call.iteration,
            },
        )

    def call_retried(self, turn: Turn, call: Call, reason: str, usage: Usage | None, at: int) -> None:
        call.span.add_event(
            semconv.RETRY, {semconv.ATTEMPT: call.attempts, semconv.ERROR_TYPE: reason}, _ns(at)
        )

    def call_ended(self, turn: Turn, call: Call) -> None:
        if call.first_content_at is not None:
            call.span.add_event(semconv.FIRST_CHUNK, timestamp=_ns(call.first_content_at))
        call.span.set_attributes(_call_attributes(call))
        _close(call.span, call.ended_at, call.started_at, call.error)

    def tool_started(self, turn: Turn, run: ToolRun) -> None:
        attributes: dict[str, AttributeValue] = {
            semconv.TOOL: run.name,
            semconv.TOOL_TYPE: "function",
            semconv.TOOL_CALL_ID: run.call_id,
        }
        if run.effect is not None:
            attributes[semconv.TOOL_EFFECT] = run.effect
        run.span = self._child(
            turn,
            turn.span,
            semconv.EXECUTE_TOOL,
            run.name,
            kind=SpanKind.INTERNAL,
            at=run.started_at,
            attributes=attributes,
        )

    def tool_ended(self, turn: Turn, run: ToolRun) -> None:
        if run.status is not None:
            run.span.set_attribute(semconv.TOOL_STATUS, run.status)
        _close(run.span, run.ended_at, run.started_at, run.error)

    def retrieved(self, turn: Turn, run: ToolRun | None, data: dict[str, Any], at: int) -> None:
        # A point in time: the event tells when something was found, not when the search began.
        span = self._child(
            turn,
            run.span if run else turn.span,
            semconv.RETRIEVAL,
            data["source"],
            kind=SpanKind.CLIENT,
            at=at,
            attributes={
                semconv.DATA_SOURCE: data["source"],
                semconv.RETRIEVAL_RESULTS: len(data["results"]),
                semconv.RETRIEVAL_TOKENS: data["tokens"],
                semconv.RETRIEVAL_DEGRADED: data.get("degraded", False),
            },
        )
        _close(span, at, at, None)

    def turn_ended(self, turn: Turn) -> None:
        turn.span.set_attributes(_turn_attributes(turn))
        _close(turn.span, turn.seen_at, turn.started_at, turn.error if turn.outcome in FAILURES else None)

    def turn_lost(self, turn: Turn) -> None:
        turn.span.set_attributes({semconv.OUTCOME: semconv.UNFINISHED, semconv.LAST_SEQ: turn.last_seq})
        _close(turn.span, turn.seen_at, turn.started_at, None)

    def _child(
        self,
        turn: Turn,
        parent: Span,
        operation: str,
        subject: str,
        *,
        kind: SpanKind,
        at: int,
        attributes: Attributes,
    ) -> Span:
        return self._tracer.start_span(
            f"{operation} {subject}",
            context=set_span_in_context(parent, Context()),
            kind=kind,
            attributes={**self._common(turn, operation), **attributes},
            start_time=_ns(at),
        )

    def _common(self, turn: Turn, operation: str) -> dict[str, AttributeValue]:
        return {
            semconv.OPERATION: operation,
            semconv.AGENT: self._agent,
            semconv.CONVERSATION: turn.session_id,
            semconv.SESSION: turn.session_id,
            semconv.TURN: turn.id,
        }


def _call_attributes(call: Call) -> Attributes:
    found: dict[str, AttributeValue] = {
        semconv.ATTEMPTS: call.attempts,
        semconv.TEXT_PIECES: call.text_pieces,
        semconv.THINKING_PIECES: call.thinking_pieces,
    }
    if call.stop_reason is not None:
        found[semconv.FINISH_REASONS] = [semconv.FINISH.get(call.stop_reason, call.stop_reason)]
        found[semconv.STOP_REASON] = call.stop_reason
    if (seconds := call.seconds_to_first_chunk) is not None:
        found[semconv.TIME_TO_FIRST_CHUNK] = seconds
    if call.cost is not None:
        found[semconv.CALL_COST] = call.cost
    if (usage := call.usage) is not None:
        found |= {
            semconv.USAGE_INPUT: usage.total - usage.output_tokens,
            semconv.USAGE_OUTPUT: usage.output_tokens,
            semconv.USAGE_CACHE_READ: usage.cache_read_input_tokens,
            semconv.USAGE_CACHE_WRITE: usage.cache_creation_input_tokens,
            semconv.USAGE_CACHE_CREATION: usage.cache_creation_input_tokens,
        }
    return found


def _turn_attributes(turn: Turn) -> Attributes:
    totals = turn.totals
    found: dict[str, AttributeValue] = {
        semconv.OUTCOME: turn.outcome or semconv.UNFINISHED,
        semconv.LAST_SEQ: turn.last_seq,
        semconv.TURN_ITERATIONS: totals["iterations"],
        semconv.TURN_UNREPORTED: totals.get("usage_unreported", 0),
    }
    if turn.whole:
        found[semconv.TURN_TOOL_CALLS] = turn.tool_calls
    if "cost" in totals:
        found[semconv.TURN_COST] = totals["cost"]
    if "usage" in totals:
        usage = Usage.model_validate(totals["usage"])
        found |= {
            semconv.TURN_INPUT: usage.total - usage.output_tokens,
            semconv.TURN_OUTPUT: usage.output_tokens,
            semconv.TURN_CACHE_READ: usage.cache_read_input_tokens,
            semconv.TURN_CACHE_WRITE: usage.cache_creation_input_tokens,
        }
    return found


def _close(span: Span, at: int | None, started_at: int, error: str | None) -> None:
    if error is not None:
        span.set_status(StatusCode.ERROR)
        span.set_attribute(semconv.ERROR_TYPE, error)
    span.end(_ns(max(at or started_at, started_at)))


def _ns(milliseconds: int) -> int:
    return milliseconds * 1_000_000
