"""Metrics that are pushed."""

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric

from gateway.telemetry.metrics.instrument_table import Instrument
from gateway.telemetry.setup import open_telemetry
from tests.product import load_settings
from tests.telemetry.collector import Collector
from tests.telemetry.story import TRACE_ID, with_tools

pytestmark = pytest.mark.anyio


def metrics_of(collector: Collector) -> dict[str, Metric]:
    """What came last under each name."""
    return {
        metric.name: metric
        for request in collector.metrics
        for resource in request.resource_metrics
        for scope in resource.scope_metrics
        for metric in scope.metrics
    }


async def test_what_is_pushed_is_what_is_scraped(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also what is counted beside the SDK, and the examples of histograms."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", f"{collector.url}/v1/metrics")
    telemetry = open_telemetry(load_settings())

    telemetry.observe("s_1", with_tools().events)
    stream = telemetry.metrics.streams.opened("live", head=0)
    stream.sending(with_tools().events)
    stream.closed("done")
    await telemetry.shutdown(30)

    found = metrics_of(collector)
    (gaps,) = found["gen_ai.client.inference.time_per_output_chunk"].histogram.data_points
    assert (gaps.count, gaps.sum, sum(gaps.bucket_counts)) == (2, 0.02, 2)
    (backlog,) = found["gateway.stream.backlog"].histogram.data_points
    assert backlog.count == 1
    sent = found["gateway.stream.events_sent"].sum
    assert sent.is_monotonic
    assert sum(point.as_int for point in sent.data_points) == len(with_tools().events)
    (turn,) = found["gen_ai.invoke_agent.duration"].histogram.data_points
    assert [exemplar.trace_id.hex() for exemplar in turn.exemplars] == [TRACE_ID]


async def test_a_collector_that_refuses_is_counted_and_harms_nothing(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scrapes go on, and say how often sending failed."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", f"{collector.url}/no/such/place")
    telemetry = open_telemetry(load_settings())
    collector.status = 404

    telemetry.observe("s_1", with_tools().events)
    telemetry.metrics.exposition.provider.force_flush()
    body, _ = await telemetry.render_metrics()
    await telemetry.shutdown(30)

    assert b'gateway_telemetry_export_failures_total{gateway_signal="metrics"} 1.0' in body
    assert b"gateway_turns_total" in body


async def test_who_wants_to_hear_what_is_new_hears_that_alone(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Histograms follow OTLP's delta temporality, too, and a series to which nothing came is left out."""
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", f"{collector.url}/v1/metrics")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta")
    telemetry = open_telemetry(load_settings())
    durations = telemetry.metrics.exposition.histogram(
        Instrument("test.duration", "histogram", "s", "A test.", ("a", "b"), (1, 10))
    )

    pushes: list[tuple[int, float, list[int]]] = []
    for values in ((0.5, 5), (20,), ()):
        collector.metrics.clear()
        for value in values:
            durations.record(value, {"a": 1, "b": 2} if value > 1 else {"b": 2, "a": 1})
        telemetry.metrics.exposition.provider.force_flush()
        if (found := metrics_of(collector).get("test.duration")) is not None:
            assert (
                found.histogram.aggregation_temporality
                == AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA
            )
            pushes += [
                (each.count, each.sum, list(each.bucket_counts)) for each in found.histogram.data_points
            ]
    await telemetry.shutdown(30)

    assert pushes == [(2, 5.5, [1, 1, 0]), (1, 20, [0, 0, 1])]
