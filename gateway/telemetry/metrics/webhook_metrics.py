"""Metrics of webhooks: outcomes and times of posts. Never by owner."""

from gateway.storage.webhooks import EVENTS, DeliveryAttempt
from gateway.telemetry import semconv
from gateway.telemetry.metrics import instrument_table as table
from gateway.telemetry.metrics.exposition import Exposition
from gateway.telemetry.turn_facts import TelemetryReader


class WebhookMetrics(TelemetryReader):
    """Counts and times deliveries."""

    def __init__(self, exposition: Exposition) -> None:
        self._seconds = exposition.histogram(table.WEBHOOK_DURATION)
        self._delays = exposition.histogram(table.WEBHOOK_DELAY)

    def webhook_tried(self, tried: DeliveryAttempt) -> None:
        event = tried.delivery.type
        labels = {
            semconv.WEBHOOK_EVENT: event if event in EVENTS else semconv.OTHER,
            semconv.DELIVERY_OUTCOME: tried.outcome,
        }
        self._seconds.record((tried.ended_at - tried.started_at) / 1000, labels)
        if tried.outcome == "delivered":
            self._delays.record(max(0, tried.ended_at - tried.delivery.at) / 1000)
