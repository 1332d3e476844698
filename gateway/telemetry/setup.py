"""Telemetry of one process: opened at start-up from settings and the standard OTEL_* variables."""

import asyncio
import os
import secrets
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from opentelemetry.sdk.metrics.export import MetricReader, PeriodicExportingMetricReader
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

from gateway import __version__
from gateway.events.envelope import StoredEvent
from gateway.settings import Settings
from gateway.telemetry.base import Reader
from gateway.telemetry.lines import Lines
from gateway.telemetry.metrics import Exposition, Metrics
from gateway.telemetry.observer import Observer
from gateway.telemetry.spans import Spans, TurnIds
from gateway.telemetry.streams import Streams


@dataclass(frozen=True, slots=True)
class Telemetry:
    """What the process tells about itself. `meter` is for the HTTP side's streams."""

    observer: Observer
    meter: Streams
    exposition: Exposition
    tracing: TracerProvider | None

    def observe(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        """Give this to `bus.watch`."""
        self.observer.observe(session_id, events)

    def render_metrics(self) -> tuple[bytes, str]:
        """Body and content type of a Prometheus scrape."""
        return self.exposition.render()

    async def shutdown(self, seconds: float = 5) -> None:
        """Sends what is not sent yet, for at most `seconds`; a collector that does not answer is left."""
        self.observer.close()
        ends: list[Callable[[], object]] = [self.exposition.provider.shutdown]
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
    resource = _resource()
    exposition = Exposition(resource, _push_readers())
    metrics = Metrics(exposition.meter, settings.agent_name)
    readers: list[Reader] = [metrics, Lines()]
    tracing = None
    if _is_exported("traces"):
        ids = TurnIds()
        tracing = _tracing(resource, ids)
        readers.insert(
            0, Spans(tracing, ids, settings.agent_name)
        )  # first: a line carries its turn's span id
    return Telemetry(
        observer=Observer(readers, turn_limit=max(4096, 2 * settings.max_turns_in_flight)),
        meter=metrics.streams,
        exposition=exposition,
        tracing=tracing,
    )


def _is_exported(signal: str) -> bool:
    if os.environ.get(f"OTEL_{signal.upper()}_EXPORTER", "otlp") == "none":
        return False
    names = ("OTEL_EXPORTER_OTLP_ENDPOINT", f"OTEL_EXPORTER_OTLP_{signal.upper()}_ENDPOINT")
    return any(os.environ.get(name) for name in names)


def _tracing(resource: Resource, ids: TurnIds) -> TracerProvider:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 - slow, seldom needed
        OTLPSpanExporter,
    )

    provider = TracerProvider(resource=resource, id_generator=ids, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


def _push_readers() -> list[MetricReader]:
    if not _is_exported("metrics"):
        return []
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import (  # noqa: PLC0415 - slow, seldom needed
        OTLPMetricExporter,
    )

    return [PeriodicExportingMetricReader(OTLPMetricExporter())]


def _resource() -> Resource:
    ours = {
        "service.name": "chat-gateway",
        "service.version": __version__,
        "service.instance.id": secrets.token_hex(8),
    }
    return Resource.create({**ours, **OTELResourceDetector().detect().attributes})  # the environment wins
