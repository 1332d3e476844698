"""The events of one turn, folded into what the dialects of other clients have in common.

A dialect shows spans that open, grow and close, steps, calls with their results, a turn that waits, and its
end; the log has single events. The fold is pure: the same events give the same parts, however they are cut
into batches, so that a reader that comes back sees what the first one saw.

    events   iteration_start │text │text │thinking │iteration_end │tool_call │approval_request
    parts    StepBegan │Opened Grew Grew Closed │Opened Grew Closed │CallMade │ApprovalAsked
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal

from gateway.adapters.turn_parts import (
    ApprovalAsked,
    ApprovalGiven,
    AttemptWithdrawn,
    CallAnswered,
    CallMade,
    CallProgressed,
    Closed,
    Data,
    Grew,
    ModelAnswered,
    Noted,
    Opened,
    Part,
    Span,
    StepBegan,
    StepEnded,
    TurnBegan,
    TurnEnded,
    TurnToolCall,
    Waiting,
    runs_on_client,
)
from gateway.events.envelope import StoredEvent

_TEXT = b'"data":{"text":'
"""What stands before the text of a piece in the one form in which events are written: the text is the whole
of its data, so `}}` stands behind it."""


class Fold:
    """Takes the events of one turn, all of them from its first on."""

    def __init__(self) -> None:
        self.turn_id = ""
        self.is_over = False
        self._decided: Collection[str] = ()
        self._step = 0
        self._step_end: Data = {}
        self._span: Span | None = None
        self._spans = 0
        self._shown: list[Span] = []
        self._calls: dict[str, TurnToolCall] = {}
        self._open: dict[str, Waiting | None] = {}
        self._error: Data | None = None

    @property
    def waits_for(self) -> Sequence[Waiting]:
        """What a person shall decide, and the calls that the client shall run, where nothing else is left to
        do: the turn waits, as of the last event. All calls of a message come in one commit, and before the
        first of them is asked about."""
        asked = [each for each in self._open.values() if each is not None]
        return asked if len(asked) == len(self._open) else []

    def decide(self, calls: Collection[str]) -> None:
        """The reader knows that these calls were decided, or answered, though the log may not say so yet."""
        self._decided = calls
        self._open.update(dict.fromkeys(self._open.keys() & set(calls)))

    def take(self, events: Sequence[StoredEvent]) -> list[Part]:
        """What the next events come to."""
        parts: list[Part] = []
        for event in events:
            kind = event.type
            if kind in ("text", "thinking"):
                span = self._span
                if span is None or span.kind != kind:
                    span = self._open_span(kind, parts)
                body = event.body
                parts.append(Grew(span, body[body.index(_TEXT) + len(_TEXT) : -2]))
            elif kind != "feedback":  # of a turn that is over
                self._take(event, parts)
        return parts

    def _take(self, event: StoredEvent, parts: list[Part]) -> None:
        loaded = event.load()
        data: Data = loaded["data"]
        match event.type:
            case "turn_start":
                self.turn_id = event.turn_id
                parts.append(TurnBegan(loaded["session_id"], event.turn_id, event.seq, data))
            case "iteration_start":
                self._begin_step(loaded["iteration"], data, parts)
            case "iteration_end":
                self._close_span(parts)
                self._step_end = data
                parts.append(ModelAnswered(self._step, data))
            case "iteration_superseded":
                self._close_span(parts)
                parts.append(AttemptWithdrawn(self._step, tuple(self._shown), data))
                self._shown.clear()
            case "error":
                self._error = data
            case "done":
                self._end_step(parts)
                parts.append(TurnEnded(data, self._error))
                self.is_over = True
                self._open.clear()
            case "tool_call":
                self._close_span(parts)
                call = TurnToolCall(loaded["tool_call_id"], data["name"], data["arguments"], data)
                made = CallMade(call)
                self._calls[call.id] = call
                self._open[call.id] = made if runs_on_client(call) else None
                parts.append(made)
            case kind if (call := self._calls.get(loaded.get("tool_call_id", ""))) and kind in _OF_CALLS:
                self._take_of_call(_OF_CALLS[kind](call, data), parts)
            case kind:
                parts.append(Noted(kind, data, event.seq, loaded.get("tool_call_id")))

    def _take_of_call(self, part: Part, parts: list[Part]) -> None:
        parts.append(part)
        match part:
            case ApprovalAsked(call) if call.id not in self._decided:
                self._open[call.id] = part
            case ApprovalGiven(call):
                self._open[call.id] = None
            case CallAnswered(call):
                self._open.pop(call.id, None)
            case _:
                pass

    def _begin_step(self, number: int, data: Data, parts: list[Part]) -> None:
        if number == self._step:
            return  # another attempt
        self._end_step(parts)
        self._step, self._step_end = number, {}
        self._shown.clear()
        parts.append(StepBegan(number, data))

    def _end_step(self, parts: list[Part]) -> None:
        self._close_span(parts)
        if self._step:
            parts.append(StepEnded(self._step, self._step_end))
            self._step = 0

    def _open_span(self, kind: Literal["text", "thinking"], parts: list[Part]) -> Span:
        self._close_span(parts)
        self._spans += 1
        span = self._span = Span(kind, f"{self.turn_id}-{self._spans}", self._step)
        self._shown.append(span)
        parts.append(Opened(span))
        return span

    def _close_span(self, parts: list[Part]) -> None:
        if self._span is not None:
            parts.append(Closed(self._span))
            self._span = None


_OF_CALLS: Mapping[str, Callable[[TurnToolCall, Data], Part]] = {
    "tool_progress": CallProgressed,
    "tool_result": CallAnswered,
    "approval_request": ApprovalAsked,
    "approval_response": ApprovalGiven,
}
