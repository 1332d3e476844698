"""Metrics over OTLP/HTTP. Imported only when they are pushed: the exporter takes long to import."""

from typing import Any

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics.export import MetricExportResult, MetricsData


class CountingExporter(OTLPMetricExporter):
    """Sends to the endpoint of the OTEL_* variables, and counts what could not be sent."""

    def __init__(self) -> None:
        super().__init__()
        self.failures = 0

    def export(
        self, metrics_data: MetricsData, timeout_millis: float | None = 10_000, **more: Any
    ) -> MetricExportResult:
        result = super().export(metrics_data, timeout_millis, **more)
        self.failures += result is not MetricExportResult.SUCCESS
        return result
