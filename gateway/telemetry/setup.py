"""Telemetry of one process: opened at start-up from settings and the standard OTEL_* variables."""

import asyncio
import secrets
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from opentelemetry.sdk.resources import OTELResourceDetector, Resource

from gateway import __version__
from gateway.artifacts.store_events import ArtifactEvent
from gateway.events.envelope import StoredEvent
from gateway.memory.changes import Changed
from gateway.memory.extraction.report import LearningReport
from gateway.model.side_calls import ModelCall
from gateway.settings import Settings
from gateway.storage.turns import TurnRow
from gateway.storage.webhooks import DeliveryAttempt
from gateway.telemetry.endpoints import variable_of
from gateway.telemetry.lines.turn_lines import Lines
from gateway.telemetry.metrics.exemplars import of_span
from gateway.telemetry.metrics.registry import MetricsRegistry
from gateway.telemetry.observer import Observer
from gateway.telemetry.spans.http_spans import HttpSpans
from gateway.telemetry.spans.message_content import content_wanted
from gateway.telemetry.spans.tracing_setup import TraceExport, open_tracing
from gateway.telemetry.turn_facts import SessionArchived, TelemetryReader

AT_ONCE = 100
"""Events observed in one step of the event loop: some 10 ms."""
MAX_LATER = 1_000
"""Slices of AT_ONCE events that wait, before all are taken in one step."""


@dataclass(frozen=True, slots=True)
class Telemetry:
    """The telemetry of the process."""

    observer: Observer
    metrics: MetricsRegistry
    http: HttpSpans
    tracing: TraceExport | None
    _later: deque[tuple[str, Sequence[StoredEvent]]] = field(
        default_factory=deque[tuple[str, Sequence[StoredEvent]]]
    )

    def observe(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        """Give this to `bus.watch`. Of very many events AT_ONCE are taken in a step of the event loop: a
        message with a thousand tool calls keeps nobody waiting. All stay in their order."""
        if not self._later and len(events) <= AT_ONCE:
            self.observer.observe(session_id, events)
            return
        is_going_on = bool(self._later)
        for first in range(0, len(events), AT_ONCE):
            self._later.append((session_id, events[first : first + AT_ONCE]))
        if len(self._later) > MAX_LATER:
            self._catch_up()
        elif not is_going_on:
            self._go_on()

    def _go_on(self) -> None:
        if self._later:
            self.observer.observe(*self._later.popleft())
        if self._later:
            asyncio.get_running_loop().call_soon(self._go_on)

    def _catch_up(self) -> None:
        while self._later:
            self.observer.observe(*self._later.popleft())

    def replay(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        """Earlier events of an open turn, of a former process (`turn.observer.TurnObserver`)."""
        self._catch_up()
        self.observer.replay(session_id, events)

    def take_up(self, turn: TurnRow) -> None:
        """A turn runs here from now on (`turn.observer.TurnObserver`)."""
        self.observer.expect(turn.id, turn.owner)

    def archived(self, session_id: str, started_at: int, ended_at: int, error: str | None = None) -> None:
        """The observer of moves of sessions to their archives (`service.archiver.ArchiveObserver`)."""
        archived = SessionArchived(session_id, started_at, ended_at, error)
        self.observer.notify(lambda reader: reader.archived(archived))

    def memory_changed(self, changed: Changed) -> None:
        """For changes of memories (`memory.memories.Memories`)."""
        self.observer.notify(lambda reader: reader.memory_changed(changed))

    def artifact_event(self, event: ArtifactEvent) -> None:
        """For the store of artifacts (`artifacts.artifact_store.ArtifactStore`)."""
        self.observer.notify(lambda reader: reader.artifact_event(event))

    def webhook_tried(self, tried: DeliveryAttempt) -> None:
        """For the sender of webhooks (`service.webhook_worker.WebhookWorker`)."""
        self.observer.notify(lambda reader: reader.webhook_tried(tried))

    def learned(self, run: LearningReport) -> None:
        """For learning from conversations (`memory.extraction.extractor.Extractor`)."""
        self.observer.notify(lambda reader: reader.learned(run))

    def model_called(self, call: ModelCall) -> None:
        """For model calls beside a turn's answer (`model.side_calls.ModelCalls`)."""
        self.observer.notify(lambda reader: reader.model_called(call))

    async def render_metrics(self, accept: str = "") -> tuple[bytes, str]:
        """Body and content type of a scrape that accepts these types. Made in a thread: streams go on."""
        return await asyncio.to_thread(self.metrics.exposition.render, accept)

    async def shutdown(self, seconds: float = 5) -> None:
        """Sends what is not sent yet, for at most `seconds`; a collector that does not answer is left."""
        self._catch_up()
        self.observer.close()
        ends: list[Callable[[], object]] = [self.metrics.exposition.provider.shutdown]
        if self.tracing is not None:
            ends.append(self.tracing.shutdown)
        # Daemons, because the exporters' own retries may last longer than the process should.
        threads = [threading.Thread(target=end, daemon=True) for end in ends]
        for thread in threads:
            thread.start()
        await asyncio.gather(*(asyncio.to_thread(thread.join, seconds) for thread in threads))


def open_telemetry(settings: Settings) -> Telemetry:
    """Metrics and log lines always; spans and pushed metrics over OTLP/HTTP when an endpoint is set
    (OTEL_EXPORTER_OTLP_ENDPOINT, or the one of the signal). Nothing is made global."""
    resource = resource_of_process()
    content = content_wanted()
    tracing = open_tracing(settings, resource, content=content) if variable_of("traces") else None
    metrics = MetricsRegistry(
        settings,
        resource,
        pushed=variable_of("metrics") is not None,
        exemplify=tracing.exemplify if tracing is not None else of_span,
        is_kept=tracing.keeps if tracing is not None else lambda _: True,
    )
    readers: list[TelemetryReader] = [*metrics.readers, Lines(messages=content)]
    if tracing is not None:
        readers[:0] = tracing.readers  # first: a line, and an example of a measurement, carry a span's id
        metrics.observe_export(lambda: tracing.spans_lost, lambda: tracing.export.failures)
    return Telemetry(
        observer=Observer(readers, turn_limit=max(4096, 2 * settings.max_turns_in_flight)),
        metrics=metrics,
        http=tracing.http if tracing is not None else HttpSpans(),
        tracing=tracing,
    )


def resource_of_process() -> Resource:
    """The service: OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES, over what we call ourselves."""
    ours = {
        "service.name": "chat-gateway",
        "service.version": __version__,
        "service.instance.id": secrets.token_hex(8),
    }
    return Resource.create({**ours, **OTELResourceDetector().detect().attributes})  # the environment wins
