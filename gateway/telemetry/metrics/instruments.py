"""Counters and histograms for what happens in every turn. Unlike a tally's their attributes may be any, and a
histogram leads to traces. The SDK's own take some 15 µs for each record, these take one."""

import time
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from opentelemetry.metrics import CallbackOptions, Meter, Observation
from opentelemetry.sdk.metrics import Exemplar
from opentelemetry.sdk.metrics.export import HistogramDataPoint
from opentelemetry.trace import SpanContext
from opentelemetry.util.types import AttributeValue

from gateway.telemetry.metrics.counters import Tally
from gateway.telemetry.metrics.instrument_table import Instrument

Attributes = Mapping[str, AttributeValue]
Series = frozenset[tuple[str, AttributeValue]]
"""Attributes, in any order."""

NONE: Attributes = MappingProxyType({})


class Counter:
    """A sum by its attributes, which only grows. A series is there from its first `add`, also of nothing."""

    def __init__(self, meter: Meter, instrument: Instrument) -> None:
        self._sums: defaultdict[Series, float] = defaultdict(int)
        for label, values in instrument.seeds.items():
            for value in values:
                self.add(0, {label: value})
        name, unit, description = instrument.name, instrument.unit, instrument.description
        meter.create_observable_counter(name, [self._observe], unit, description)

    def add(self, amount: float, attributes: Attributes = NONE) -> None:
        self._sums[frozenset(attributes.items())] += amount

    def _observe(self, _: CallbackOptions) -> Iterable[Observation]:
        return [Observation(value, dict(series)) for series, value in list(self._sums.items())]


class Histogram:
    """Values by their attributes, in buckets up to and with each of `bounds`."""

    def __init__(self, bounds: Sequence[float], *, with_exemplars: bool = True) -> None:
        self._bounds = bounds
        self._with_exemplars = with_exemplars
        self._tallies: dict[Series, _Tally] = {}

    def record(
        self, amount: float, attributes: Attributes = NONE, context: SpanContext | None = None
    ) -> None:
        """`context` is of a span that this is an example of."""
        series = frozenset(attributes.items())
        tally = self._tallies.get(series)
        if tally is None:
            tally = self._tallies[series] = _Tally(self._bounds)
        tally.add(amount)
        tally.least, tally.most = min(amount, tally.least), max(amount, tally.most)
        if context is not None and self._with_exemplars:
            bucket = bisect_left(self._bounds, amount)
            tally.exemplars[bucket] = (amount, time.time_ns(), context)

    def points(self, since: int, now: int) -> list[HistogramDataPoint]:
        """What was recorded from `since` to `now`, in Unix nanoseconds; the newest example of each bucket."""
        return [
            HistogramDataPoint(
                attributes=dict(series),
                start_time_unix_nano=since,
                time_unix_nano=now,
                count=sum(counts := list(tally.counts)),  # copied once: the event loop goes on counting
                sum=tally.total,
                bucket_counts=counts,
                explicit_bounds=self._bounds,
                min=tally.least,
                max=tally.most,
                exemplars=[
                    Exemplar({}, value, at, context.span_id, context.trace_id)
                    for value, at, context in list(tally.exemplars.values())
                ],
            )
            for series, tally in list(self._tallies.items())
        ]


class _Tally(Tally):
    __slots__ = ("exemplars", "least", "most")

    def __init__(self, bounds: Sequence[float]) -> None:
        super().__init__(bounds)
        self.least, self.most = float("inf"), float("-inf")
        self.exemplars: dict[int, tuple[float, int, SpanContext]] = {}
