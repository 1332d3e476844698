"""Metrics of turns. Never by session, user or turn: a series, once made, stays for good."""

from collections.abc import Iterator, Mapping
from typing import Any

from opentelemetry.util.types import AttributeValue

from gateway.ids import now_ms
from gateway.model.side_calls import ModelCall
from gateway.telemetry import semconv
from gateway.telemetry.metrics import instrument_table as table
from gateway.telemetry.metrics.bounded import FewNames
from gateway.telemetry.metrics.exemplars import Exemplify, of_span
from gateway.telemetry.metrics.exposition import Exposition
from gateway.telemetry.observer import FAILURES
from gateway.telemetry.turn_facts import SessionArchived, TelemetryReader, TurnFacts

Attributes = Mapping[str, AttributeValue]


class TurnMetrics(TelemetryReader):
    """Counts and times turns, compressions and archives."""

    def __init__(self, exposition: Exposition, agent: str, exemplify: Exemplify = of_span) -> None:
        self._agent: Attributes = {semconv.AGENT: agent}
        self._exemplify = exemplify
        self._errors = FewNames()
        self._running: dict[str, TurnFacts] = {}
        exposition.counters.observe(table.TURNS_ACTIVE, lambda: sum(1 for _ in self._busy()))
        exposition.counters.observe(table.OLDEST_TURN_AGE, self._age_of_oldest)
        self._turns = exposition.counter(table.TURNS)
        self._seconds = exposition.histogram(table.TURN_DURATION)
        self._wait = exposition.histogram(table.ADMISSION_WAIT)
        self._feedback = exposition.counter(table.FEEDBACK)
        self._unreported = exposition.counter(table.USAGE_UNREPORTED)
        self._calls = exposition.histogram(table.TURN_CALLS)
        self._tool_calls = exposition.histogram(table.TURN_TOOL_CALLS)
        self._compressions = exposition.counter(table.COMPRESSIONS)
        self._compression_seconds = exposition.histogram(table.COMPRESSION_DURATION)
        self._saved = exposition.counter(table.TOKENS_SAVED)
        self._archive_seconds = exposition.histogram(table.ARCHIVE_DURATION)

    def turn_started(self, turn: TurnFacts) -> None:
        self._running[turn.id] = turn
        if turn.whole and not turn.resumed:
            self._wait.record(turn.queued_ms / 1000, context=self._exemplify(turn.span, turn))

    def turn_ended(self, turn: TurnFacts) -> None:
        self._running.pop(turn.id, None)
        dialect = {semconv.DIALECT: turn.dialect} if turn.dialect is not None else {}
        self._turns.add(1, {**self._agent, **dialect, semconv.OUTCOME: turn.outcome or semconv.UNFINISHED})
        self._unreported.add(turn.totals.get("usage_unreported", 0))
        context = self._exemplify(turn.span, turn)
        error = turn.error if turn.outcome in FAILURES else None
        about = self._with_error(self._agent, error)
        ran_ms = max(turn.totals["duration_ms"] - turn.waited_ms, 0)
        self._seconds.record(ran_ms / 1000, about, context)
        self._calls.record(turn.totals["iterations"], self._agent, context)
        if turn.whole:
            self._tool_calls.record(turn.tool_calls, self._agent, context)

    def turn_lost(self, turn: TurnFacts) -> None:
        self._running.pop(turn.id, None)

    def rated(self, body: dict[str, Any]) -> None:
        data = body["data"]
        self._feedback.add(1, {semconv.RATING: data["rating"], semconv.RATED: data["of"]})

    def compressed(self, turn: TurnFacts | None, session_id: str, data: dict[str, Any], at: int) -> None:
        if data["phase"] == "started":
            return
        about = {semconv.TRIGGER: data.get("trigger", semconv.OTHER), semconv.OUTCOME: data["phase"]}
        context = self._exemplify(turn.span, turn) if turn else None
        self._compressions.add(1, about)
        if "duration_ms" in data:
            self._compression_seconds.record(data["duration_ms"] / 1000, about, context)
        if data["phase"] == "completed":
            saved = data.get("tokens_before", 0) - data.get("tokens_after", 0)
            self._saved.add(max(saved, 0), {semconv.TRIGGER: about[semconv.TRIGGER]})

    def model_called(self, call: ModelCall) -> None:
        self._unreported.add(call.unreported)

    def archived(self, archived: SessionArchived) -> None:
        seconds = max(archived.ended_at - archived.started_at, 0) / 1000
        self._archive_seconds.record(seconds, self._with_error({}, archived.error))

    def _with_error(self, attributes: Attributes, error: str | None) -> Attributes:
        return attributes if error is None else {**attributes, semconv.ERROR_TYPE: self._errors.name(error)}

    def _age_of_oldest(self) -> float:
        now = now_ms()
        ages = (now - turn.started_at - turn.waited_ms for turn in self._busy())
        return max(max(ages, default=0), 0) / 1000

    def _busy(self) -> Iterator[TurnFacts]:
        return (turn for turn in list(self._running.values()) if turn.waiting_since is None)
