"""What can be counted of the memory: what turns recall, what changes and by whom, what is learned, and how
much there is. Never by whose it is.
"""

import asyncio
from collections.abc import Mapping
from time import monotonic
from typing import Any, Protocol

import structlog

from gateway.errors import StorageError
from gateway.memory.learning.report import LearningReport
from gateway.memory.memories import Changed
from gateway.memory.retrieval_events import SOURCE
from gateway.storage.memories import MemoryType, Status
from gateway.telemetry import semconv
from gateway.telemetry.facts import TelemetryReader, TurnFacts
from gateway.telemetry.metrics import instrument_table as table
from gateway.telemetry.metrics.bounded import FewNames
from gateway.telemetry.metrics.exemplars import Exemplify, of_span
from gateway.telemetry.metrics.exposition import Exposition
from gateway.telemetry.spans.span_facts import changer
from gateway.telemetry.tool_runs import ToolRun

INTERVAL = 15.0
"""Seconds between two looks at how many memories there are, about as often as anybody asks."""
REST = 50
"""Times as long as a count took the store is left alone after it: counting has at most 2 % of a reader."""
WARNINGS = table.MEMORY_WARNINGS.seeds[semconv.WARNING_CODE]

Census = Mapping[tuple[MemoryType, Status, bool], int]

log = structlog.get_logger(__name__)


class CountedMemories(Protocol):
    """A store of memories, as far as it can be counted; see `storage.memories.MemoryStore`."""

    async def state(self) -> int: ...
    async def census(self) -> Census:
        """How many there are of all users, by type, status and whether they are in quarantine."""
        ...


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


class StoredMemories:
    """How many memories there are, as of the last look of `run`."""

    def __init__(self, exposition: Exposition) -> None:
        self._census: Census = {}
        exposition.counters.observe(table.MEMORIES, lambda: self._census)

    async def run(self, store: CountedMemories) -> None:
        """Counts again and again, where something has changed, until it is cancelled."""
        counted: int | None = None
        while True:
            began = monotonic()
            try:
                state = await store.state()
                if state != counted:
                    self._census, counted = await store.census(), state
            except StorageError as error:
                log.warning("memories_not_counted", code=error.code)
            await asyncio.sleep(max(INTERVAL, REST * (monotonic() - began)))
