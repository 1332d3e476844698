"""What can be counted over all turns. Never by session, user or turn: a series, once made, stays for good."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from opentelemetry.metrics import CallbackOptions, Observation
from opentelemetry.util.types import AttributeValue

from gateway.ids import now_ms
from gateway.model.calls import ModelCall
from gateway.telemetry import semconv
from gateway.telemetry.facts import SessionArchived, TelemetryReader, TurnFacts
from gateway.telemetry.metrics.bounded import FewNames
from gateway.telemetry.metrics.exemplars import Exemplify, of_span
from gateway.telemetry.metrics.exposition import Exposition
from gateway.telemetry.observer import FAILURES

Attributes = Mapping[str, AttributeValue]


class TurnMetrics(TelemetryReader):
    """Counts and times turns, compressions and archives."""

    def __init__(self, exposition: Exposition, agent: str, exemplify: Exemplify = of_span) -> None:
        self._agent: Attributes = {semconv.AGENT: agent}
        self._exemplify = exemplify
        self._errors = FewNames()
        self._running: dict[str, TurnFacts] = {}
        self._make_turn_instruments(exposition)
        self._make_part_instruments(exposition)
        self._make_upkeep_instruments(exposition)

    def _make_turn_instruments(self, exposition: Exposition) -> None:
        meter = exposition.meter
        meter.create_observable_up_down_counter(
            "gateway.turn.active",
            [self._count_running],
            "{turn}",
            "Turns in progress, but for those that wait for a person.",
        )
        meter.create_observable_gauge(
            "gateway.turn.oldest_age",
            [self._age_of_oldest],
            "s",
            "How long the longest running turn has run, its waits for a person left out; 0 when none does.",
        )
        self._turns = exposition.counter("gateway.turns", "{turn}", "Turns that ended, by outcome.")
        self._seconds = exposition.histogram(
            "gen_ai.invoke_agent.duration",
            "s",
            "Turns, from their start to the end, without the time that they waited for a person.",
            semconv.AGENT_SECONDS,
        )
        self._wait = exposition.histogram(
            "gateway.admission.wait",
            "s",
            "How long turns waited for those before them.",
            semconv.AGENT_SECONDS,
        )
        self._unreported = exposition.counter(
            "gateway.usage.unreported",
            "{call}",
            "Model calls that began to answer and never told their usage.",
        )

    def _make_part_instruments(self, exposition: Exposition) -> None:
        self._calls = exposition.histogram(
            "gen_ai.invoke_agent.inference_calls",
            "{inference_call}",
            "Model calls of one turn.",
            semconv.COUNTS,
        )
        self._tool_calls = exposition.histogram(
            "gen_ai.invoke_agent.tool_calls", "{tool_call}", "Tool calls of one turn.", semconv.COUNTS
        )

    def _make_upkeep_instruments(self, exposition: Exposition) -> None:
        self._compressions = exposition.counter(
            "gateway.compressions", "{compression}", "Compressions that ended, by what began them and how."
        )
        self._compression_seconds = exposition.histogram(
            "gateway.compression.duration",
            "s",
            "Compressions of a session's history, the summary included.",
            semconv.AGENT_SECONDS,
        )
        self._saved = exposition.counter(
            "gateway.compression.tokens_saved",
            "{token}",
            "By how much compressions made the history shorter that the model is sent, estimated.",
        )
        self._archive_seconds = exposition.histogram(
            "gateway.archive.write.duration", "s", "Moves of a session to its archive.", semconv.SECONDS
        )

    def turn_started(self, turn: TurnFacts) -> None:
        self._running[turn.id] = turn
        if turn.whole and not turn.resumed:
            self._wait.record(turn.queued_ms / 1000, context=self._exemplify(turn.span, turn))

    def turn_ended(self, turn: TurnFacts) -> None:
        self._running.pop(turn.id, None)
        self._turns.add(1, {**self._agent, semconv.OUTCOME: turn.outcome or semconv.UNFINISHED})
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

    def _count_running(self, _: CallbackOptions) -> Iterable[Observation]:
        return [Observation(sum(1 for _ in self._busy()))]

    def _age_of_oldest(self, _: CallbackOptions) -> Iterable[Observation]:
        now = now_ms()
        ages = (now - turn.started_at - turn.waited_ms for turn in self._busy())
        return [Observation(max(max(ages, default=0), 0) / 1000)]

    def _busy(self) -> Iterator[TurnFacts]:
        return (turn for turn in list(self._running.values()) if turn.waiting_since is None)
