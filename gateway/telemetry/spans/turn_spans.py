"""One trace per turn, drawn from the times in its events.

invoke_agent                root; linked to the request that asked
  gateway.admission         only when the turn waited for others
  chat                      one per model call, its repeated attempts as events
  execute_tool              tool_spans.py: one per tool call; what it does over HTTP joins it by traceparent
    retrieval               what was looked up, by a tool or for the turn
    gateway.approval        what a person or a rule decided about the call,
    gateway.skill           the skills that it read or was refused,
    gateway.tool.step       its steps,
    gateway.memory          a memory that changed, by a tool or beside the turn,
    gateway.artifact        and what was offloaded of its result
  gateway.compression       upkeep_spans.py, also on its own
  chat                      side_call_spans.py: a model call for another purpose, also on its own
"""

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from opentelemetry.trace import Span, SpanContext, SpanKind
from opentelemetry.util.types import AttributeValue

from gateway.bounded_dict import BoundedDict
from gateway.ids import SET_BY
from gateway.messages import Usage
from gateway.model.side_calls import ModelCall
from gateway.telemetry import semconv
from gateway.telemetry.observer import FAILURES
from gateway.telemetry.spans.span_attributes import (
    answer_facts,
    call_facts,
    ids_of,
    pseudonym,
    retrieval_facts,
    turn_facts,
)
from gateway.telemetry.spans.span_creation import (
    Attributes,
    Traces,
    add_event,
    close,
    known,
    link_to_requester,
)
from gateway.telemetry.tool_facts import ToolRun
from gateway.telemetry.turn_facts import Call, TelemetryReader, TurnFacts

SHORTEST_WAIT = 1
"""Milliseconds in the queue up to which they are no span."""

_SESSIONS = 4096
MAX_REQUESTERS = 4096
"""Requests that asked for work which has no span yet."""


@dataclass(frozen=True, slots=True)
class Called:
    """What every model call has in common. `server` are the endpoint's name and port where they are
    known; with `dup` spans also carry the older names of the conventions; `salt` None leaves out who the user
    is."""

    agent: str
    server: Attributes = field(default_factory=lambda: MappingProxyType[str, AttributeValue]({}))
    max_tokens: int | None = None
    temperature: float | None = None
    dup: bool = False
    salt: str | None = None

    def asked(self, call: ModelCall) -> dict[str, AttributeValue]:
        """The attributes of a `chat` span at its start."""
        found: Attributes = {
            semconv.PROVIDER: semconv.ANTHROPIC,
            semconv.REQUEST_MODEL: call.model,
            semconv.REQUEST_STREAM: True,
            semconv.PURPOSE: call.purpose,
            semconv.SYSTEM: semconv.ANTHROPIC if self.dup else None,
            semconv.REQUEST_MAX_TOKENS: call.max_tokens,
        }
        return known({**found, **self.server})

    def common(self, turn: TurnFacts, operation: str) -> dict[str, AttributeValue]:
        """What the spans of a turn have that the conventions name an operation of."""
        return {semconv.OPERATION: operation, semconv.AGENT: self.agent, **ids_of(turn)}


