"""Spans of what is done to a session beside its answers: compression, in a turn or by itself; archives."""

import re
from collections import OrderedDict
from dataclasses import dataclass
from typing import Any

from opentelemetry.trace import Span, SpanContext
from opentelemetry.util.types import AttributeValue

from gateway.ids import trace_id_of
from gateway.messages import Usage
from gateway.telemetry import semconv
from gateway.telemetry.base import Archived, Reader, Turn
from gateway.telemetry.traces import Askers, Traces, close, link_to_asker

_CODE = re.compile(r"[a-z][a-z_]{2,40}(?=$|[:. ])")
_OPEN = 1000
"""Most compressions followed at once."""
_UNFINISHED = {"reason": semconv.UNFINISHED}


@dataclass(slots=True)
class _Open:
    span: Span
    started_at: int


@dataclass(frozen=True, slots=True)
class _Told:
    """A compression event: of `turn`, or (None) of the operation `work_id`."""

    turn: Turn | None
    session_id: str
    work_id: str
    seq: int
    data: dict[str, Any]
    at: int


class UpkeepSpans(Reader):
    """Draws `gateway.compression`: a child of the turn that it happened in, else a root of its own that is
    linked to the request; and `gateway.archive`, a root."""

    def __init__(self, traces: Traces) -> None:
        self._traces = traces
        self._askers = Askers()
        # By session, where one compression runs at a time; it may begin between turns and end in one.
        self._open: OrderedDict[str, _Open] = OrderedDict()

    def asked(self, session_id: str, asker: SpanContext) -> None:
        """The request of that span asks for a compression of that session."""
        self._askers.put(session_id, asker)

    def answered(self, session_id: str) -> None:
        """That request is over, whether anything was compressed or not."""
        self._askers.take(session_id)

    def running(self, session_id: str) -> Span | None:
        """The span of the compression of that session that is under way."""
        found = self._open.get(session_id)
        return found.span if found is not None else None

    def operated(self, body: dict[str, Any]) -> None:
        if body["type"] == "compression":
            told = _Told(None, body["session_id"], body["turn_id"], body["seq"], body["data"], body["ts"])
            self._tell(told)

    def compressed(self, turn: Turn | None, session_id: str, data: dict[str, Any], at: int) -> None:
        if turn is not None:  # the others were told by `operated`, which knows the operation
            self._tell(_Told(turn, session_id, turn.id, turn.last_seq, data, at))

    def archived(self, archived: Archived) -> None:
        span = self._traces.root(
            semconv.ARCHIVE,
            archived.trace_id,
            at=archived.started_at,
            attributes={semconv.BESIDE_SESSION: archived.session_id},
        )
        close(span, archived.ended_at, archived.started_at, archived.error)

    def turn_left(self, turn: Turn) -> None:
        self._open.pop(turn.session_id, None)

    def _tell(self, told: _Told) -> None:
        running = self._open.pop(told.session_id, None)
        if told.data["phase"] == "started":
            if running is not None:
                _end(running, _UNFINISHED, told.seq, told.at)
            self._open[told.session_id] = self._start(told, told.at)
            if len(self._open) > _OPEN:
                _end(self._open.popitem(last=False)[1], _UNFINISHED, told.seq, told.at)
            return
        if running is None:  # a former process began it
            running = self._start(told, told.at - told.data.get("duration_ms", 0))
        _end(running, told.data, told.seq, told.at)

    def _start(self, told: _Told, at: int) -> _Open:
        attributes: dict[str, AttributeValue] = {semconv.FIRST_SEQ: told.seq}
        if "trigger" in told.data:
            attributes[semconv.TRIGGER] = told.data["trigger"]
        asker = self._askers.take(told.session_id)
        if told.turn is None:
            attributes[semconv.BESIDE_SESSION] = told.session_id
            attributes[semconv.OPERATION_ID] = told.work_id
            trace_id = trace_id_of(told.work_id)
            span = self._traces.root(semconv.COMPRESSION, trace_id, at=at, attributes=attributes, asker=asker)
        else:
            attributes |= _ids(told.session_id) | {semconv.TURN: told.turn.id}
            part = f"compression {told.seq}"
            span = self._traces.child(told.turn.span, semconv.COMPRESSION, part, at=at, attributes=attributes)
            if asker is not None:
                link_to_asker(span, asker)
        return _Open(span, at)


def _ids(session_id: str) -> dict[str, AttributeValue]:
    return {semconv.CONVERSATION: session_id, semconv.SESSION: session_id}


def _end(running: _Open, data: dict[str, Any], seq: int, at: int) -> None:
    span = running.span
    span.set_attribute(semconv.LAST_SEQ, seq)
    for name, attribute in semconv.COMPRESSION_FACTS.items():
        if name in data:
            span.set_attribute(attribute, data[name])
    if "usage" in data:
        usage = Usage.model_validate(data["usage"])
        span.set_attribute(semconv.COMPRESSION_INPUT, usage.total - usage.output_tokens)
        span.set_attribute(semconv.COMPRESSION_OUTPUT, usage.output_tokens)
    close(span, at, running.started_at, None if data.get("phase") == "completed" else _code(data))


def _code(data: dict[str, Any]) -> str:
    """The code that a reason begins with; what follows it may quote an endpoint."""
    found = _CODE.match(data.get("reason", ""))
    return found[0] if found else semconv.OTHER
