"""What the gateway does beside the answer: memory, skills, artifacts."""

from typing import ClassVar, Literal

from pydantic import Field

from gateway.events.envelope import Event, EventData

Cause = Literal["user", "model", "outside", "tool", "learning"]


class Memory(EventData):
    """Something was remembered, corrected, forgotten, restored or erased."""

    event_type: ClassVar[str] = "memory"

    op: Literal[
        "remembered",
        "reinforced",
        "corrected",
        "confirmed",
        "flagged",
        "forgotten",
        "restored",
        "erased",
    ]
    memory_id: str
    kind: str = Field(description="The type of the memory: preference, fact, constraint, ...")
    content: str | None = Field(default=None, description="What is remembered from now on.")
    reason: str
    version: int | None = Field(default=None, ge=1, description="Of the memory, after this.")
    by: str | None = Field(default=None, description="The user's id, `model`, `keeper`, or a tool's name.")
    status: Literal["active", "suppressed", "frozen", "replaced"] | None = None
    superseded_by: str | None = Field(default=None, description="The memory that says it now.")
    quarantined: Literal[True] | None = Field(
        default=None,
        description="It may have been planted, and is not recalled before somebody confirms it.",
    )
    origin: Literal["user", "confirmed", "model", "tool", "outside"] | None = Field(
        default=None,
        description="Who stated it: the user, or the user confirmed it; the model; a tool; or the model "
        "after it had read something that the operator does not trust (`outside`).",
    )
    tools: list[str] | None = Field(
        default=None, description="The tools whose output the model had read when it was saved; absent: none."
    )
    cause: Cause | None = Field(
        default=None,
        description="What led to the change: `user`, who made it or whose newest message asks for it; "
        "`model`, of its own accord; `outside`, the model after it had read something that the operator does "
        "not trust, and no word of the user asks for it; `tool`, which suggested it; `learning` from the "
        "conversation.",
    )
    sources: list[str] | None = Field(
        default=None,
        description="The tools that the operator does not trust, files and conversations from elsewhere "
        "whose words the model had in context when it made the change; absent: none.",
    )
    restorable_until: int | None = Field(
        default=None, description="Of what was forgotten: until when it can be restored, Unix milliseconds."
    )


class Skill(EventData):
    """A written skill was read, or what was asked of a skill was refused."""

    event_type: ClassVar[str] = "skill"

    name: str
    type: Literal["function", "markdown", "mcp"]
    action: Literal["read", "refused"]
    reason: str | None = None
    path: str | None = Field(default=None, description="The file that was read, if not SKILL.md itself.")
    digest: str | None = Field(default=None, description="SHA-256 of what was read, in hex.")
    allowed_tools: list[str] | None = Field(
        default=None,
        description="Globs of the tools that may be called from here on. Absent: the skill sets no limit.",
    )


class Artifact(EventData):
    """A large result, or one that is not text, was offloaded; the call's result has its compact form."""

    event_type: ClassVar[str] = "artifact"

    ref: str = Field(description="Its reference: `ART-…`. `/api/artifacts/{ref}` has the content.")
    mime: str
    size: int = Field(ge=0, description="Bytes.")
    summary: str = Field(description="What is in it, by its type, in few words.")
    kind: str | None = Field(
        default=None, description="text, json, csv, markdown, code, log, image, pdf or binary."
    )
    name: str | None = Field(default=None, description="A name for a file with it.")
    lines: int | None = Field(default=None, ge=0, description="Lines; absent where it is no text.")


MemoryEvent = Event[Literal["memory"], Memory]
SkillEvent = Event[Literal["skill"], Skill]
ArtifactEvent = Event[Literal["artifact"], Artifact]
