"""Spans of work on a session beside its answers: compression, in a turn or by itself; archives; learning;
feedback; webhooks."""

import re
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from opentelemetry.trace import Span, SpanContext, SpanKind
from opentelemetry.util.types import AttributeValue

from gateway.bounded_dict import BoundedDict
from gateway.ids import trace_id_of
from gateway.memory.extraction.report import LearningReport, learning_id
from gateway.messages import Usage
from gateway.storage.webhooks import DeliveryAttempt
from gateway.telemetry import semconv
from gateway.telemetry.redaction import redact
from gateway.telemetry.spans.span_attributes import memory_facts, turn_ids
from gateway.telemetry.spans.span_creation import (
    Attributes,
    Traces,
    add_event,
    close,
    known,
    link_to_requester,
    root_of,
)
from gateway.telemetry.spans.turn_spans import MAX_REQUESTERS
from gateway.telemetry.turn_facts import SessionArchived, TelemetryReader, TurnFacts

_CODE = re.compile(r"[a-z][a-z_]{2,40}(?=$|[:. ])")
_OPEN = 1000
"""Most compressions followed at once."""
MAX_CHANGES = 100
"""Changes of one reading that have an event each."""
SCORES = {"up": 1.0, "down": 0.0}
_UNFINISHED = {"reason": semconv.UNFINISHED}


@dataclass(slots=True)
class _Open:
    span: Span
    started_at: int


@dataclass(frozen=True, slots=True)
class _CompressionEvent:
    """A compression event: of `turn`, or (None) of the operation `work_id`."""

    turn: TurnFacts | None
    session_id: str
    work_id: str
    seq: int
    data: dict[str, Any]
    at: int


