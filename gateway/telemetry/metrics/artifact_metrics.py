"""Metrics of artifacts: stored contents and their sources, reads, references in calls, failures, totals.
Never by owner.
"""

from typing import Any

from gateway.artifacts.store_events import (
    ArtifactEvent,
    Damaged,
    PartRead,
    PassedOn,
    PathStopped,
    Stored,
    StoreFailed,
    Swept,
)
from gateway.telemetry import semconv
from gateway.telemetry.metrics import instrument_table as table
from gateway.telemetry.metrics.bounded import FewNames
from gateway.telemetry.metrics.exposition import Exposition
from gateway.telemetry.turn_facts import TelemetryReader, TurnFacts


class ArtifactMetrics(TelemetryReader):
    """Counts and times what happens to artifacts."""

    def __init__(self, exposition: Exposition) -> None:
        self._errors = FewNames()
        self._sizes = exposition.histogram(table.ARTIFACT_SIZE)
        self._seconds = exposition.histogram(table.ARTIFACT_DURATION)
        self._reads = exposition.counter(table.ARTIFACT_READS)
        self._stopped = exposition.counter(table.JSON_PATHS_STOPPED)
        self._passed = exposition.histogram(table.REFERENCE_SIZE)
        self._warnings = exposition.counter(table.ARTIFACT_WARNINGS)
        self._damaged = exposition.counter(table.ARTIFACTS_DAMAGED)
        self._removed = exposition.counter(table.ARTIFACTS_REMOVED)

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
