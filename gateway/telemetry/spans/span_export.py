"""The way of spans to a collector, which may be slow or gone: nothing waits for it, and what is lost is
counted."""

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal

from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

Loss = Literal["buffer_full", "queue_full", "export_failed"]

DEFAULT_QUEUE, DEFAULT_BATCH = 2048, 512
"""Of OTEL_BSP_MAX_QUEUE_SIZE and OTEL_BSP_MAX_EXPORT_BATCH_SIZE (OpenTelemetry SDK specification)."""


class SpanExport(SpanProcessor):
    """Queues spans for a thread that sends them. A span that finds the queue full is dropped."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._queue_size = _whole_number("OTEL_BSP_MAX_QUEUE_SIZE", DEFAULT_QUEUE)
        batch = min(_whole_number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", DEFAULT_BATCH), self._queue_size)
        self._exporter = _Counting(exporter)
        self._batches = BatchSpanProcessor(
            self._exporter, max_queue_size=self._queue_size, max_export_batch_size=batch
        )
        self._queued = 0
        self._lost: Counter[Loss] = Counter()

    @property
    def lost(self) -> Mapping[Loss, int]:
        """How many spans were lost since the start, by reason: they waited for their turn's end when there
        were too many of those, found the queue full, or the collector did not take them."""
        return {**self._lost, "export_failed": self._exporter.failed}

    @property
    def failures(self) -> int:
        """How often a collector did not take what was sent."""
        return self._exporter.failures

    @property
    def exported(self) -> int:
        """How many spans a collector has taken."""
        return self._exporter.taken - self._exporter.failed

    def lose(self, count: int) -> None:
        """`count` spans were given up before they came here."""
        self._lost["buffer_full"] += count

    def on_end(self, span: ReadableSpan) -> None:
        # Counted here and not left to the SDK, which drops without events how often. A batch leaves its
        # queue just before it reaches the exporter, so this never lets more in than there is room for.
        if self._queued - self._exporter.taken >= self._queue_size:
            self._lost["queue_full"] += 1
            return
        self._queued += 1
        self._batches.on_end(span)

    def shutdown(self) -> None:
        self._batches.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._batches.force_flush(timeout_millis)


class _Counting(SpanExporter):
    """Counts what it hands on. `taken` and `failed` are written by the sending thread alone."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self.taken = 0
        self.failed = 0
        self.failures = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.taken += len(spans)
        result = SpanExportResult.FAILURE
        try:
            result = self._exporter.export(spans)
        finally:
            if result is not SpanExportResult.SUCCESS:
                self.failed += len(spans)
                self.failures += 1
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        return self._exporter.force_flush(timeout_millis)


def _whole_number(name: str, default: int) -> int:
    value = os.environ.get(name, "")
    return int(value) if value.isascii() and value.isdigit() and int(value) > 0 else default
