"""All instruments of the process, made from settings, by the part that reports to them."""

from collections.abc import Callable, Collection, Iterable, Mapping
from urllib.parse import urlsplit

from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.sdk.resources import Resource
from opentelemetry.util.types import AttributeValue

from gateway.memory.documents.folder import FolderContents
from gateway.settings import Settings
from gateway.telemetry import semconv
from gateway.telemetry.facts import TelemetryReader
from gateway.telemetry.metrics.artifact_metrics import ArtifactMetrics, StoredArtifacts
from gateway.telemetry.metrics.call_metrics import CallMetrics
from gateway.telemetry.metrics.exemplars import Exemplify, of_span
from gateway.telemetry.metrics.exposition import Exposition
from gateway.telemetry.metrics.memory_metrics import MemoryMetrics, StoredMemories
from gateway.telemetry.metrics.process_metrics import LogMetrics, LoopMetrics
from gateway.telemetry.metrics.request_metrics import Requests
from gateway.telemetry.metrics.stream_metrics import Streams
from gateway.telemetry.metrics.tool_metrics import ToolMetrics
from gateway.telemetry.metrics.turn_metrics import TurnMetrics

ANTHROPIC_URL = "https://api.anthropic.com"
"""Where the SDK asks when no other address is given."""
PORTS = {"http": 80, "https": 443}


class MetricsRegistry:
    """`readers` are for the observer, the others for whoever does what they measure. What the `watch_`
    methods are given is called from another thread, whenever somebody asks for the metrics. With `pushed` all
    is sent over OTLP as well. `exemplify` chooses which spans become exemplars, and `is_kept` which traces,
    by their ids."""

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
        ]
        self.memories = StoredMemories(self.exposition)
        self.artifacts = StoredArtifacts(self.exposition)
        self.streams = Streams(self.exposition, is_kept)
        self.requests = Requests(self.exposition)
        self.log = LogMetrics(self.exposition)
        self.loop = LoopMetrics(self.exposition)
        self.exposition.meter.create_observable_counter(
            "gateway.telemetry.export_failures",
            [self._count_failures],
            "{failure}",
            "Attempts to send spans or metrics to a collector that failed.",
        )

    def watch_queue(self, turns: Callable[[], int]) -> None:
        """`turns` returns how many accepted turns wait for those before them."""
        self._gauge(
            "gateway.admission.queue_depth", "{turn}", "Turns that wait for those before them.", turns
        )

    def watch_readers(self, readers: Callable[[], int]) -> None:
        """`readers` returns how many follow the log."""
        self._gauge("gateway.log.readers", "{reader}", "Readers that follow a session's events.", readers)

    def watch_parked(self, turns: Callable[[], int]) -> None:
        """`turns` returns how many turns wait for a person's decision."""
        self._gauge("gateway.turn.parked", "{turn}", "Turns that wait for a person's decision.", turns)

    def watch_skills(self, skills: Callable[[], Mapping[tuple[str, bool], int]]) -> None:
        """`skills` returns how many the catalog has, by their type and whether they are enabled."""

        def observe(_: CallbackOptions) -> Iterable[Observation]:
            return [
                Observation(count, {semconv.SKILL_TYPE: kind, semconv.SKILL_ENABLED: enabled})
                for (kind, enabled), count in skills().items()
            ]

        self.exposition.meter.create_observable_gauge(
            "gateway.skills",
            [observe],
            "{skill}",
            "Skills in the catalog, by type and whether they are enabled.",
        )

    def watch_mcp(self, servers: Callable[[], Mapping[str, bool]]) -> None:
        """`servers` returns for each configured MCP server, by its name in the settings, whether it
        answers."""

        def observe(_: CallbackOptions) -> Iterable[Observation]:
            return [Observation(int(up), {semconv.MCP_SERVER: name}) for name, up in servers().items()]

        self.exposition.meter.create_observable_gauge(
            "gateway.mcp.up", [observe], "{server}", "Whether an MCP server can be used: 1 or 0."
        )

    def watch_background(
        self, failures: Callable[[], Mapping[str, int]], failing: Callable[[], Collection[str]]
    ) -> None:
        """`failures` returns how often each background task has failed since the start of the process, those
        that have not included; `failing` which of them fail at the moment."""

        def count(_: CallbackOptions) -> Iterable[Observation]:
            return [Observation(times, {semconv.TASK: name}) for name, times in dict(failures()).items()]

        def observe(_: CallbackOptions) -> Iterable[Observation]:
            now = failing()
            return [Observation(int(name in now), {semconv.TASK: name}) for name in dict(failures())]

        self.exposition.meter.create_observable_counter(
            "gateway.background.failures",
            [count],
            "{failure}",
            "Failures of background tasks, each of which was started again.",
        )
        self.exposition.meter.create_observable_gauge(
            "gateway.background.failing",
            [observe],
            "{task}",
            "Whether a background task failed and has not been steady since: 1 or 0.",
        )

    def watch_documents(self, found: Callable[[], FolderContents]) -> None:
        """`found` returns the counts of documented memories at the last look."""

        def observe(_: CallbackOptions) -> Iterable[Observation]:
            now = found()
            return [
                Observation(len(now.documents), {semconv.DOCUMENT_STATE: "used"}),
                Observation(len(now.deprecated), {semconv.DOCUMENT_STATE: "deprecated"}),
            ]

        self.exposition.meter.create_observable_gauge(
            "gateway.documents", [observe], "{document}", "Documented memories, by whether they are in use."
        )
        self._gauge(
            "gateway.document.warnings",
            "{warning}",
            "Files of documented memories that cannot be used, or not as they are.",
            lambda: len(found().warnings),
        )

    def watch_embeddings(self, asked: Callable[[], Mapping[tuple[str, str | None], int]]) -> None:
        """`asked` returns how often vectors were asked for since the start of the process: by what for (query
        or document), and the code of what went wrong (None: nothing)."""

        def observe(_: CallbackOptions) -> Iterable[Observation]:
            return [
                Observation(count, {semconv.EMBEDDED: kind, **({semconv.ERROR_TYPE: error} if error else {})})
                for (kind, error), count in list(asked().items())
            ]

        self.exposition.meter.create_observable_counter(
            "gateway.embeddings.requests",
            [observe],
            "{request}",
            "Requests to the embeddings API; failed ones with the error's type.",
        )

    def watch_spans(self, dropped: Callable[[], int], failures: Callable[[], int]) -> None:
        """`dropped` returns how many spans were lost before they could be sent, `failures` how often sending
        failed, since the start of the process."""
        self._failures["traces"] = failures

        def observe(_: CallbackOptions) -> Iterable[Observation]:
            return [Observation(dropped())]

        self.exposition.meter.create_observable_counter(
            "gateway.telemetry.spans_dropped", [observe], "{span}", "Spans that no collector will get."
        )

    def _gauge(self, name: str, unit: str, description: str, read: Callable[[], int]) -> None:
        def observe(_: CallbackOptions) -> Iterable[Observation]:
            return [Observation(read())]

        self.exposition.meter.create_observable_gauge(name, [observe], unit, description)

    def _count_failures(self, _: CallbackOptions) -> Iterable[Observation]:
        return [Observation(read(), {semconv.SIGNAL: signal}) for signal, read in self._failures.items()]


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
