"""Counting that costs an integer add: for what happens at every event, write or flush.

A record of the OpenTelemetry SDK takes 3 to 9 µs and there is none in bulk, so what is frequent is counted
here and becomes the SDK's own data only when the metrics are collected.
"""

import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from opentelemetry.metrics import CallbackOptions, Meter, Observation
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Histogram,
    HistogramDataPoint,
    Metric,
    MetricsData,
    ResourceMetrics,
    ScopeMetrics,
)
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.util.types import AttributeValue

from gateway.telemetry.metrics.instrument_table import Instrument

Labels = tuple[AttributeValue | None, ...]
"""The values of a table's keys, in their order; None for an attribute that is absent."""

Keys = tuple[str, ...]

Observed = float | Mapping[Any, float]
"""One number, or one for each `Labels`."""

SCOPE = "gateway"


class Tally:
    """One histogram series. `counts` has a place for each bound, a value at a bound included, and one for
    what is beyond them all; it may be added to from outside."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total: float = 0

    def add(self, value: float) -> None:
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value

    def merge(self, other: "Tally") -> None:
        """Adds all of `other`, which has the same bounds."""
        self.counts = [mine + theirs for mine, theirs in zip(self.counts, other.counts, strict=True)]
        self.total += other.total


class TallyTable(defaultdict[Labels, Tally]):
    """A histogram by the values of `keys`, with `bounds` in the metric's unit; the tallies count in whole
    `parts` of it."""

    def __init__(self, bounds: Sequence[float], keys: Keys, parts: int) -> None:
        inner = [round(bound * parts) for bound in bounds]
        super().__init__(lambda: Tally(inner))
        self._bounds = bounds
        self._keys = keys
        self._parts = parts

    def points(self, since: int, now: int) -> list[HistogramDataPoint]:
        """What was counted from `since` to `now`, in Unix nanoseconds."""
        return [
            self._point(labels, tally, since, now)
            for labels, tally in list(self.items())
            if any(tally.counts)
        ]

    def _point(self, labels: Labels, tally: Tally, since: int, now: int) -> HistogramDataPoint:
        counts = list(tally.counts)  # copied once: the event loop goes on counting
        return HistogramDataPoint(
            attributes=_attributes(self._keys, labels),
            start_time_unix_nano=since,
            time_unix_nano=now,
            count=sum(counts),
            sum=tally.total / self._parts,
            bucket_counts=counts,
            explicit_bounds=self._bounds,
            min=None,  # pyright: ignore[reportArgumentType] - not known, which the exporters accept
            max=None,  # pyright: ignore[reportArgumentType]
        )


class Points(Protocol):
    """A histogram that is counted here."""

    def points(self, since: int, now: int) -> list[HistogramDataPoint]: ...


class ExportedTotals:
    """The histogram totals that a reader has exported, for one that wants only what is new: OTLP's delta
    temporality."""

    def __init__(self) -> None:
        self._before: dict[tuple[str, frozenset[Any]], HistogramDataPoint] = {}

    def new(self, name: str, point: HistogramDataPoint) -> HistogramDataPoint | None:
        """What came to the series since the last time; None when nothing did."""
        series = name, frozenset((point.attributes or {}).items())
        before, self._before[series] = self._before.get(series), point
        if before is None:
            return point
        if before.count == point.count:
            return None
        return replace(
            point,
            start_time_unix_nano=before.time_unix_nano,
            count=point.count - before.count,
            sum=point.sum - before.sum,
            bucket_counts=[
                now - then for now, then in zip(point.bucket_counts, before.bucket_counts, strict=True)
            ],
            min=None,  # pyright: ignore[reportArgumentType] - of these alone it is not known
            max=None,  # pyright: ignore[reportArgumentType]
            exemplars=[each for each in point.exemplars if each.time_unix_nano > before.time_unix_nano],
        )


class Counters:
    """The counts of one process, each by the values of a few labels."""

    def __init__(self, meter: Meter) -> None:
        self._meter = meter
        self._since = time.time_ns()
        self._histograms: list[tuple[Metric, Points]] = []

    def counter(self, instrument: Instrument) -> defaultdict[Labels, int]:
        """A table to add to."""
        counts: defaultdict[Labels, int] = defaultdict(int)
        if not instrument.labels:
            counts[()] = (
                0  # there from the start: a series that begins at 1 hides its first event from `rate`
            )
        self.observe(instrument, lambda: counts)
        return counts

    def observe(self, instrument: Instrument, read: Callable[[], Observed]) -> None:
        """Exports what `read` returns at each collection, on another thread: a number, or one for each
        series."""

        def observations(_: CallbackOptions) -> Iterable[Observation]:
            found = read()
            if not isinstance(found, Mapping):
                return [Observation(found)]
            keys = instrument.labels
            return [Observation(value, _attributes(keys, labels)) for labels, value in list(found.items())]

        make = getattr(self._meter, f"create_observable_{instrument.kind}")
        make(instrument.name, [observations], instrument.unit, instrument.description)

    def histogram(self, instrument: Instrument, also: Instrument | None = None) -> TallyTable:
        """A table of tallies to add to, in whole `parts` of the unit; `also` is a second name for the same
        numbers."""
        tallies = TallyTable(instrument.bounds, instrument.labels, instrument.parts)
        for each in (instrument, also):
            if each is not None:
                self.add_histogram(each, tallies)
        return tallies

    def add_histogram(self, instrument: Instrument, histogram: Points) -> None:
        """Exports a histogram as that instrument from now on."""
        empty = Histogram(data_points=(), aggregation_temporality=AggregationTemporality.CUMULATIVE)
        metric = Metric(instrument.name, instrument.description, instrument.unit, empty)
        self._histograms.append((metric, histogram))

    def added_to(
        self, data: MetricsData | None, resource: Resource, exported: ExportedTotals | None = None
    ) -> MetricsData:
        """`data` as the SDK collected it, with the histograms counted here among those of our own scope:
        exporters keep only the last of two entries that have the same resource and scope. `exported` is of a
        reader that wants the differences alone."""
        now = time.time_ns()
        kind = AggregationTemporality.CUMULATIVE if exported is None else AggregationTemporality.DELTA
        ours: list[Metric] = []
        for metric, histogram in self._histograms:
            points = histogram.points(self._since, now)
            if exported is not None:
                points = [new for point in points if (new := exported.new(metric.name, point)) is not None]
            if points:
                ours.append(replace(metric, data=Histogram(points, kind)))
        scopes = [scope for each in data.resource_metrics for scope in each.scope_metrics] if data else []
        theirs = [metric for scope in scopes if scope.scope.name == SCOPE for metric in scope.metrics]
        others = [scope for scope in scopes if scope.scope.name != SCOPE]
        scope = ScopeMetrics(InstrumentationScope(SCOPE), [*theirs, *ours], "")
        return MetricsData([ResourceMetrics(resource, [*others, scope], "")])


def _attributes(keys: Keys, labels: Labels) -> dict[str, AttributeValue]:
    return {key: value for key, value in zip(keys, labels, strict=True) if value is not None}
