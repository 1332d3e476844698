"""A turn begins, iterates, fails or ends."""

from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field

from gateway.events.envelope import Event, EventData
from gateway.ids import ID_PATTERN
from gateway.messages import Attached, FileReading, Usage

Outcome = Literal["completed", "failed", "cancelled", "limit_reached", "interrupted"]

ErrorCode = Literal[
    "upstream_overloaded",
    "upstream_rate_limited",
    "upstream_timeout",
    "upstream_auth",
    "upstream_quota",
    "upstream_error",
    "upstream_truncated",
    "provider_key_missing",
    "context_overflow",
    "content_refused",
    "max_iterations",
    "max_tool_calls",
    "budget_exceeded",
    "tool_timeout",
    "tool_failed",
    "cancelled",
    "server_restart",
    "storage_unavailable",
    "storage_damaged",
    "archive_damaged",
    "decryption_failed",
    "internal",
]


class AttachedFile(BaseModel):
    """A file that came with a message: the artifact that holds it, its name, type and bytes."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    ref: str
    name: str
    mime: str
    size: int = Field(ge=0)
    reading: FileReading | None = Field(
        default=None,
        description="What the model gets of it; absent in older turns. What this very model does not look "
        "at, and what there is no room for, the warning `attachment_not_shown` tells.",
    )


def attached_files(given: Sequence[Attached]) -> list[AttachedFile] | None:
    """The files of a message as its event has them; None where there are none."""
    return [
        AttachedFile(ref=each.ref, name=each.name, mime=each.mime, size=each.size, reading=each.reading)
        for each in given
    ] or None


class TurnStart(EventData):
    """A turn begins. The first event of a turn."""

    event_type: ClassVar[str] = "turn_start"

    input: str = Field(description="The user's message.")
    model: str
    trace_id: str = Field(pattern=r"^[0-9a-f]{32}$", description="W3C trace id of the turn's trace.")
    client_message_id: str | None = None
    queued_ms: int | None = Field(
        default=None, ge=0, description="How long the message waited for the turns before it."
    )
    trace_url: str | None = Field(default=None, description="Where the trace can be looked at.")
    attachments: list[AttachedFile] | None = Field(
        default=None, description="The files that came with the message."
    )
    seeded: Literal[True] | None = Field(
        default=None,
        description="It did not run here: a client brought it along when the session was made. What it used "
        "is unknown.",
    )
    parent_turn_id: str | None = Field(
        default=None,
        pattern=ID_PATTERN,
        description="What it was asked after: a turn, or `root` for none. Absent where that is the turn that "
        "ran before it in the log.",
    )
    dialect: str | None = Field(
        default=None,
        pattern=r"^[a-z0-9-]{1,32}$",
        description="The adapter by which its client asked, as `GATEWAY_ADAPTERS` names it. Absent: the "
        "gateway's own routes.",
    )
    by: str | None = Field(
        default=None,
        pattern=r"^m_[0-9a-f]{32}$",
        description="Who sent the message, in a session that is shared: the `handle` of a member of its "
        "project. Absent: whose session it is.",
    )


class IterationStart(EventData):
    """A model call begins. `iteration` in the envelope counts from 1."""

    event_type: ClassVar[str] = "iteration_start"

    attempt: int = Field(ge=1, description="From 1; a later attempt replaces what an earlier one streamed.")
    model: str
    prefix_hash: str | None = Field(
        default=None, description="SHA-256 in hex of the prompt before the messages: tools and components."
    )
    components: dict[str, str] | None = Field(
        default=None,
        description="The prompt's components by name, each with the first 12 hex digits of its SHA-256: with "
        "a turn's first call, and again when the prefix has changed.",
    )
    instructions_tokens: int | None = Field(
        default=None,
        ge=0,
        description="With `components`: the estimated size of the client's instructions in the prompt; "
        "absent without any.",
    )
    prompt_profile: Literal["small"] | None = Field(
        default=None,
        description="With `components`: prompt and tools are in their short form; absent: in the full one.",
    )
    tools_left_out: list[str] | None = Field(
        default=None,
        description="With `components`: tools that the model is not told of, as a policy denies them or "
        "there is no room for them in its window.",
    )


class IterationEnd(EventData):
    """A model call is over and its message is stored. Without `stop_reason` the answer was cut short (by a
    cancel, a failure or a restart) and what had been streamed is kept."""

    event_type: ClassVar[str] = "iteration_end"

    stop_reason: str | None = Field(
        default=None, description="As the endpoint gave it; `unknown` if it gave none."
    )
    stop_sequence: str | None = Field(
        default=None, description="The text at which the model stopped, where the endpoint told it."
    )
    usage: Usage | None = Field(default=None, description="Absent when the endpoint did not report it.")
    cost: float | None = Field(
        default=None, ge=0, description="US dollars. Absent means unknown, never free."
    )
    ttft_ms: int | None = Field(default=None, ge=0, description="From the call to its first content.")
    duration_ms: int = Field(ge=0)
    model: str | None = Field(default=None, description="The model that answered, as the endpoint named it.")
    response_id: str | None = Field(default=None, description="The endpoint's id of the answer.")
    key_of: Literal["user", "tenant", "gateway"] | None = Field(
        default=None,
        description="Whose key of the endpoint it was called with, where users may have their own.",
    )


class IterationSuperseded(EventData):
    """An attempt failed or was lost: drop what it streamed; a new attempt of the same iteration follows."""

    event_type: ClassVar[str] = "iteration_superseded"

    attempt: int = Field(ge=1)
    reason: str = Field(description="An in-stream error code.")
    began: bool | None = Field(default=None, description="True when the endpoint had begun to answer.")
    usage: Usage | None = Field(default=None, description="What the endpoint had reported until then.")


EVENTS_LOST = "events_lost"
"""The code of a warning that names numbers of events that are gone."""


class TurnWarning(EventData):
    """Something a person should know; the turn goes on."""

    event_type: ClassVar[str] = "warning"

    code: str
    message: str
    reasons: list[str] | None = Field(
        default=None,
        description="With `prompt_changed`: the codes of all reasons why a new prompt generation begins, "
        "where there are several. With a single one the warning has its code.",
    )
    first: int | None = Field(
        default=None, ge=1, description="With `events_lost`: the first of the numbers that are left out."
    )
    last: int | None = Field(default=None, ge=1, description="With `events_lost`: the last of them.")
    before: int | None = Field(
        default=None,
        ge=1,
        description="With `model_busy`: how many requests the model's endpoint answers before this one. The "
        "wait is over with the `iteration_start` that follows.",
    )


class TurnError(EventData):
    """Why the turn failed. Comes before the `done` of a failed turn."""

    event_type: ClassVar[str] = "error"

    code: ErrorCode
    message: str
    retryable: bool


class Done(EventData):
    """The turn is over. Exactly one per turn, and its last event but for `feedback`."""

    event_type: ClassVar[str] = "done"

    status: Outcome
    stop_reason: str | None = None
    usage: Usage | None = Field(
        default=None, description="Sum over all model calls that reported it, also superseded ones."
    )
    usage_unreported: int | None = Field(
        default=None, ge=1, description="Model calls that began to answer and never reported their usage."
    )
    cost: float | None = Field(
        default=None, ge=0, description="US dollars. Absent means unknown, never free."
    )
    iterations: int = Field(ge=0)
    duration_ms: int = Field(ge=0)
    ttft_ms: int | None = Field(
        default=None, ge=0, description="From the turn's start to the first text of its answer."
    )


TurnStartEvent = Event[Literal["turn_start"], TurnStart]
IterationStartEvent = Event[Literal["iteration_start"], IterationStart]
IterationEndEvent = Event[Literal["iteration_end"], IterationEnd]
IterationSupersededEvent = Event[Literal["iteration_superseded"], IterationSuperseded]
WarningEvent = Event[Literal["warning"], TurnWarning]
ErrorEvent = Event[Literal["error"], TurnError]
DoneEvent = Event[Literal["done"], Done]
