"""Tracing of one process, opened when there is a collector to send spans to."""

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter
from opentelemetry.trace import Span, SpanContext

from gateway.model.endpoint_profile import takes_sampling
from gateway.settings import Settings
from gateway.telemetry.metrics.exemplars import of_span
from gateway.telemetry.metrics.registry import endpoint_of
from gateway.telemetry.spans.http_spans import HttpSpans
from gateway.telemetry.spans.message_content import Content
from gateway.telemetry.spans.sampling import OutcomeSampler, Policy
from gateway.telemetry.spans.side_call_spans import CallSpans
from gateway.telemetry.spans.span_creation import Traces, TurnIds
from gateway.telemetry.spans.span_export import SpanExport
from gateway.telemetry.spans.tool_spans import ToolSpans
from gateway.telemetry.spans.turn_spans import Called, Spans
from gateway.telemetry.spans.upkeep_spans import UpkeepSpans
from gateway.telemetry.turn_facts import TelemetryReader, TurnFacts

MAX_WAIT = 3600.0
"""Seconds a trace may wait for its turn's end, at least."""
SLOW, SLOW_FIRST = 30, 5
"""Seconds after which a turn, and the first content of a model call, count as slow: such traces are kept."""
MAX_CONTENT = 32_768
"""Characters of one attribute with content."""


class TraceExport:
    """`readers` draw spans from the facts of the observer, `http` those of requests; `export` knows what was
    lost. With `content` spans carry messages."""

    def __init__(
        self, settings: Settings, resource: Resource, exporter: SpanExporter, *, content: bool = False
    ) -> None:
        ids = TurnIds()
        policy = Policy(
            ratio=settings.trace_ratio,
            slow=SLOW,
            slow_first=SLOW_FIRST,
            longest_wait=max(MAX_WAIT, 2 * settings.turn_timeout),
        )
        self.provider = TracerProvider(resource=resource, id_generator=ids, shutdown_on_exit=False)
        self.export = SpanExport(exporter)
        self.sampler = OutcomeSampler(self.export, policy, self.export.lose)
        self.provider.add_span_processor(self.sampler)
        traces = Traces(self.provider, ids)
        salt = settings.user_id_salt.get_secret_value() if settings.user_id_salt is not None else None
        called = Called(
            agent=settings.agent_name,
            server=endpoint_of(settings),
            max_tokens=settings.max_tokens,
            temperature=settings.temperature if takes_sampling(settings.model_api_version) else None,
            dup=settings.genai_compat == "dup",
            salt=salt,
        )
        spans, upkeep = Spans(traces, called), UpkeepSpans(traces, content=content)
        self.readers: list[TelemetryReader] = [
            spans,
            ToolSpans(traces, called),
            upkeep,
            CallSpans(traces, called, upkeep),
        ]
        if content:  # first: what it adds to a span must come before its end
            self.readers.insert(0, Content(MAX_CONTENT))
        self.http = HttpSpans(traces, spans, upkeep)

    @property
    def spans_lost(self) -> int:
        """How many spans no collector will get, of those that were to be kept."""
        return sum(self.export.lost.values())

    def exemplify(self, span: Span, turn: TurnFacts) -> SpanContext | None:
        """As `exemplars.Exemplify`: only what leads to a trace that is kept."""
        return of_span(span, turn) if self.keeps(turn.trace_id) else None

    def keeps(self, trace_id: str) -> bool:
        """Whether it is certain by now that the trace of that id (32 hex digits) is kept."""
        return self.sampler.will_keep(int(trace_id, 16))

    def shutdown(self) -> None:
        """Sends what is left, as long as the exporter tries."""
        self.provider.shutdown()


def open_tracing(settings: Settings, resource: Resource, *, content: bool) -> TraceExport:
    """Tracing over OTLP/HTTP, to the endpoint of the standard OTEL_* variables."""
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 - slow, seldom needed
        OTLPSpanExporter,
    )

    return TraceExport(settings, resource, OTLPSpanExporter(), content=content)
