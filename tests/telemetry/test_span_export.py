"""What becomes of spans when a collector does not keep up."""

from collections.abc import Sequence
from threading import Event

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from gateway.telemetry.spans.span_export import SpanExport

QUEUE, BATCH, SPANS = 8, 4, 40


class Stuck(SpanExporter):
    """Takes nothing until `goes_on`."""

    def __init__(self) -> None:
        self.goes_on = Event()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.goes_on.wait()
        return SpanExportResult.SUCCESS


def test_spans_that_find_the_queue_full_are_counted_and_all_others_arrive(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", str(QUEUE))
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", str(BATCH))
    exporter = Stuck()
    export = SpanExport(exporter)
    provider = TracerProvider()
    provider.add_span_processor(export)

    for _ in range(SPANS):
        provider.get_tracer("test").start_span("span").end()
    lost = export.lost["queue_full"]
    exporter.goes_on.set()
    provider.shutdown()

    assert SPANS - QUEUE - BATCH <= lost <= SPANS - QUEUE
    assert export.exported == SPANS - lost
    assert export.lost["export_failed"] == 0
