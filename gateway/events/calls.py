"""Tool calls, from intent to result, and a person's say in them."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from gateway.events.envelope import Event, EventData

Effect = Literal["read_only", "idempotent", "effectful"]
ResultStatus = Literal["ok", "error", "denied", "cancelled", "timeout", "unknown_outcome"]


class ToolCall(EventData):
    """The model calls a tool: sent once, when the arguments are complete and valid JSON."""

    event_type: ClassVar[str] = "tool_call"

    name: str
    arguments: dict[str, Any]
    effect: Effect = Field(description="What a repetition would do; unknown tools count as effectful.")


class ToolProgress(EventData):
    """A long tool tells how far it is."""

    event_type: ClassVar[str] = "tool_progress"

    message: str | None = None
    progress: float | None = Field(default=None, ge=0, le=1, description="Share done, 0 to 1.")


class ToolResult(EventData):
    """What the model reads as the call's result. Exactly one per tool_call, with the same tool_call_id."""

    event_type: ClassVar[str] = "tool_result"

    name: str
    status: ResultStatus
    content: str
    duration_ms: int = Field(ge=0)
    artifact: str | None = Field(default=None, description="Reference of the full content, when kept aside.")
    memory_writes: list[dict[str, Any]] | None = None
    steps: list[dict[str, Any]] | None = None


class ApprovalRequest(EventData):
    """A call waits for a person's decision."""

    event_type: ClassVar[str] = "approval_request"

    name: str
    arguments: dict[str, Any]
    reason: str | None = None


class ApprovalResponse(EventData):
    """A person decided."""

    event_type: ClassVar[str] = "approval_response"

    decision: Literal["approved", "denied"]
    by: str


ToolCallEvent = Event[Literal["tool_call"], ToolCall]
ToolProgressEvent = Event[Literal["tool_progress"], ToolProgress]
ToolResultEvent = Event[Literal["tool_result"], ToolResult]
ApprovalRequestEvent = Event[Literal["approval_request"], ApprovalRequest]
ApprovalResponseEvent = Event[Literal["approval_response"], ApprovalResponse]
