"""Metrics of the line before a model's endpoint."""

from gateway.model.endpoint_queue import EndpointQueue, Kind
from gateway.telemetry import semconv
from gateway.telemetry.metrics import instrument_table as table
from gateway.telemetry.metrics.exposition import Exposition


class QueueMetrics:
    """How many calls wait, and how long they did. An endpoint without a line has no series."""

    def __init__(self, exposition: Exposition) -> None:
        self._waits = exposition.histogram(table.SLOT_WAIT)
        self._observe = exposition.counters.observe

    def measure(self, queue: EndpointQueue) -> None:
        """From now on that one is measured."""
        queue.on_wait = self._waited
        self._observe(
            table.SLOT_WAITING,
            lambda: {(kind,): queue.waiting(kind) for kind in ("turn", "background")} if queue.slots else {},
        )

    def _waited(self, kind: Kind, seconds: float) -> None:
        self._waits.record(seconds, {semconv.WAITING: kind})
