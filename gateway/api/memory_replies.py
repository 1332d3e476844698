"""Memories as they go out."""

from collections.abc import Sequence
from typing import Any, Literal, Self

from pydantic import Field

from gateway.http.json_types import Reply
from gateway.memory.changes import Changed, Details
from gateway.memory.corrections.contradictions import Contradiction
from gateway.memory.secret_detection import masked_row
from gateway.storage.memories import (
    RESTORABLE_FOR,
    Evidence,
    MemoryRow,
    MemoryType,
    MemoryVersion,
    Operation,
    Origin,
    OwnerType,
    Relation,
    Status,
    Tombstone,
    Visibility,
)

MAX_PAGE = 100
"""Of each list that belongs to one memory."""


class MemoryItem(Reply):
    """A memory. Times are Unix milliseconds."""

    id: str
    type: MemoryType
    content: str
    summary: str
    owner_type: OwnerType
    owner_id: str
    role_id: str | None = None
    project_id: str | None = None
    visibility: Visibility
    status: Status
    superseded_by: str | None = Field(None, description="The memory that says it now.")
    source: str
    importance: int
    confidence: float
    evidence_count: int
    tags: list[str]
    pinned: bool
    quarantined: bool = Field(
        description="It may have been planted, and is not recalled before you confirm it."
    )
    origin: Origin | None = Field(
        None,
        description="Who stated it: you, or you confirmed it; the model; a tool; the model after it had read "
        "something untrusted (`outside`).",
    )
    tools: list[str] = Field(description="The tools whose output the model had read when it was saved.")
    flagged: str | None = Field(None, description="Why it should be looked at again.")
    context: str | None = None
    decisions: list[str]
    refs: list[str]
    skill: str | None = None
    reference: str | None = None
    metadata: dict[str, Any] | None = Field(None, description="What the tool that suggested it said of it.")
    version: int = Field(description="Counts its changes from 1; the ETag.")
    created_at: int
    updated_at: int
    last_used: int = Field(description="When it was last cited, or made: its freshness follows from it.")
    secret: bool = Field(False, description="Lists show it masked; reading it by its id shows everything.")

    @classmethod
    def of(cls, row: MemoryRow) -> Self:
        """The memory with its secrets masked."""
        shown = masked_row(row)
        return cls.from_row(shown, secret=shown is not row)


class DeletedItem(Reply):
    """A memory that was deleted, until it is erased or its time is over."""

    id: str
    type: MemoryType
    content: str = Field(description="A secret in it is masked.")
    summary: str
    version: int = Field(description="That of its deletion; the ETag.")
    deleted_at: int = Field(description="Unix milliseconds.")
    restorable_until: int = Field(description="Then it is removed for good. Unix milliseconds.")
    actor: str = Field(description="Who deleted it: a user's id, `model`, `keeper`, or a tool's name.")
    reason: str
    turn_id: str | None = Field(None, description="The turn in which that was.")

    @classmethod
    def of(cls, gone: Tombstone) -> Self:
        """The memory as it was, with its secrets masked."""
        shown = masked_row(gone.row)
        return cls.from_row(gone, content=shown.content, summary=shown.summary, version=shown.version)


class MemoryPage(Reply):
    memories: list[MemoryItem]
    deleted: list[DeletedItem] | None = Field(
        default=None,
        description="Where they were asked for: the last that were deleted, and can be restored or erased.",
    )
    next: str | None = Field(None, description="Cursor of the next page; absent on the last one.")


class EvidenceItem(Reply):
    session_id: str
    position: int
    quote: str
    author: Literal["assistant"] | None = Field(
        None, description="Where they are the assistant's words, which the user agreed to."
    )

    @classmethod
    def of(cls, evidence: Evidence) -> Self:
        return cls.from_row(evidence, author=None if evidence.author == "user" else evidence.author)


class VersionItem(Reply):
    """What a memory became at one change, by whom and why."""

    version: int
    operation: Operation
    actor: str = Field(description="A user's id, `model`, `keeper`, or a tool's name.")
    reason: str
    turn_id: str | None = None
    at: int
    content: str
    summary: str
    type: MemoryType
    status: Status
    importance: int
    confidence: float
    tags: list[str]
    superseded_by: str | None = None

    @classmethod
    def of(cls, each: MemoryVersion) -> Self:
        """The memory as it was then, beside who changed it."""
        change = {name: getattr(each, name) for name in MemoryVersion.__dataclass_fields__ if name != "row"}
        return cls.from_row(each.row, **change)


class MemoryVersions(Reply):
    """All that a memory was."""

    id: str
    versions: list[VersionItem] = Field(description="The newest 100, the oldest of them first.")
    deleted_at: int | None = Field(None, description="Where it was deleted. Unix milliseconds.")
    restorable_until: int | None = Field(None, description="Where it was deleted: then it is removed.")

    @classmethod
    def whole(cls, versions: Sequence[MemoryVersion]) -> Self:
        last = versions[-1]
        deleted_at = last.at if last.operation == "deleted" else None
        return cls(
            id=last.row.id,
            versions=[VersionItem.of(each) for each in versions[-MAX_PAGE:]],
            deleted_at=deleted_at,
            restorable_until=deleted_at + RESTORABLE_FOR if deleted_at is not None else None,
        )


class LinkItem(Reply):
    """`from_id` depends on, was merged from, or contradicts `to_id`, or its user said that it holds beside
    it."""

    from_id: str
    to_id: str
    relation: Relation


class MemoryDetails(MemoryItem):
    """A memory with where it comes from, and what became of it."""

    versions: list[VersionItem] = Field(description="The newest 100, the oldest of them first.")
    evidence: list[EvidenceItem] = Field(description="What you said that it is remembered of; the first 100.")
    links: list[LinkItem] = Field(description="The first 100.")

    @classmethod
    def whole(cls, details: Details) -> Self:
        return cls.from_row(
            details.row,
            secret=masked_row(details.row) is not details.row,
            versions=[VersionItem.of(each) for each in details.versions[-MAX_PAGE:]],
            evidence=[EvidenceItem.of(each) for each in details.evidence[:MAX_PAGE]],
            links=[LinkItem.from_row(each) for each in details.links[:MAX_PAGE]],
        )


class ContradictionItem(Reply):
    """Two memories of which one can hold only: the `later` one was said or changed after the other."""

    earlier: MemoryItem
    later: MemoryItem

    @classmethod
    def of(cls, pair: Contradiction) -> Self:
        return cls(earlier=MemoryItem.of(pair.earlier), later=MemoryItem.of(pair.later))


class Contradictions(Reply):
    contradictions: list[ContradictionItem] = Field(
        description="Those that wait for an answer, at most 20, the one with the last change first."
    )


class MemoryChange(Reply):
    """A memory after a change."""

    operation: Operation
    reason: str
    memory: MemoryItem

    @classmethod
    def of(cls, changed: Changed) -> "MemoryChange":
        return cls(operation=changed.operation, reason=changed.by.reason, memory=MemoryItem.of(changed.row))


class MemoryChanges(Reply):
    """`memory` is the one that says it from now on, `changed` all that became another."""

    memory: MemoryItem
    changed: list[MemoryChange]

    @classmethod
    def of(cls, changed: Sequence[Changed], one: int) -> "MemoryChanges":
        """`one` is the place of that memory."""
        return cls(
            memory=MemoryItem.of(changed[one].row), changed=[MemoryChange.of(each) for each in changed]
        )
