"""Folds the events of each turn into facts and calls its readers with them."""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextvars import Context
from typing import Any

import structlog

from gateway.bounded_dict import BoundedDict
from gateway.events.envelope import StoredEvent
from gateway.ids import DAY_MS, OPERATION_PREFIX
from gateway.messages import Usage
from gateway.telemetry.semconv import OTHER
from gateway.telemetry.tool_fold import ToolEvents
from gateway.telemetry.turn_facts import Call, TelemetryReader, TurnFacts

FAILURES = frozenset({"failed", "interrupted"})
"""Outcomes of a turn that are errors. A cancel or a limit is a decision."""

WAITING = 500
"""Turns that are followed while they wait for a person. Of more, those that wait longest are let go: when one
of them goes on, its earlier events come from the log."""

log = structlog.get_logger(__name__)


class Observer:
    """A reader of the log, made to be given to `bus.watch`.

    It follows at most `turn_limit` turns, and none without an event for `turn_age_ms` (time of the events):
    a turn that is handed over to another process never ends here. One that waits for a person is let go
    without an end (`turn_left`), since it goes on.
    """

    def __init__(
        self, readers: Sequence[TelemetryReader], *, turn_limit: int = 4096, turn_age_ms: int = DAY_MS
    ) -> None:
        self._readers = tuple(readers)
        self._turn_limit = turn_limit
        self._turn_age_ms = turn_age_ms
        self._gatherers = tuple(reader for reader in self._readers if reader.gathers)
        self._tools = ToolEvents(self._readers)
        self._turns: OrderedDict[str, TurnFacts] = OrderedDict()
        self._former = BoundedDict[str, Observer](turn_limit)
        self._owners = BoundedDict[str, str](turn_limit)
        # The publisher may run in another request's context, whose ids must not get into our lines.
        self._context = Context()

    @property
    def turns_followed(self) -> int:
        """How many turns are in progress as far as this process knows."""
        return len(self._turns)

    def observe(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        """Takes durable events of one session, in order. Never raises: telemetry must not break a turn."""
        for event in events:
            try:
                if event.type in {"text", "thinking"}:
                    self._count_delta(event)
                else:
                    self._context.run(self._take, session_id, event)
            except Exception:  # noqa: BLE001 - a reader's fault must not stop the writer
                self._context.run(log.exception, "event not observed", session_id=session_id, type=event.type)

    def expect(self, turn_id: str, owner: str) -> None:
        """The owner of the turn whose events will come."""
        if turn_id not in self._turns:
            self._owners[turn_id] = owner

    def replay(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        """Takes the earlier events of an open turn, so that the rest continues it. The readers get them with
        the first event that is new. What is known already is passed over: the turn may only have waited
        here."""
        if not events:
            return
        turn_id = events[0].turn_id
        here = self._turns.get(turn_id)
        if here is not None and here.waiting_since is None:
            return
        former = self._former.get(turn_id)
        known = here or (former and former._turns.get(turn_id))
        newer = [event for event in events if known is None or event.seq > known.last_seq]
        if not newer:
            return
        if former is None:
            former = self._former[turn_id] = Observer(self._gatherers)
            if here is not None:  # another process went on with it meanwhile
                former._turns[turn_id] = self._turns.pop(turn_id)
        former.observe(session_id, newer)

    def notify(self, call: Callable[[TelemetryReader], None]) -> None:
        """Calls each reader with a fact that is in no turn's events. Never raises."""
        for reader in self._readers:
            try:
                self._context.run(call, reader)
            except Exception:  # noqa: BLE001 - as in observe
                self._context.run(log.exception, "not observed", reader=type(reader).__name__)

    def close(self) -> None:
        """The process ends: the next one goes on with the turns still followed. Idempotent."""
        while self._turns:
            self._context.run(self._leave, next(iter(self._turns.values())))

    def _count_delta(self, event: StoredEvent) -> None:
        turn = self._turns.get(event.turn_id)
        if turn is None or turn.call is None:
            return
        call = turn.call
        before = call.text_deltas + call.thinking_deltas
        if event.type == "text":
            call.text_deltas += 1
        else:
            call.thinking_deltas += 1
        at = event.ts
        if before == 0:
            call.first_content_at = at
        else:
            call.gaps.add(at - call.last_content_at)
        call.last_content_at = at
        for reader in self._gatherers:
            reader.delta(turn, call, event)

    def _take(self, session_id: str, event: StoredEvent) -> None:
        body = event.load()
        if event.turn_id.startswith(OPERATION_PREFIX):
            self._take_operation(session_id, body)
            return
        if event.type == "feedback":  # its turn is over
            for reader in self._readers:
                reader.rated(body)
            return
        turn = self._turns.get(event.turn_id) or self._begin(session_id, event, body)
        turn.last_seq, turn.seen_at = event.seq, body["ts"]
        self._turns.move_to_end(turn.id)
        if turn.answered is not None and event.type != "tool_call":
            self._close_call(turn, turn.answered, body["ts"], None)
        for reader in self._gatherers:
            reader.on_event(turn, body)
        data: dict[str, Any] = body["data"]
        match event.type:
            case "iteration_start":
                self._start_call(turn, body["iteration"], data, body["ts"])
            case "iteration_superseded":
                self._retry_call(turn, data, body["ts"])
            case "iteration_end":
                self._end_call(turn, body["iteration"], data, body["ts"])
            case "tool_call" | "tool_result" | "approval_request" | "approval_response" | "skill":
                self._take_of_call(turn, event.type, body)
            case "done":
                self._end(turn, data)
            case _:
                self._pass_on(turn, event.type, body)

    def _take_operation(self, session_id: str, body: dict[str, Any]) -> None:
        for reader in self._readers:
            reader.operated(body)
            if body["type"] == "compression":
                reader.compressed(None, session_id, body["data"], body["ts"])

    def _begin(self, session_id: str, event: StoredEvent, body: dict[str, Any]) -> TurnFacts:
        former = self._former.pop(event.turn_id, None)
        turn = former._turns.get(event.turn_id) if former is not None else None
        if turn is not None:
            turn.resumed = True
        else:
            turn = TurnFacts.first_seen(session_id, event, body)
        turn.owner = self._owners.pop(turn.id, None)
        while self._turns and (
            len(self._turns) >= self._turn_limit
            or next(iter(self._turns.values())).seen_at < turn.seen_at - self._turn_age_ms
        ):
            self._lose_oldest()
        self._turns[turn.id] = turn
        for reader in self._readers:
            reader.turn_started(turn)
            if (call := turn.call or turn.answered) is not None:
                reader.call_started(turn, call)
        self._tools.emit_open(turn)
        return turn

    def _start_call(self, turn: TurnFacts, iteration: int, data: dict[str, Any], at: int) -> Call:
        call = turn.call
        if call is not None and call.iteration == iteration and not call.cut:
            call.attempts = data["attempt"]
            call.prefix_hash = data.get("prefix_hash")
            call.text_deltas = call.thinking_deltas = 0
            call.first_content_at = None
            return call
        if call is not None:
            self._close_call(turn, call, at, call.error or OTHER)
        turn.iterations += 1
        turn.call = call = Call(
            iteration=iteration,
            model=data["model"],
            started_at=at,
            attempts=data["attempt"],
            prefix_hash=data.get("prefix_hash"),
            components=data.get("components"),
            instructions_tokens=data.get("instructions_tokens"),
            prompt_profile=data.get("prompt_profile"),
            tools_left_out=data.get("tools_left_out"),
            first_seq=turn.last_seq,
        )
        for reader in self._readers:
            reader.call_started(turn, call)
        return call

    def _retry_call(self, turn: TurnFacts, data: dict[str, Any], at: int) -> None:
        if (call := turn.call) is None:
            return
        call.error = data["reason"]
        usage = Usage.model_validate(data["usage"]) if "usage" in data else None
        for reader in self._readers:
            reader.call_retried(turn, call, data["reason"], usage, at)

    def _end_call(self, turn: TurnFacts, iteration: int, data: dict[str, Any], at: int) -> None:
        call = turn.call
        if call is None:  # a former process began it
            begun = {"model": turn.model or OTHER, "attempt": 1}
            call = self._start_call(turn, iteration, begun, at - data["duration_ms"])
        call.stop_reason = data.get("stop_reason")
        call.usage = Usage.model_validate(data["usage"]) if "usage" in data else None
        call.cost = data.get("cost")
        call.ttft_ms = data.get("ttft_ms")
        call.response_id, call.response_model = data.get("response_id"), data.get("model")
        call.key_of = data.get("key_of")
        call.ended_at, call.last_seq = at, turn.last_seq
        call.cut = call.stop_reason is None
        if call.stop_reason == "tool_use":  # its tool calls follow and are a part of its message
            turn.call, turn.answered = None, call
        elif not call.cut:  # a later event has what cut it short
            self._close_call(turn, call, at, None)

    def _close_call(self, turn: TurnFacts, call: Call, at: int, error: str | None) -> None:
        turn.call = turn.answered = None
        call.cut = call.stop_reason is None
        call.error = error
        call.ended_at = call.ended_at or at
        call.last_seq = call.last_seq or turn.last_seq
        turn.has_text |= call.text_deltas > 0
        for reader in self._readers:
            reader.call_ended(turn, call)

    def _take_of_call(self, turn: TurnFacts, event_type: str, body: dict[str, Any]) -> None:
        had_work = turn.waiting_since is None
        self._tools.take(turn, event_type, body)
        if had_work and turn.waiting_since is not None:
            waiting = [each for each in self._turns.values() if each.waiting_since is not None]
            for each in waiting[:-WAITING]:
                self._leave(each)

    def _pass_on(self, turn: TurnFacts, event_type: str, body: dict[str, Any]) -> None:
        data, run = body["data"], turn.tools.get(body.get("tool_call_id", ""))
        if event_type == "error":
            turn.error = data["code"]
        for reader in self._readers:
            match event_type:
                case "retrieval":
                    reader.retrieved(turn, run, data, body["ts"])
                case "memory":
                    reader.remembered(turn, run, data, body["ts"])
                case "artifact":
                    reader.offloaded(turn, run, data, body["ts"])
                case "warning":
                    reader.warned(turn, data)
                case "error":
                    reader.failed(turn, data)
                case "compression":
                    reader.compressed(turn, turn.session_id, data, body["ts"])
                case _:
                    return

    def _end(self, turn: TurnFacts, data: dict[str, Any]) -> None:
        turn.outcome, turn.totals = data["status"], data
        if turn.outcome in FAILURES:
            turn.error = turn.error or OTHER
        self._close_open_parts(turn, turn.error if turn.outcome in FAILURES else None)
        del self._turns[turn.id]
        for reader in self._readers:
            reader.turn_ended(turn)

    def _leave(self, turn: TurnFacts) -> None:
        del self._turns[turn.id]
        for reader in self._readers:
            reader.turn_left(turn)

    def _lose_oldest(self) -> None:
        turn = next(iter(self._turns.values()))
        if turn.waiting_since is not None:
            self._leave(turn)
            return
        del self._turns[turn.id]
        self._close_open_parts(turn, None)
        for reader in self._readers:
            reader.turn_lost(turn)

    def _close_open_parts(self, turn: TurnFacts, error: str | None) -> None:
        self._tools.close_open(turn, turn.seen_at)
        if (call := turn.call or turn.answered) is not None:
            self._close_call(turn, call, turn.seen_at, error if turn.answered is None else None)
