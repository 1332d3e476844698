"""What the gateway measures, found by letting it make its instruments."""

from typing import Any, Literal, NamedTuple

from opentelemetry.metrics import Counter, Histogram, ObservableCounter
from opentelemetry.sdk.resources import Resource

from gateway.memory.documents.folder import FolderContents
from gateway.settings import load_settings
from gateway.telemetry.metrics.exposition import family_of
from gateway.telemetry.metrics.registry import MetricsRegistry


class Instrument(NamedTuple):
    name: str
    kind: Literal["counter", "gauge", "histogram"]
    unit: str
    says: str

    @property
    def in_prometheus(self) -> str:
        """What a query for it begins with."""
        name = family_of(self.name, self.unit, self.says, self.kind).name
        return f"{name}_total" if self.kind == "counter" else name


def instruments() -> list[Instrument]:
    """Every instrument there is unless GATEWAY_GENAI_COMPAT is dup, by name."""
    meters = MetricsRegistry(load_settings(genai_compat="latest"), Resource({}))
    meters.watch_queue(int)
    meters.watch_readers(int)
    meters.watch_parked(int)
    meters.watch_skills(dict)
    meters.watch_mcp(dict)
    meters.watch_background(dict, set)
    meters.watch_documents(FolderContents)
    meters.watch_embeddings(dict)
    meters.watch_spans(int, int)
    # The SDK has no public list of them.
    made: dict[str, Any] = getattr(meters.exposition.meter, "_instrument_id_instrument")  # noqa: B009
    found = [Instrument(each.name, _kind(each), each.unit, each.description) for each in made.values()]
    found += [
        Instrument(each.name, "histogram", each.unit or "", each.description or "")
        for each in meters.exposition.counters.histograms
    ]
    return sorted(found)


def _kind(instrument: object) -> Literal["counter", "gauge", "histogram"]:
    if isinstance(instrument, Counter | ObservableCounter):
        return "counter"
    return "histogram" if isinstance(instrument, Histogram) else "gauge"
