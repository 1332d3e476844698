"""What can be counted of artifacts: what is kept and from where, how it is read and passed on, what goes
wrong, and how much there is. Never by whose it is.
"""

import asyncio
from collections.abc import Callable, Iterable
from time import monotonic
from typing import Any, Protocol

import structlog
from opentelemetry.metrics import CallbackOptions, Observation

from gateway.artifacts.events import (
    ArtifactEvent,
    Damaged,
    PartRead,
    PassedOn,
    PathStopped,
    Stored,
    StoreFailed,
    Swept,
)
from gateway.errors import StorageError
from gateway.storage.artifacts import Stock
from gateway.telemetry import semconv
from gateway.telemetry.facts import TelemetryReader, TurnFacts
from gateway.telemetry.metrics.bounded import FewNames
from gateway.telemetry.metrics.exposition import Exposition
from gateway.telemetry.metrics.memory_metrics import REST

INTERVAL = 15.0
"""Seconds between two looks at how much there is, about as often as anybody asks."""
DAMAGE = ("missing", "changed")
STOPS = ("time", "memory", "busy")
REMOVED = ("artifact", "blob", "part")

log = structlog.get_logger(__name__)


class CountedArtifacts(Protocol):
    """A store of artifacts, as far as it can be counted; see `storage.artifacts.Artifacts`."""

    async def stock(self) -> Stock: ...


class ArtifactMetrics(TelemetryReader):
    """Counts and times what happens to artifacts."""

    def __init__(self, exposition: Exposition) -> None:
        self._errors = FewNames()
        self._sizes = exposition.histogram(
            "gateway.artifact.size",
            "By",
            "Contents that were kept, by their kind and where they came from.",
            semconv.SIZES,
        )
        self._seconds = exposition.histogram(
            "gateway.artifact.keep.duration",
            "s",
            "Keeping a content, the look at what is in it included; what was not kept with the error's type.",
            semconv.SHORT_SECONDS,
        )
        self._reads = exposition.counter(
            "gateway.artifact.reads",
            "{read}",
            "Parts that the model or a user read, by how; refused ones with the error's type.",
        )
        self._stopped = exposition.counter(
            "gateway.artifact.json_path.stopped",
            "{path}",
            "JSON paths that took too much time or memory, or had to wait for too long (busy).",
        )
        self._passed = exposition.histogram(
            "gateway.artifact.reference.size",
            "By",
            "Artifacts that were passed to a tool by reference, whole or a part of them.",
            semconv.SIZES,
        )
        self._warnings = exposition.counter(
            "gateway.artifact.warnings", "{warning}", "Warnings of turns about their artifacts, by code."
        )
        self._damaged = exposition.counter(
            "gateway.artifact.damaged",
            "{content}",
            "Times that a content was asked for and found to be missing or changed.",
        )
        self._removed = exposition.counter(
            "gateway.artifact.removed",
            "{removal}",
            "Artifacts whose time was over, blobs that nobody needed, and parts of blobs that a crash left, "
            "as they were removed.",
        )
        for code in (
            semconv.ARTIFACT_WARNINGS
        ):  # there from the start: a series that begins at 1 hides its first event
            self._warnings.add(0, {semconv.WARNING_CODE: code})
        for reason in STOPS:
            self._stopped.add(0, {semconv.REASON: reason})
        for reason in DAMAGE:
            self._damaged.add(0, {semconv.REASON: reason})
        for what in REMOVED:
            self._removed.add(0, {semconv.REMOVED: what})

    def warned(self, turn: TurnFacts, data: dict[str, Any]) -> None:
        for code in data.get("reasons", (data["code"],)):
            if code in semconv.ARTIFACT_WARNINGS:
                self._warnings.add(1, {semconv.WARNING_CODE: code})

    def artifact_event(self, event: ArtifactEvent) -> None:
        match event:
            case Stored(row=row, source=source, seconds=seconds):
                by = {semconv.ARTIFACT_SOURCE: source}
                self._sizes.record(row.size, {**by, semconv.ARTIFACT_KIND: row.kind})
                self._seconds.record(seconds, by)
            case StoreFailed(source=source, code=code, seconds=seconds):
                self._seconds.record(
                    seconds, {semconv.ARTIFACT_SOURCE: source, semconv.ERROR_TYPE: self._errors.name(code)}
                )
            case PartRead(how=how, by=by, code=code):
                error = {} if code is None else {semconv.ERROR_TYPE: self._errors.name(code)}
                self._reads.add(1, {semconv.READ_HOW: how, semconv.READ_BY: by, **error})
            case PathStopped(reason=reason):
                self._stopped.add(1, {semconv.REASON: reason})
            case PassedOn(size=size, part=part):
                self._passed.record(size, {semconv.PASSED: "part" if part else "whole"})
            case Damaged(missing=missing):
                self._damaged.add(1, {semconv.REASON: "missing" if missing else "changed"})
            case Swept(expired=expired, removed=removed, parts=parts):
                self._removed.add(expired, {semconv.REMOVED: "artifact"})
                self._removed.add(removed, {semconv.REMOVED: "blob"})
                self._removed.add(parts, {semconv.REMOVED: "part"})


class StoredArtifacts:
    """How much there is, as of the last look of `run`; nothing before the first."""

    def __init__(self, exposition: Exposition) -> None:
        self._stock: Stock | None = None
        gauge = exposition.meter.create_observable_gauge
        gauge(
            "gateway.artifacts",
            [self._observed(lambda stock: stock.artifacts)],
            "{artifact}",
            "Artifacts of all users.",
        )
        gauge(
            "gateway.artifacts.stored",
            [self._observed(lambda stock: stock.size)],
            "By",
            "What the contents of all artifacts take; what a user has twice counts once.",
        )
        gauge(
            "gateway.artifact.blobs.doubtful",
            [self._observed(lambda stock: stock.doubtful)],
            "{blob}",
            "Blobs that may belong to no artifact and wait to be looked at.",
        )

    async def run(self, store: CountedArtifacts) -> None:
        """Counts again and again until it is cancelled."""
        while True:
            began = monotonic()
            try:
                self._stock = await store.stock()
            except StorageError as error:
                log.warning("artifacts_not_counted", code=error.code)
            await asyncio.sleep(max(INTERVAL, REST * (monotonic() - began)))

    def _observed(self, read: Callable[[Stock], int]) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def observe(_: CallbackOptions) -> Iterable[Observation]:
            return [] if self._stock is None else [Observation(read(self._stock))]

        return observe
