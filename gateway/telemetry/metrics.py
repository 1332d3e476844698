"""What can be counted over all turns. Never by session, user or turn: a series, once made, stays for good."""

from collections.abc import Mapping, Sequence

from opentelemetry.exporter.prometheus import PrometheusMetricReader
from opentelemetry.metrics import Histogram, Meter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import MetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.util.types import AttributeValue
from prometheus_client import CollectorRegistry, ProcessCollector
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from gateway.messages import Usage
from gateway.telemetry import semconv
from gateway.telemetry.base import Call, Reader, ToolRun, Turn
from gateway.telemetry.observer import FAILURES
from gateway.telemetry.streams import Streams

Attributes = Mapping[str, AttributeValue]

_TOOL_NAMES = 200
"""Most tool names that get series of their own. A model can invent any number of names."""

_NOTHING = Usage(input_tokens=0, output_tokens=0)


class Exposition:
    """The instruments' home: what they recorded, for whoever asks (`render`) and for `push` readers."""

    def __init__(self, resource: Resource, push: Sequence[MetricReader] = ()) -> None:
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        pull = PrometheusMetricReader(scope_info_enabled=False, registry=self._registry)
        self.provider = MeterProvider([pull, *push], resource, shutdown_on_exit=False)
        self.meter = self.provider.get_meter("gateway")

    def render(self) -> tuple[bytes, str]:
        """The Prometheus text format 0.0.4 and its content type."""
        return generate_latest(self._registry), CONTENT_TYPE_PLAIN_0_0_4


