"""Tool calls, from intent to result, and people's decisions about them."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from gateway.events.envelope import Event, EventData, Part

Effect = Literal["read_only", "idempotent", "effectful"]
AUTOMATIC_DECIDERS = frozenset({"policy", "grant", "expiry"})
"""Who decides about a call without a person: a rule, what a person allowed before, or the end of its time."""
Decision = Literal["approved", "denied"]
Scope = Literal["once", "session", "always"]
ResultStatus = Literal["ok", "error", "denied", "cancelled", "timeout", "unknown_outcome"]


class ToolCall(EventData):
    """The model calls a tool: sent once, when the arguments are complete and valid JSON."""

    event_type: ClassVar[str] = "tool_call"

    name: str
    arguments: dict[str, Any]
    effect: Effect = Field(description="What a repetition would do; unknown tools count as effectful.")
    needs_approval: Literal[True] | None = Field(
        default=None, description="It does not run before a person allows it, now or in a grant before."
    )
    runs_on: Literal["client"] | None = Field(
        default=None,
        description="client: the user's client runs it and gives the result. Absent: the gateway does.",
    )


class ToolProgress(EventData):
    """The progress of a long tool."""

    event_type: ClassVar[str] = "tool_progress"

    message: str | None = None
    progress: float | None = Field(default=None, ge=0, le=1, description="Share done, 0 to 1.")


class StepTrace(Part):
    """One step of what a tool did. Inputs and outputs that are too large are cut and marked as cut."""

    step_id: str
    step_name: str
    input: Any = None
    output: Any = None
    duration_ms: int = Field(ge=0, le=2**53)
    error: str | None = None
    timestamp: int | None = Field(
        default=None, ge=0, le=2**53, description="When it began, Unix milliseconds."
    )


class MemoryWriteSuggestion(Part):
    """What a tool thinks is worth remembering. Whether it is, the memory decides."""

    owner_type: Literal["user", "household", "task", "group"]
    owner_id: str = Field(min_length=1, max_length=256)
    type: Literal["preference", "fact", "event", "summary"]
    importance: int = Field(ge=1, le=5)
    content: str = Field(min_length=1, max_length=4000)
    metadata: dict[str, Any] | None = None


class CallResult(EventData):
    """What the model reads as the call's result. Exactly one per tool_call, with the same tool_call_id."""

    event_type: ClassVar[str] = "tool_result"

    name: str
    status: ResultStatus
    content: str
    duration_ms: int = Field(ge=0)
    artifact: str | None = Field(default=None, description="Reference of the full content, if offloaded.")
    memory_writes: list[MemoryWriteSuggestion] | None = None
    steps: list[StepTrace] | None = None


class ApprovalRequest(EventData):
    """A call waits for a person's decision."""

    event_type: ClassVar[str] = "approval_request"

    name: str
    arguments: dict[str, Any]
    reason: str | None = None
    expires_at: int | None = Field(
        default=None, ge=0, description="When it counts as denied, Unix milliseconds."
    )


class ApprovalResponse(EventData):
    """It was decided whether a call may run: by a person, now or before, or by a rule."""

    event_type: ClassVar[str] = "approval_response"

    decision: Decision
    by: str = Field(
        description="A user id; the `handle` of a member of the project, whose session it is not; or "
        "`policy`, `grant` or `expiry`, which come without a person."
    )
    scope: Scope | None = Field(default=None, description="For how long an approval holds.")
    reason: str | None = Field(default=None, description="The reason of a denial, which the model reads.")
    arguments: dict[str, Any] | None = Field(
        default=None, description="The arguments the call runs with, when they were edited."
    )


ToolCallEvent = Event[Literal["tool_call"], ToolCall]
ToolProgressEvent = Event[Literal["tool_progress"], ToolProgress]
ToolResultEvent = Event[Literal["tool_result"], CallResult]
ApprovalRequestEvent = Event[Literal["approval_request"], ApprovalRequest]
ApprovalResponseEvent = Event[Literal["approval_response"], ApprovalResponse]
