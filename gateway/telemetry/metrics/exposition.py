"""The metrics as Prometheus reads them and as they are pushed over OTLP.

The exporter that OpenTelemetry has for Prometheus leaves exemplars out; this one keeps them, so that a slow
bucket of a histogram leads to a trace that fell into it.
"""

import json
import logging
import os
import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Literal

from opentelemetry.sdk.environment_variables import OTEL_METRICS_EXEMPLAR_FILTER
from opentelemetry.sdk.metrics import Histogram as SdkHistogram
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    ExponentialHistogram,
    Gauge,
    HistogramDataPoint,
    InMemoryMetricReader,
    Metric,
    MetricExporter,
    MetricsData,
    PeriodicExportingMetricReader,
    Sum,
)
from opentelemetry.sdk.metrics.export import Histogram as Points
from opentelemetry.sdk.resources import Resource
from opentelemetry.util.types import AttributeValue
from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector
from prometheus_client.core import Exemplar, InfoMetricFamily
from prometheus_client.core import Metric as Family
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector

from gateway.telemetry.metrics.counters import SCOPE, Counters, ExportedTotals
from gateway.telemetry.metrics.instrument_table import Instrument
from gateway.telemetry.metrics.instruments import Counter, Histogram

_UNITS = {"s": "seconds", "By": "bytes", "USD": "USD"}
"""Units as Prometheus appends them to names. Annotations such as {token} are left out (OpenTelemetry
specification, "Prometheus and OpenMetrics Compatibility", metric metadata)."""

Labels = dict[str, str]

log = logging.getLogger(__name__)


class Exposition:
    """The instruments' home: `meter` and `counters` make them, `render` gives what they recorded, and each of
    `push` is sent it over and over (OTEL_METRIC_EXPORT_INTERVAL)."""

    def __init__(self, resource: Resource, push: Sequence[MetricExporter] = ()) -> None:
        self._scrape = InMemoryMetricReader()
        pushing = [_Push(exporter, self._added) for exporter in push]
        self.provider = MeterProvider([self._scrape, *pushing], resource, shutdown_on_exit=False)
        self.meter = self.provider.get_meter(SCOPE)
        self.counters = Counters(self.meter)
        self._resource = resource
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        GCCollector(registry=self._registry)
        self._registry.register(_Families(self._collect, resource))

    def counter(self, instrument: Instrument) -> Counter:
        """What adds up, for what happens less often than events do."""
        return Counter(self.meter, instrument)

    def histogram(self, instrument: Instrument) -> Histogram:
        """As `counter`, for values in buckets."""
        with_exemplars = os.environ.get(OTEL_METRICS_EXEMPLAR_FILTER) != "always_off"
        made = Histogram(instrument.bounds, with_exemplars=with_exemplars)
        self.counters.add_histogram(instrument, made)
        return made

    def render(self, accept: str = "") -> tuple[bytes, str]:
        """Body and content type for an `Accept` header: OpenMetrics, which has the exemplars, when that is
        asked for, else the Prometheus text format 0.0.4. Safe to call in a thread."""
        encode, content_type = choose_encoder(accept)
        return encode(self._registry), content_type

    def _collect(self) -> MetricsData:
        return self._added(self._scrape.get_metrics_data())

    def _added(self, data: MetricsData | None, exported: ExportedTotals | None = None) -> MetricsData:
        return self.counters.added_to(data, self._resource, exported)


class _Push(PeriodicExportingMetricReader):
    """Sends what the SDK collected together with what it did not count itself."""

    def __init__(
        self, exporter: MetricExporter, complete: Callable[[MetricsData, ExportedTotals | None], MetricsData]
    ) -> None:
        self._complete = complete
        # What OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE asks for, as the SDK's own reader learns it.
        wanted = exporter._preferred_temporality or {}  # pyright: ignore[reportPrivateUsage]
        self._exported = (
            ExportedTotals() if wanted.get(SdkHistogram) is AggregationTemporality.DELTA else None
        )
        super().__init__(exporter)

    def _receive_metrics(
        self, metrics_data: MetricsData, timeout_millis: float = 10_000, **more: Any
    ) -> None:
        try:
            complete = self._complete(metrics_data, self._exported)
        except Exception:
            # The SDK's thread would end with it, and nothing would be sent any more.
            log.exception("metrics could not be sent")
            return
        super()._receive_metrics(complete, timeout_millis, **more)


class _Families(Collector):
    """The SDK's metrics as Prometheus metric families. The SDK gives each exemplar away once; here the newest
    of every bucket stays, since more than one server may ask."""

    def __init__(self, collect: Callable[[], MetricsData], resource: Resource) -> None:
        self._collect = collect
        self._target = InfoMetricFamily("target", "Target metadata", value=_labels(resource.attributes))
        self._exemplars: dict[tuple[str, tuple[str, ...], int], Exemplar] = {}

    def describe(self) -> Sequence[Family]:
        """Nothing: registering must not collect."""
        return ()

    def collect(self) -> Iterator[Family]:
        yield self._target
        for resource in self._collect().resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    yield self._family(metric)

    def _family(self, metric: Metric) -> Family:
        name, unit, about = metric.name, metric.unit or "", metric.description or ""
        match metric.data:
            case Points(data_points=points):
                family = family_of(name, unit, about, "histogram")
                for point in points:
                    self._add_histogram(family, point)
            case Sum(data_points=points, is_monotonic=True):
                family = family_of(name, unit, about, "counter")
                for point in points:
                    family.add_sample(f"{family.name}_total", _labels(point.attributes), point.value)
            case Sum(data_points=points) | Gauge(data_points=points):
                family = family_of(name, unit, about, "gauge")
                for point in points:
                    family.add_sample(family.name, _labels(point.attributes), point.value)
            case ExponentialHistogram():
                raise TypeError(f"{metric.name}: no instrument here has an exponential histogram")
        return family

    def _add_histogram(self, family: Family, point: HistogramDataPoint) -> None:
        labels = _labels(point.attributes)
        series = tuple(labels.values())
        for exemplar in point.exemplars:
            if exemplar.trace_id and exemplar.span_id:
                ids = {"trace_id": f"{exemplar.trace_id:032x}", "span_id": f"{exemplar.span_id:016x}"}
                bucket = bisect_left(point.explicit_bounds, exemplar.value)
                self._exemplars[family.name, series, bucket] = Exemplar(
                    ids, exemplar.value, exemplar.time_unix_nano / 1e9
                )
        bounds = [*map(float, point.explicit_bounds), "+Inf"]
        for bucket, (bound, count) in enumerate(zip(bounds, accumulate(point.bucket_counts), strict=True)):
            family.add_sample(
                f"{family.name}_bucket",
                {**labels, "le": str(bound)},
                count,
                exemplar=self._exemplars.get((family.name, series, bucket)),
            )
        family.add_sample(f"{family.name}_count", labels, point.count)
        family.add_sample(f"{family.name}_sum", labels, point.sum)


def family_of(name: str, unit: str, about: str, kind: Literal["counter", "gauge", "histogram"]) -> Family:
    """An instrument's metric family, without samples; its name has the unit."""
    return Family(prometheus_name(name), about, kind, "" if unit.startswith("{") else _UNITS[unit])


def prometheus_name(dotted: str) -> str:
    return re.sub(r"[^a-zA-Z0-9]+", "_", dotted)


def _labels(attributes: Mapping[str, AttributeValue] | None) -> Labels:
    """Attributes as labels, in the order of their names."""
    return {
        prometheus_name(key): value if isinstance(value, str) else json.dumps(value)
        for key, value in sorted((attributes or {}).items())
    }
