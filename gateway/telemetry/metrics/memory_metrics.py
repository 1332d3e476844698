"""Metrics of the memory: recalls of turns, changes and their authors, learning, totals. Never by owner."""

from typing import Any

from gateway.memory.changes import Changed
from gateway.memory.extraction.report import LearningReport
from gateway.memory.retrieval_events import SOURCE
from gateway.telemetry import semconv
from gateway.telemetry.metrics import instrument_table as table
from gateway.telemetry.metrics.bounded import FewNames
from gateway.telemetry.metrics.exemplars import Exemplify, of_span
from gateway.telemetry.metrics.exposition import Exposition
from gateway.telemetry.spans.span_attributes import changer
from gateway.telemetry.tool_facts import ToolRun
from gateway.telemetry.turn_facts import TelemetryReader, TurnFacts

WARNINGS = table.MEMORY_WARNINGS.seeds[semconv.WARNING_CODE]


class MemoryMetrics(TelemetryReader):
    """Counts and times what turns and others do with memories."""

    def __init__(self, exposition: Exposition, exemplify: Exemplify = of_span) -> None:
        self._exemplify = exemplify
        self._errors, self._models, self._reasons = FewNames(), FewNames(), FewNames()
        self._recalls = exposition.counter(table.RECALLS)
        self._found = exposition.counter(table.MEMORIES_FOUND)
        self._search_seconds = exposition.histogram(table.SEARCH_DURATION)
        self._warnings = exposition.counter(table.MEMORY_WARNINGS)
        self._changes = exposition.counter(table.MEMORY_CHANGES)
        self._learning_seconds = exposition.histogram(table.LEARNING_DURATION)
        self._dropped = exposition.counter(table.LEARNING_DROPPED)

    def retrieved(self, turn: TurnFacts, run: ToolRun | None, data: dict[str, Any], at: int) -> None:
        if data["source"] != SOURCE or "mode" not in data:
            return
        mode = {semconv.RETRIEVAL_MODE: data["mode"]}
        self._recalls.add(1, {**mode, semconv.RETRIEVAL_DEGRADED: data.get("degraded", False)})
        known = sum(each.get("told") == "before" for each in data["results"])
        for shown, count in (
            ("now", len(data["results"]) - known),
            ("before", known),
            ("omitted", data.get("omitted", 0)),
        ):
            self._found.add(count, {semconv.MEMORY_SHOWN: shown})
        if "duration_ms" in data:
            context = self._exemplify(run.span if run else turn.span, turn)
            self._search_seconds.record(data["duration_ms"] / 1000, mode, context)

    def warned(self, turn: TurnFacts, data: dict[str, Any]) -> None:
        for code in data.get("reasons", (data["code"],)):
            if code in WARNINGS:
                self._warnings.add(1, {semconv.WARNING_CODE: code})

    def memory_changed(self, changed: Changed) -> None:
        by = changer(changed.by.actor, suggested=changed.by.turn_id is not None)
        self._changes.add(
            1,
            {
                semconv.MEMORY_OP: changed.event.op,
                semconv.MEMORY_TYPE: changed.row.type,
                semconv.MEMORY_BY: by,
            },
        )

    def learned(self, run: LearningReport) -> None:
        about = {semconv.REQUEST_MODEL: self._models.name(run.model)}
        if run.error is not None:
            about[semconv.ERROR_TYPE] = self._errors.name(run.error)
        self._learning_seconds.record(max(run.ended_at - run.started_at, 0) / 1000, about)
        for reason, count in run.dropped.items():
            self._dropped.add(count, {semconv.REASON: self._reasons.name(reason)})
