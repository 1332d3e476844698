"""All instruments of the process, made from settings, by the part that reports to them."""

from collections.abc import Callable, Mapping
from urllib.parse import urlsplit

from opentelemetry.sdk.resources import Resource
from opentelemetry.util.types import AttributeValue

from gateway.model.endpoint_address import ANTHROPIC_URL
from gateway.settings import Settings
from gateway.telemetry import semconv
from gateway.telemetry.metrics import instrument_table as table
from gateway.telemetry.metrics.artifact_metrics import ArtifactMetrics
from gateway.telemetry.metrics.call_metrics import CallMetrics
from gateway.telemetry.metrics.counters import Observed
from gateway.telemetry.metrics.exemplars import Exemplify, of_span
from gateway.telemetry.metrics.exposition import Exposition
from gateway.telemetry.metrics.instrument_table import Instrument
from gateway.telemetry.metrics.limit_metrics import LimitMetrics
from gateway.telemetry.metrics.memory_metrics import MemoryMetrics
from gateway.telemetry.metrics.process_metrics import LogMetrics, LoopMetrics, measured_pools
from gateway.telemetry.metrics.queue_metrics import QueueMetrics
from gateway.telemetry.metrics.request_metrics import Requests
from gateway.telemetry.metrics.schedule_metrics import ScheduleMetrics
from gateway.telemetry.metrics.stored_metrics import (
    StoredArtifacts,
    StoredDatabase,
    StoredDeliveries,
    StoredMemories,
)
from gateway.telemetry.metrics.stream_metrics import Streams
from gateway.telemetry.metrics.tool_metrics import ToolMetrics
from gateway.telemetry.metrics.turn_metrics import TurnMetrics
from gateway.telemetry.metrics.webhook_metrics import WebhookMetrics
from gateway.telemetry.turn_facts import TelemetryReader

PORTS = {"http": 80, "https": 443}


class MetricsRegistry:
    """`readers` are for the observer, the others for the code that they measure. With `pushed` all is sent
    over OTLP as well. `exemplify` chooses which spans become exemplars, and `is_kept` which traces, by their
    ids."""

    def __init__(
        self,
        settings: Settings,
        resource: Resource,
        *,
        pushed: bool = False,
        exemplify: Exemplify = of_span,
        is_kept: Callable[[str], bool] = lambda _: True,
    ) -> None:
        failures: dict[str, Callable[[], int]] = {}
        exporters = []
        if pushed:
            from gateway.telemetry.metrics.push import CountingExporter  # noqa: PLC0415 - slow, seldom needed

            exporter = CountingExporter()
            failures["metrics"] = lambda: exporter.failures
            exporters.append(exporter)
        self.exposition = Exposition(resource, exporters)
        self._failures = failures
        calls = CallMetrics(
            self.exposition,
            exemplify,
            endpoint=endpoint_of(settings),
            models=settings.models,
            dup=settings.genai_compat == "dup",
        )
        agent = settings.agent_name
        self.readers: list[TelemetryReader] = [
            TurnMetrics(self.exposition, agent, exemplify),
            calls,
            ToolMetrics(self.exposition, agent, exemplify),
            MemoryMetrics(self.exposition, exemplify),
            ArtifactMetrics(self.exposition),
            WebhookMetrics(self.exposition),
        ]
        self.memories = StoredMemories(self.exposition)
        self.artifacts = StoredArtifacts(self.exposition)
        self.deliveries = StoredDeliveries(self.exposition)
        self.database = StoredDatabase(self.exposition)
        self.schedules = ScheduleMetrics(self.exposition)
        self.limits = LimitMetrics(self.exposition)
        self.queue = QueueMetrics(self.exposition)
        self.streams = Streams(self.exposition, is_kept)
        self.requests = Requests(self.exposition)
        self.log = LogMetrics(self.exposition)
        self.pools = measured_pools(self.exposition)
        self.loop = LoopMetrics(self.exposition)
        self.observe(table.EXPORT_FAILURES, lambda: {(signal,): read() for signal, read in failures.items()})

    def observe(self, instrument: Instrument, read: Callable[[], Observed]) -> None:
        """Exports what `read` returns at each collection of the metrics, on another thread: a number, or one
        by the values of the instrument's labels."""
        self.exposition.counters.observe(instrument, read)

    def observe_export(self, spans_lost: Callable[[], int], failures: Callable[[], int]) -> None:
        """How many spans were lost before they could be sent, and how often sending failed."""
        self.observe(table.SPANS_DROPPED, spans_lost)
        self._failures["traces"] = failures


def endpoint_of(settings: Settings) -> Mapping[str, AttributeValue]:
    """The server that models are asked at; nothing when none is configured."""
    if not settings.has_model:
        return {}
    url = urlsplit(settings.anthropic_base_url or ANTHROPIC_URL)
    port = url.port or PORTS.get(url.scheme)
    found: dict[str, AttributeValue] = {semconv.SERVER_ADDRESS: url.hostname or ""}
    if port is not None:
        found[semconv.SERVER_PORT] = port
    return found
