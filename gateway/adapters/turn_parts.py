"""What the dialects of other clients have in common of a turn: spans that open, grow and close, steps, calls
with their results, a turn that waits, and its end. `turn_fold` makes them of events."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

Data = dict[str, Any]
"""The `data` of an event, as the event contract describes it."""


class Span(NamedTuple):
    """A text, or a stretch of thinking, without anything in between. `id` is the same for every reader."""

    kind: Literal["text", "thinking"]
    id: str
    step: int


class TurnToolCall(NamedTuple):
    """A call of a tool. `id` is the model's, unique in its turn."""

    id: str
    name: str
    arguments: Data
    data: Data


class TurnBegan(NamedTuple):
    """The first part of every turn; `data` is that of turn_start."""

    session_id: str
    turn_id: str
    seq: int
    data: Data


class StepBegan(NamedTuple):
    """A call of the model, with all that follows from it."""

    number: int
    data: Data


class ModelAnswered(NamedTuple):
    """The model's message is complete; `data` is that of iteration_end, with stop_reason and usage."""

    number: int
    data: Data


class StepEnded(NamedTuple):
    """Before the next step or the turn's end; `data` is that of iteration_end, empty if there was none."""

    number: int
    data: Data


class Opened(NamedTuple):
    span: Span


class Grew(NamedTuple):
    """`text` is a JSON string, with its quotes, as it is in the event."""

    span: Span
    text: bytes


class Closed(NamedTuple):
    span: Span


class CallMade(NamedTuple):
    """The reader's client runs it, and gives its result, where `runs_on` in its data says so."""

    call: TurnToolCall


class CallProgressed(NamedTuple):
    call: TurnToolCall
    data: Data


class CallAnswered(NamedTuple):
    """`data` is that of tool_result: status, content, and the rest."""

    call: TurnToolCall
    data: Data


class ApprovalAsked(NamedTuple):
    """A person shall decide about the call; `data` has the reason and the end of its time."""

    call: TurnToolCall
    data: Data


class ApprovalGiven(NamedTuple):
    """It was decided, also by a rule or by the end of its time; `data` is that of approval_response."""

    call: TurnToolCall
    data: Data


class AttemptWithdrawn(NamedTuple):
    """What the step has shown so far, `spans`, does not count; it begins once more."""

    number: int
    spans: Sequence[Span]
    data: Data


class Noted(NamedTuple):
    """Everything else that is worth telling, as it is in the event: retrieval, memory, skill, artifact,
    compression, warning, and types that come later."""

    type: str
    data: Data
    seq: int
    call_id: str | None


class TurnEnded(NamedTuple):
    """The last part of every turn. `data` is that of done, `error` that of the error before it, if any."""

    data: Data
    error: Data | None

    @property
    def failure(self) -> tuple[str, str] | None:
        """Code and words of why it came to no good end."""
        if self.error is not None:
            return self.error["code"], self.error["message"]
        status = self.data["status"]
        return (status, "The turn came to no end.") if status in {"failed", "interrupted"} else None


Part = (
    TurnBegan
    | StepBegan
    | ModelAnswered
    | StepEnded
    | Opened
    | Grew
    | Closed
    | CallMade
    | CallProgressed
    | CallAnswered
    | ApprovalAsked
    | ApprovalGiven
    | AttemptWithdrawn
    | Noted
    | TurnEnded
)
Waiting = ApprovalAsked | CallMade


def runs_on_client(call: TurnToolCall) -> bool:
    """Whether the client has to run it."""
    return call.data.get("runs_on") == "client"
