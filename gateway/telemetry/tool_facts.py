"""The facts about a tool call that the observer gathers: its approval, its work, its result.

All times are Unix milliseconds as the events carry them.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opentelemetry.trace import INVALID_SPAN, Span

from gateway.events.tool_calls import AUTOMATIC_DECIDERS
from gateway.telemetry.redaction import redact_text
from gateway.telemetry.semconv import OTHER

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_NAME = re.compile(r"[A-Za-z0-9_:@.-]{1,80}")


@dataclass(slots=True)
class ApprovalState:
    """Whether a call may run. `first_seq` is the event that it began with; `asked_at` is None when no
    approval was needed; `decision` is None until it is known, and stays so when the turn ended before."""

    first_seq: int
    asked_at: int | None = None
    ended_at: int | None = None
    decision: str | None = None
    by: str | None = None
    scope: str | None = None
    span: Span = INVALID_SPAN

    @property
    def kind(self) -> str | None:
        """Who decided: `user`, or the rule that did: `policy`, `grant`, `expiry`."""
        return self.by if self.by is None or self.by in AUTOMATIC_DECIDERS else "user"

    @property
    def waited_ms(self) -> int | None:
        """From the question to its end; None without a question, or when it is not over."""
        if self.asked_at is None or self.ended_at is None:
            return None
        return max(self.ended_at - self.asked_at, 0)


@dataclass(slots=True)
class Step:
    """A step of what a tool did. `error` is one word: the type of an exception, or _OTHER. `input` and
    `output` are content."""

    number: int
    id: str
    name: str
    started_at: int
    ended_at: int
    error: str | None
    input: Any
    output: Any
    span: Span = INVALID_SPAN


@dataclass(frozen=True, slots=True)
class SkillUse:
    """A written skill that was read, or what a call wanted of a skill and did not get. What was refused may
    have any name: it is _OTHER unless it has the form of one."""

    name: str
    type: str
    action: str
    path: str | None
    digest: str | None
    at: int

    @classmethod
    def from_event(cls, data: Mapping[str, Any], at: int) -> "SkillUse":
        """As the `skill` event has it."""
        name = data["name"]
        known = data["action"] == "read" or _NAME.fullmatch(name) is not None
        return cls(
            name if known else OTHER, data["type"], data["action"], data.get("path"), data.get("digest"), at
        )


@dataclass(slots=True)
class ToolRun:
    """One tool call, from intent to result; `on_client`: the user's client runs it. `approval` is there
    when it was asked or decided whether it may run. The rest comes with the result: `duration_ms` is the
    tool's own time, `suggested` are the types of what it thinks is worth remembering."""

    call_id: str
    name: str
    started_at: int
    effect: str | None = None
    on_client: bool = False
    approval: ApprovalState | None = None
    ended_at: int | None = None
    status: str | None = None
    duration_ms: int = 0
    error: str | None = None
    steps: Sequence[Step] = ()
    suggested: Sequence[str] = ()
    first_seq: int = 0
    last_seq: int = 0
    span: Span = INVALID_SPAN

    @property
    def waits(self) -> bool:
        """Whether a person has still to decide about it, or a client to give its result."""
        if self.on_client:
            return self.ended_at is None
        return self.approval is not None and self.approval.ended_at is None


def steps_of(data: Mapping[str, Any], started_at: int, ended_at: int) -> list[Step]:
    """The steps of a `tool_result`. Their times come from the tool and may be anything, so each lies within
    the call; one without a beginning is taken to have ended with the call."""
    steps: list[Step] = []
    for number, step in enumerate(data.get("steps", ()), start=1):
        duration_ms = step["duration_ms"]
        began = min(max(step.get("timestamp", ended_at - duration_ms), started_at), ended_at)
        steps.append(
            Step(
                number=number,
                id=step["step_id"],
                name=redact_text(step["step_name"]),
                started_at=began,
                ended_at=min(began + duration_ms, ended_at),
                error=_error_type(step.get("error")),
                input=step.get("input"),
                output=step.get("output"),
            )
        )
    return steps


def _error_type(error: str | None) -> str | None:
    """Of an error that a tool words as it likes: only a single word is no sentence about its arguments."""
    if error is None:
        return None
    return error if _WORD.fullmatch(error) else OTHER
