"""How far a turn has come: a fold of its events.

A running turn folds what it emits; a turn that another process left open folds what it finds in the log.
Both go on from the same state, so that there is one way through a turn."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.events.content import Text
from gateway.events.envelope import EventData, StoredEvent
from gateway.events.lifecycle import Done, IterationEnd, IterationStart, IterationSuperseded, TurnStart
from gateway.events.memory_skill_artifact import Skill
from gateway.events.tool_calls import (
    AUTOMATIC_DECIDERS,
    ApprovalRequest,
    ApprovalResponse,
    CallResult,
    Effect,
    ToolCall,
)
from gateway.ids import SteadyClock
from gateway.messages import Message, Usage, tool_result_block
from gateway.tools.policy import speaker
from gateway.turn.repeated_calls import RepeatedCalls

CALLS_PER_STEP = 50
"""Calls that are looked at, or answered, before others get their share of the event loop. Spans and log lines
of their events take time, too."""

_FOLDED: Mapping[str, type[EventData]] = {
    data.event_type: data
    for data in (
        TurnStart,
        IterationStart,
        IterationSuperseded,
        IterationEnd,
        Text,
        ToolCall,
        CallResult,
        ApprovalRequest,
        ApprovalResponse,
        Skill,
        Done,
    )
}


@dataclass(slots=True)
class CallState:
    """A tool call whose intent is recorded; `result` once it has one. One that `needs_approval` does not run
    before it has a `verdict`; `asked` when a person is to decide about it; `edited` when `arguments` are not
    those that the model gave; `runs_on_client` when its result comes from the user's client."""

    name: str
    arguments: dict[str, Any]
    effect: Effect
    result: CallResult | None = None
    needs_approval: bool = False
    asked: bool = False
    verdict: ApprovalResponse | None = None
    edited: bool = False
    runs_on_client: bool = False

    @property
    def undecided(self) -> bool:
        """Whether a person has still to decide about it: it has certainly not run."""
        return self.asked and self.verdict is None

    @property
    def is_approved(self) -> bool:
        """Whether a person was asked about this very call, and allowed it."""
        decided = self.verdict
        return decided is not None and decided.decision == "approved" and decided.by not in AUTOMATIC_DECIDERS

    @property
    def waits(self) -> bool:
        """Whether a call without a result waits for a person or a client."""
        return self.undecided or self.runs_on_client

    @property
    def may_have_run(self) -> bool:
        """Of a call without a result: whether it may have taken effect. A decision is durable before the call
        that it is about begins."""
        return self.effect == "effectful" and not (self.needs_approval and self.verdict is None)


