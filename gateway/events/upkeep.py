"""What the gateway does beside the answer: memory, skills, artifacts, compression."""

from typing import Any, ClassVar, Literal

from pydantic import Field

from gateway.events.envelope import Event, EventData


class Memory(EventData):
    """Something was remembered, corrected or forgotten."""

    event_type: ClassVar[str] = "memory"

    op: Literal["remembered", "corrected", "forgotten"]
    memory_id: str
    kind: str
    content: str | None = None
    reason: str


class Skill(EventData):
    """A written skill was read, or refused."""

    event_type: ClassVar[str] = "skill"

    name: str
    type: Literal["function", "markdown", "mcp"]
    action: Literal["read", "refused"]
    reason: str | None = None


class Artifact(EventData):
    """A large result was kept aside."""

    event_type: ClassVar[str] = "artifact"

    ref: str
    mime: str
    size: int = Field(ge=0, description="Bytes.")
    summary: str


class Compression(EventData):
    """The history is being compressed: archived, with a summary in its place."""

    event_type: ClassVar[str] = "compression"

    phase: Literal["started", "completed", "failed"]
    version: int | None = Field(default=None, ge=1)
    covers: dict[str, Any] | None = None
    tokens_before: int | None = Field(default=None, ge=0)
    tokens_after: int | None = Field(default=None, ge=0)
    reason: str | None = None


MemoryEvent = Event[Literal["memory"], Memory]
SkillEvent = Event[Literal["skill"], Skill]
ArtifactEvent = Event[Literal["artifact"], Artifact]
CompressionEvent = Event[Literal["compression"], Compression]