class UpkeepSpans(TelemetryReader):
    """Draws `gateway.compression`: a child of the turn that it happened in, else a root of its own that is
    linked to the request; `gateway.archive`, a root; `gateway.memory.learn`, a root with its changes as
    events; `gateway.webhook`, a child of the turn that it tells of; and `gateway.feedback`, a child of its
    turn, with the event that the conventions have for an evaluation. A person's own words are there with
    `content` only."""

    def __init__(self, traces: Traces, *, content: bool = False) -> None:
        self._traces = traces
        self._content = content
        self._request_spans = BoundedDict[str, SpanContext](MAX_REQUESTERS)
        # By session, where one compression runs at a time; it may begin between turns and end in one.
        self._open: OrderedDict[str, _Open] = OrderedDict()

    def asked(self, session_id: str, requester: SpanContext) -> None:
        """The request of that span asks for a compression of that session."""
        self._request_spans[session_id] = requester

    def answered(self, session_id: str) -> None:
        """That request is over, whether anything was compressed or not."""
        self._request_spans.pop(session_id, None)

    def running(self, session_id: str) -> Span | None:
        """The span of the compression of that session that is under way."""
        found = self._open.get(session_id)
        return found.span if found is not None else None

    def operated(self, body: dict[str, Any]) -> None:
        if body["type"] == "compression":
            event = _CompressionEvent(
                None, body["session_id"], body["turn_id"], body["seq"], body["data"], body["ts"]
            )
            self._record(event)

    def compressed(self, turn: TurnFacts | None, session_id: str, data: dict[str, Any], at: int) -> None:
        if turn is not None:  # `operated` has the others, with their operation
            self._record(_CompressionEvent(turn, session_id, turn.id, turn.last_seq, data, at))

    def archived(self, archived: SessionArchived) -> None:
        span = self._traces.root(
            semconv.ARCHIVE,
            archived.trace_id,
            at=archived.started_at,
            attributes={semconv.BESIDE_SESSION: archived.session_id},
        )
        close(span, archived.ended_at, archived.started_at, archived.error)

    def learned(self, run: LearningReport) -> None:
        attributes: dict[str, AttributeValue | None] = {
            semconv.BESIDE_SESSION: run.session_id,
            semconv.REQUEST_MODEL: run.model,
            semconv.LEARNING_CALLS: run.calls,
            semconv.LEARNING_OFFERED: run.offered,
            semconv.LEARNING_DROPPED: sum(run.dropped.values()),
            semconv.LEARNING_CHANGED: len(run.changed),
        }
        if run.usage is not None:
            attributes[semconv.LEARNING_INPUT] = run.usage.total - run.usage.output_tokens
            attributes[semconv.LEARNING_OUTPUT] = run.usage.output_tokens
        trace_id = trace_id_of(learning_id(run.session_id, run.started_at))
        span = self._traces.root(semconv.LEARN, trace_id, at=run.started_at, attributes=attributes)
        for changed in run.changed[:MAX_CHANGES]:
            at = min(max(changed.row.updated_at, run.started_at), run.ended_at)
            add_event(span, semconv.MEMORY, at, memory_facts(changed.event.model_dump(exclude_none=True)))
        close(span, run.ended_at, run.started_at, run.error)

    def rated(self, body: dict[str, Any]) -> None:
        data, at, turn_id = body["data"], body["ts"], body["turn_id"]
        parent = root_of(trace_id_of(turn_id))
        attributes = {**turn_ids(body["session_id"], turn_id), semconv.RATED: data["of"]}
        span = self._traces.child(
            parent, semconv.FEEDBACK, f"feedback {body['seq']}", at=at, attributes=attributes
        )
        reason = data.get("reason") if self._content else None
        found: Attributes = {
            semconv.EVALUATION: semconv.FEEDBACK,
            semconv.EVALUATION_LABEL: data["rating"],
            semconv.EVALUATION_SCORE: SCORES.get(data["rating"]),
            semconv.EVALUATION_EXPLANATION: redact(reason) if reason is not None else None,
        }
        add_event(span, semconv.EVALUATION_RESULT, at, found)
        close(span, at, at, None)

    def webhook_tried(self, tried: DeliveryAttempt) -> None:
        delivery = tried.delivery
        attributes: dict[str, AttributeValue | None] = {
            semconv.WEBHOOK_EVENT: delivery.type,
            semconv.WEBHOOK_ATTEMPT: delivery.attempts,
            semconv.DELIVERY_OUTCOME: tried.outcome,
            semconv.HTTP_STATUS: tried.status,
        }
        part = f"webhook {delivery.number} {delivery.attempts} {tried.started_at}"
        if delivery.turn_id is None:
            trace_id = trace_id_of(part)
            span = self._traces.root(
                semconv.WEBHOOK, trace_id, at=tried.started_at, attributes=attributes, kind=SpanKind.CLIENT
            )
        else:
            if delivery.session_id is not None:
                attributes |= turn_ids(delivery.session_id, delivery.turn_id)
            parent = root_of(trace_id_of(delivery.turn_id))
            span = self._traces.child(
                parent,
                semconv.WEBHOOK,
                part,
                at=tried.started_at,
                attributes=attributes,
                kind=SpanKind.CLIENT,
            )
        failed = None if tried.outcome == "delivered" else str(tried.status or semconv.OTHER)
        close(span, tried.ended_at, tried.started_at, failed)

    def turn_left(self, turn: TurnFacts) -> None:
        self._open.pop(turn.session_id, None)

    def _record(self, event: _CompressionEvent) -> None:
        running = self._open.pop(event.session_id, None)
        if event.data["phase"] == "started":
            if running is not None:
                _end(running, _UNFINISHED, event.seq, event.at)
            self._open[event.session_id] = self._start(event, event.at)
            if len(self._open) > _OPEN:
                _end(self._open.popitem(last=False)[1], _UNFINISHED, event.seq, event.at)
            return
        if running is None:  # a former process began it
            running = self._start(event, event.at - event.data.get("duration_ms", 0))
        _end(running, event.data, event.seq, event.at)

    def _start(self, event: _CompressionEvent, at: int) -> _Open:
        attributes: dict[str, AttributeValue | None] = {
            semconv.FIRST_SEQ: event.seq,
            semconv.TRIGGER: event.data.get("trigger"),
        }
        requester = self._request_spans.pop(event.session_id, None)
        if event.turn is None:
            attributes[semconv.BESIDE_SESSION] = event.session_id
            attributes[semconv.OPERATION_ID] = event.work_id
            trace_id = trace_id_of(event.work_id)
            span = self._traces.root(
                semconv.COMPRESSION, trace_id, at=at, attributes=attributes, requester=requester
            )
        else:
            attributes |= turn_ids(event.session_id, event.turn.id)
            part = f"compression {event.seq}"
            span = self._traces.child(
                event.turn.span, semconv.COMPRESSION, part, at=at, attributes=attributes
            )
            if requester is not None:
                link_to_requester(span, requester)
        return _Open(span, at)


def _end(running: _Open, data: dict[str, Any], seq: int, at: int) -> None:
    span = running.span
    found = {attribute: data.get(name) for name, attribute in semconv.COMPRESSION_FACTS.items()}
    found[semconv.LAST_SEQ] = seq
    if "usage" in data:
        usage = Usage.model_validate(data["usage"])
        found[semconv.COMPRESSION_INPUT] = usage.total - usage.output_tokens
        found[semconv.COMPRESSION_OUTPUT] = usage.output_tokens
    span.set_attributes(known(found))
    close(span, at, running.started_at, None if data.get("phase") == "completed" else _code(data))


def _code(data: dict[str, Any]) -> str:
    """The code that a reason begins with; what follows it may quote an endpoint."""
    found = _CODE.match(data.get("reason", ""))
    return found[0] if found else semconv.OTHER