class Metrics(Reader):
    """Counts turns, model calls and tool runs; `streams` counts the readers of the event streams."""

    def __init__(self, meter: Meter, agent: str) -> None:
        self.streams = Streams(meter)
        self._agent = agent
        self._tool_names: set[str] = set()
        self._make_call_instruments(meter)
        self._make_turn_instruments(meter)

    def _make_call_instruments(self, meter: Meter) -> None:
        self._call_seconds = _histogram(
            meter, "gen_ai.client.inference.duration", "s", "Model calls, retries included.", semconv.SECONDS
        )
        self._first_chunk_seconds = _histogram(
            meter,
            "gen_ai.client.inference.time_to_first_chunk",
            "s",
            "From a model call's start to its first content.",
            semconv.SECONDS,
        )
        self._tokens = {
            name: meter.create_counter(f"gen_ai.client.inference.usage.{name}", "{token}", description)
            for name, description in (
                ("input_tokens", "Input tokens, cached ones included."),
                ("output_tokens", "Output tokens."),
                ("cache_read.input_tokens", "Input tokens read from the prompt cache."),
                ("cache_write.input_tokens", "Input tokens written to the prompt cache."),
            )
        }
        self._call_input = _histogram(
            meter,
            "gen_ai.client.inference.operation.input_tokens",
            "{token}",
            "Input tokens of one model call.",
            semconv.TOKENS,
        )
        self._call_output = _histogram(
            meter,
            "gen_ai.client.inference.operation.output_tokens",
            "{token}",
            "Output tokens of one model call.",
            semconv.TOKENS,
        )
        self._retries = meter.create_counter(
            "gateway.upstream.retries", "{retry}", "Attempts of a model call that failed and were repeated."
        )
        self._cost = meter.create_counter("gateway.cost", "USD", "What model calls cost, where it is known.")

    def _make_turn_instruments(self, meter: Meter) -> None:
        self._turn_seconds = _histogram(
            meter,
            "gen_ai.invoke_agent.duration",
            "s",
            "Turns, from acceptance to the end.",
            semconv.AGENT_SECONDS,
        )
        self._turn_calls = _histogram(
            meter,
            "gen_ai.invoke_agent.inference_calls",
            "{inference_call}",
            "Model calls of one turn.",
            semconv.COUNTS,
        )
        self._turn_tools = _histogram(
            meter, "gen_ai.invoke_agent.tool_calls", "{tool_call}", "Tool calls of one turn.", semconv.COUNTS
        )
        self._tool_seconds = _histogram(
            meter, "gen_ai.execute_tool.duration", "s", "Executions of a tool.", semconv.SECONDS
        )
        self._active = meter.create_up_down_counter("gateway.turn.active", "{turn}", "Turns in progress.")
        self._turns = meter.create_counter("gateway.turns", "{turn}", "Turns that ended, by outcome.")
        self._unreported = meter.create_counter(
            "gateway.usage.unreported",
            "{call}",
            "Model calls that began to answer and never told their usage.",
        )

    def turn_started(self, turn: Turn) -> None:
        self._active.add(1)

    def call_retried(self, turn: Turn, call: Call, reason: str, usage: Usage | None, at: int) -> None:
        self._retries.add(1, {semconv.REQUEST_MODEL: call.model, semconv.REASON: reason})
        if usage is not None:
            self._count_tokens(usage, _chat(call))

    def call_ended(self, turn: Turn, call: Call) -> None:
        chat = _chat(call)
        outcome = _with_error(chat, call.error)
        self._call_seconds.record(call.seconds, outcome)
        if (seconds := call.seconds_to_first_chunk) is not None:
            self._first_chunk_seconds.record(seconds, chat)
        self._count_tokens(call.usage or _NOTHING, chat)
        if call.usage is not None:
            self._call_input.record(call.usage.total - call.usage.output_tokens, outcome)
            self._call_output.record(call.usage.output_tokens, outcome)
        if call.cost is not None:
            self._cost.add(call.cost, {semconv.REQUEST_MODEL: call.model})

    def tool_ended(self, turn: Turn, run: ToolRun) -> None:
        if run.status is None:
            return
        about = {
            semconv.TOOL: self._tool_name(run),
            semconv.TOOL_TYPE: "function",
            semconv.AGENT: self._agent,
        }
        self._tool_seconds.record(run.duration_ms / 1000, _with_error(about, run.error))

    def turn_ended(self, turn: Turn) -> None:
        agent = {semconv.AGENT: self._agent}
        self._active.add(-1)
        self._turns.add(1, {**agent, semconv.OUTCOME: turn.outcome or semconv.UNFINISHED})
        self._unreported.add(turn.totals.get("usage_unreported", 0))
        failed = turn.outcome in FAILURES
        self._turn_seconds.record(
            turn.totals["duration_ms"] / 1000, _with_error(agent, turn.error if failed else None)
        )
        self._turn_calls.record(turn.totals["iterations"], agent)
        if turn.whole:
            self._turn_tools.record(turn.tool_calls, agent)

    def turn_lost(self, turn: Turn) -> None:
        self._active.add(-1)

    def _count_tokens(self, usage: Usage, chat: Attributes) -> None:
        about = {**chat, semconv.MODALITY: "text"}
        self._tokens["input_tokens"].add(usage.total - usage.output_tokens, about)
        self._tokens["output_tokens"].add(usage.output_tokens, about)
        self._tokens["cache_read.input_tokens"].add(usage.cache_read_input_tokens, about)
        self._tokens["cache_write.input_tokens"].add(usage.cache_creation_input_tokens, about)

    def _tool_name(self, run: ToolRun) -> str:
        if run.name not in self._tool_names:
            if len(self._tool_names) >= _TOOL_NAMES:
                return semconv.OTHER
            self._tool_names.add(run.name)
        return run.name


def _histogram(meter: Meter, name: str, unit: str, description: str, buckets: Sequence[float]) -> Histogram:
    return meter.create_histogram(name, unit, description, explicit_bucket_boundaries_advisory=buckets)


def _chat(call: Call) -> Attributes:
    return {
        semconv.OPERATION: semconv.CHAT,
        semconv.PROVIDER: semconv.ANTHROPIC,
        semconv.REQUEST_MODEL: call.model,
    }


def _with_error(attributes: Attributes, error: str | None) -> Attributes:
    return attributes if error is None else {**attributes, semconv.ERROR_TYPE: error}