class Spans(TelemetryReader):
    """Draws `invoke_agent` with its `chat` and `retrieval` children.

    Names, counts and codes only: content comes from message_content.py, where it is asked for.
    """

    def __init__(self, traces: Traces, called: Called) -> None:
        self._traces = traces
        self._called = called
        self._request_spans = BoundedDict[str, SpanContext](MAX_REQUESTERS)
        self._roots: dict[str, Span] = {}
        self._compacted = BoundedDict[str, None](_SESSIONS)

    def asked(self, turn_id: str, requester: SpanContext) -> None:
        """The request of that span asked for that turn, which may run already, later, or never."""
        if (root := self._roots.get(turn_id)) is not None:
            link_to_requester(root, requester)
        else:
            self._request_spans[turn_id] = requester

    def turn_started(self, turn: TurnFacts) -> None:
        owner = turn.owner if self._called.salt is not None else None
        attributes: Attributes = {
            semconv.FIRST_SEQ: turn.first_seq,
            semconv.REQUEST_MODEL: turn.model,
            semconv.RESUMED: turn.resumed or None,
            semconv.DIALECT: turn.dialect,
            semconv.ATTACHMENTS: turn.attachments or None,
            semconv.ATTACHED_SIZE: turn.attached_size if turn.attachments else None,
            semconv.USER: pseudonym(owner, self._called.salt or "") if owner is not None else None,
        }
        accepted_at = turn.started_at - turn.queued_ms
        turn.span = self._roots[turn.id] = self._traces.root(
            f"{semconv.INVOKE_AGENT} {self._called.agent}",
            turn.trace_id,
            at=accepted_at,
            attributes={**self._called.common(turn, semconv.INVOKE_AGENT), **attributes},
            requester=self._request_spans.pop(turn.id, None),
        )
        if turn.queued_ms > SHORTEST_WAIT:
            waited = self._traces.child(
                turn.span, semconv.ADMISSION, "admission", at=accepted_at, attributes=ids_of(turn)
            )
            close(waited, turn.started_at, accepted_at, None)

    def call_started(self, turn: TurnFacts, call: Call) -> None:
        called = self._called
        asked: Attributes = {
            semconv.REQUEST_MAX_TOKENS: called.max_tokens,
            semconv.REQUEST_TEMPERATURE: called.temperature,
            semconv.ITERATION: call.iteration,
        }
        attributes = called.asked(call) | known(asked)
        if turn.session_id in self._compacted:
            del self._compacted[turn.session_id]
            attributes[semconv.COMPACTED] = True
        call.span = self._child(
            turn,
            turn.span,
            semconv.CHAT,
            call.model,
            part=f"iteration {call.iteration}",
            kind=SpanKind.CLIENT,
            at=call.started_at,
            attributes=attributes,
        )

    def call_retried(self, turn: TurnFacts, call: Call, reason: str, usage: Usage | None, at: int) -> None:
        add_event(call.span, semconv.RETRY, at, {semconv.ATTEMPT: call.attempts, semconv.ERROR_TYPE: reason})

    def call_ended(self, turn: TurnFacts, call: Call) -> None:
        if call.first_content_at is not None:
            add_event(call.span, semconv.FIRST_CHUNK, call.first_content_at)
        call.span.set_attributes({**call_facts(call, dup=self._called.dup), **answer_facts(call)})
        close(call.span, call.ended_at, call.started_at, call.error)

    def retrieved(self, turn: TurnFacts, run: ToolRun | None, data: dict[str, Any], at: int) -> None:
        begun = at - data.get("duration_ms", 0)
        span = self._child(
            turn,
            run.span if run else turn.span,
            semconv.RETRIEVAL,
            data["source"],
            part=f"retrieval {turn.last_seq}",
            kind=SpanKind.CLIENT,
            at=begun,
            attributes={
                **retrieval_facts(data),
                semconv.FIRST_SEQ: turn.last_seq,
                semconv.LAST_SEQ: turn.last_seq,
            },
        )
        close(span, at, begun, None)

    def warned(self, turn: TurnFacts, data: dict[str, Any]) -> None:
        for code in data.get("reasons", (data["code"],)):
            if code in semconv.ARTIFACT_WARNINGS:
                add_event(turn.span, semconv.WARNING, turn.seen_at, {semconv.WARNING_CODE: code})

    def compressed(self, turn: TurnFacts | None, session_id: str, data: dict[str, Any], at: int) -> None:
        if data["phase"] == "completed":  # the next model call is the first with the shorter view
            self._compacted[session_id] = None

    def turn_ended(self, turn: TurnFacts) -> None:
        turn.span.set_attributes(turn_facts(turn))
        self._roots.pop(turn.id, None)
        close(turn.span, _end_of(turn), turn.started_at, turn.error if turn.outcome in FAILURES else None)

    def turn_lost(self, turn: TurnFacts) -> None:
        lost = {semconv.OUTCOME: semconv.UNFINISHED, semconv.LAST_SEQ: turn.last_seq}
        turn.span.set_attributes(lost)
        self._roots.pop(turn.id, None)
        close(turn.span, turn.seen_at, turn.started_at, None)

    def turn_left(self, turn: TurnFacts) -> None:
        # Neither the root nor what is open under it ends here: the process that goes on knows the turn from
        # its first event and draws them whole, under the same ids. Two roots would make two turns of one.
        self._roots.pop(turn.id, None)

    def _child(
        self,
        turn: TurnFacts,
        parent: Span,
        operation: str,
        subject: str,
        *,
        part: str,
        at: int,
        attributes: Attributes,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> Span:
        return self._traces.child(
            parent,
            f"{operation} {subject}",
            part,
            kind=kind,
            at=at,
            attributes={**self._called.common(turn, operation), **attributes},
        )


def _end_of(turn: TurnFacts) -> int:
    """When it was over; where somebody set the clock meanwhile, by what passed: so it is no slow one."""
    passed = turn.started_at + turn.totals["duration_ms"]
    return turn.seen_at if abs(turn.seen_at - passed) < SET_BY else passed
