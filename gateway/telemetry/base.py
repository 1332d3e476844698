"""What the observer knows of a turn in progress, and what it tells its readers.

All times are Unix milliseconds as the events carry them, so spans and metrics say what the log says.
"""

from dataclasses import dataclass, field
from typing import Any

from opentelemetry.trace import INVALID_SPAN, Span

from gateway.messages import Usage


@dataclass(slots=True)
class Call:
    """One logical model call: an iteration with all its attempts.

    Pieces and first content are those of the latest attempt. `cut` is true when the answer is not complete,
    for whatever reason; `error` is the in-stream code of that reason, or while the call is open the one of
    the latest failed attempt.
    """

    iteration: int
    model: str
    started_at: int
    attempts: int = 1
    text_pieces: int = 0
    thinking_pieces: int = 0
    first_content_at: int | None = None
    ended_at: int | None = None
    cut: bool = False
    stop_reason: str | None = None
    usage: Usage | None = None
    cost: float | None = None
    ttft_ms: int | None = None
    error: str | None = None
    span: Span = INVALID_SPAN

    @property
    def seconds(self) -> float:
        """From the first attempt's start to the end; 0 while it is open."""
        return max((self.ended_at or self.started_at) - self.started_at, 0) / 1000

    @property
    def seconds_to_first_chunk(self) -> float | None:
        """Until the first piece of the attempt that counts, failed ones included. None when nothing came."""
        if self.ttft_ms is not None and self.attempts == 1:
            return self.ttft_ms / 1000  # measured nearer to the wire than the event's time
        if self.first_content_at is None:
            return None
        return max(self.first_content_at - self.started_at, 0) / 1000


@dataclass(slots=True)
class ToolRun:
    """One tool call, from intent to result. `status` and `duration_ms` come with the result."""

    call_id: str
    name: str
    started_at: int
    effect: str | None = None
    ended_at: int | None = None
    status: str | None = None
    duration_ms: int = 0
    error: str | None = None
    span: Span = INVALID_SPAN


@dataclass(slots=True)
class Turn:
    """A turn this process has seen something of.

    `whole` is false when it began in a former process. `call` is the open model call, `tools` the open tool
    runs by call id. `outcome` and `totals` (the data of `done`) are set when it is over; `error` is the code
    of its last `error` event.
    """

    id: str
    session_id: str
    trace_id: str
    model: str | None
    whole: bool
    started_at: int
    first_seq: int
    last_seq: int
    seen_at: int
    call: Call | None = None
    tools: dict[str, ToolRun] = field(default_factory=dict[str, ToolRun])
    iterations: int = 0
    tool_calls: int = 0
    error: str | None = None
    outcome: str | None = None
    totals: dict[str, Any] = field(default_factory=dict[str, Any])
    span: Span = INVALID_SPAN


class Reader:
    """Is told what happened, in order. A reader overrides what it cares for and must not raise.

    Every `turn_started` is followed by exactly one `turn_ended` or `turn_lost`, every `call_started` by one
    `call_ended` and every `tool_started` by one `tool_ended` before that.
    """

    def turn_started(self, turn: Turn) -> None:
        """A turn began, or the first event of one that began in a former process was seen."""

    def call_started(self, turn: Turn, call: Call) -> None:
        """A model call began."""

    def call_retried(self, turn: Turn, call: Call, reason: str, usage: Usage | None, at: int) -> None:
        """Attempt number `call.attempts` failed and is replaced; `usage` is what it had reported."""

    def call_ended(self, turn: Turn, call: Call) -> None:
        """A model call is complete, failed or cut short."""

    def tool_started(self, turn: Turn, run: ToolRun) -> None:
        """A tool call's intent is recorded."""

    def tool_ended(self, turn: Turn, run: ToolRun) -> None:
        """A tool call has its result, or will never get one (`status` is None)."""

    def retrieved(self, turn: Turn, run: ToolRun | None, data: dict[str, Any], at: int) -> None:
        """Something was looked up, by a tool or (None) for the turn; `data` is the event's."""

    def warned(self, turn: Turn, data: dict[str, Any]) -> None:
        """A `warning` event."""

    def failed(self, turn: Turn, data: dict[str, Any]) -> None:
        """An `error` event."""

    def turn_ended(self, turn: Turn) -> None:
        """The turn is over; `turn.outcome` and `turn.totals` say how."""

    def turn_lost(self, turn: Turn) -> None:
        """The turn is no longer followed: its end was not seen in time."""