@dataclass(slots=True)
class TurnProgress:
    """The state of a turn. `attempt_open` is true between an iteration's start and its end or supersession;
    `attempt_began` is whether the endpoint had begun to answer it, `attempt_usage` the usage that it had
    reported; `text` its text in UTF-8, a third of what its deltas would take; `calls` the tool calls of the
    latest iteration, `unanswered` how many of them have no result; `call_ids` those of all iterations,
    `skills` the written skills that were read and the tools that each allows (None: no limit); `tools_read`
    the names of the tools that answered; `repeated` the calls that go nowhere; `prefix_hash` identifies what
    the latest iteration had before its messages (None: there is none yet, or a prompt generation began
    since); `first_text_at` is when the first text came that was not superseded. Its times are of its `clock`,
    or of events before a process took the turn over."""

    clock: SteadyClock = field(default_factory=SteadyClock, compare=False)
    started_at: int | None = None
    trace_id: str | None = None
    first_text_at: int | None = None
    iteration: int = 0
    attempt: int = 0
    attempt_open: bool = False
    attempt_at: int = 0
    attempt_began: bool = False
    attempt_usage: Usage | None = None
    stop_reason: str | None = None
    text: bytearray = field(default_factory=bytearray)
    calls: dict[str, CallState] = field(default_factory=dict[str, CallState])
    unanswered: int = 0
    call_ids: set[str] = field(default_factory=set[str])
    skills: dict[str, list[str] | None] = field(default_factory=dict[str, list[str] | None])
    tools_read: set[str] = field(default_factory=set[str])
    repeated: RepeatedCalls = field(default_factory=RepeatedCalls)
    prefix_hash: str | None = None
    usage: Usage | None = None
    unreported: int = 0
    cost: float | None = 0.0
    done: bool = False

    def apply(self, data: EventData, ts: int, iteration: int | None, tool_call_id: str | None) -> None:
        """Takes one event into account."""
        match data:
            case TurnStart():
                self.started_at, self.trace_id = ts, data.trace_id
            case IterationStart():
                self.iteration, self.attempt, self.attempt_open = iteration or 1, data.attempt, True
                self.attempt_at = ts
                self.prefix_hash = data.prefix_hash or self.prefix_hash
                self.attempt_began, self.attempt_usage, self.stop_reason = False, None, None
                self.text.clear()
                self.calls.clear()
                self.unanswered = 0
            case Text():
                self.attempt_began = True
                self.text += data.text.encode()
                self.first_text_at = self.first_text_at or ts
            case IterationSuperseded():
                self.attempt_open = False
                self.text.clear()
                if (self.first_text_at or 0) >= self.attempt_at:
                    self.first_text_at = None
                if data.began:
                    self._count(data.usage, None, reported=False)
            case IterationEnd():
                self.attempt_open, self.attempt_usage = False, data.usage
                self.stop_reason = data.stop_reason
                is_complete = data.stop_reason is not None
                if is_complete or self.attempt_began or data.usage is not None:
                    self._count(data.usage, data.cost, reported=is_complete and data.usage is not None)
            case Done():
                self.done = True
            case _ if tool_call_id is not None:
                self._apply_to_call(data, tool_call_id)
            case _:
                pass

    def apply_stored(self, event: StoredEvent) -> None:
        """Takes an event of the log into account; types that do not concern progress are ignored."""
        data_type = _FOLDED.get(event.type)
        if data_type is not None:
            body = event.load()
            data = data_type.model_validate(body["data"])
            self.apply(data, body["ts"], body.get("iteration"), body.get("tool_call_id"))

    async def open_calls(self) -> AsyncIterator[tuple[str, CallState]]:
        """The calls without a result, in their order. However many there are, others get their share of the
        event loop between them."""
        for number, call_id in enumerate(list(self.calls), 1):
            state = self.calls[call_id]
            if state.result is None:
                yield call_id, state
            if number % CALLS_PER_STEP == 0:
                await asyncio.sleep(0)

    def results_message(self, call_id: str, result: CallResult) -> Message | None:
        """The message that answers all calls, when with this result each of them has one."""
        if self.unanswered > 1 or self.calls[call_id].result is not None:
            return None
        return self.answers(call_id, result)

    def answers(self, call_id: str | None = None, result: CallResult | None = None) -> Message:
        """The user message with the results, in the order of the calls; that one has this result."""
        results = ((each, result if each == call_id else state.result) for each, state in self.calls.items())
        return Message(
            "user",
            [
                tool_result_block(each, found.content, is_error=found.status != "ok")
                for each, found in results
                if found is not None
            ],
        )

    def _apply_to_call(self, data: EventData, call_id: str) -> None:
        match data:
            case ToolCall():
                self.call_ids.add(call_id)
                self.unanswered += call_id not in self.calls
                self.calls[call_id] = CallState(
                    data.name,
                    data.arguments,
                    data.effect,
                    needs_approval=bool(data.needs_approval),
                    runs_on_client=data.runs_on == "client",
                )
            case CallResult():
                call = self.calls[call_id]
                self.unanswered -= call.result is None
                call.result = data
                self.tools_read.add(speaker(data.name, call_id))
                self.repeated.add(call.arguments, data)
            case ApprovalRequest():
                self.calls[call_id].asked = True
            case ApprovalResponse():
                call = self.calls[call_id]
                call.verdict = data
                if data.arguments is not None:
                    call.arguments, call.edited = data.arguments, True
            case Skill(action="read", path=None):
                self.skills[data.name] = data.allowed_tools
            case _:
                pass

    def _count(self, usage: Usage | None, cost: float | None, *, reported: bool) -> None:
        if usage is not None:
            self.usage = usage if self.usage is None else self.usage + usage
        if not reported:
            self.unreported += 1
        self.cost = None if self.cost is None or cost is None else self.cost + cost
