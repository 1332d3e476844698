"""Spans drawn of stories, and how to look at them."""

from collections.abc import Mapping, Sequence
from typing import Any

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext, TraceFlags

from gateway.telemetry.observer import Observer
from gateway.telemetry.spans.span_creation import Traces, TurnIds
from gateway.telemetry.spans.tool_spans import ToolSpans
from gateway.telemetry.spans.turn_spans import Called, Spans
from gateway.telemetry.spans.upkeep_spans import UpkeepSpans
from tests.telemetry.story import Story

SUPPORT = Called("support", max_tokens=8192)
REQUEST = SpanContext(trace_id=5, span_id=6, is_remote=False, trace_flags=TraceFlags(1))


class Drawing:
    """An observer with nothing but spans, and what it has exported."""

    def __init__(self, turn_limit: int = 100, called: Called = SUPPORT, *, content: bool = False) -> None:
        self.exporter = InMemorySpanExporter()
        ids = TurnIds()
        provider = TracerProvider(id_generator=ids, shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        traces = Traces(provider, ids)
        self.spans, self.upkeep = Spans(traces, called), UpkeepSpans(traces, content=content)
        tools = ToolSpans(traces, called)
        readers = [self.spans, tools, self.upkeep]
        self.observer = Observer(readers, turn_limit=turn_limit)

    def draw(self, story: Story) -> dict[str, ReadableSpan]:
        self.observer.observe(story.session_id, story.events)
        return {span.name: span for span in self.exporter.get_finished_spans()}


def attributes(span: ReadableSpan) -> Mapping[str, Any]:
    return span.attributes or {}


def place(span: ReadableSpan) -> SpanContext:
    assert span.context is not None
    return span.context


def parent_name(span: ReadableSpan, all_spans: Mapping[str, ReadableSpan]) -> str | None:
    names = {place(other).span_id: name for name, other in all_spans.items()}
    return names[span.parent.span_id] if span.parent else None


def milliseconds(span: ReadableSpan) -> tuple[int, int]:
    assert span.start_time is not None
    assert span.end_time is not None
    return span.start_time // 1_000_000, span.end_time // 1_000_000


def moments(events: Sequence[Any]) -> list[tuple[str, int]]:
    return [(event.name, event.timestamp // 1_000_000) for event in events]
