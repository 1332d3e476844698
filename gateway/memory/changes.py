"""Values for changes of memories: their author and reason, their sources, and their outcome."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypedDict

from gateway.events.memory_skill_artifact import Cause, Memory
from gateway.memory.secret_detection import masked_row
from gateway.storage.memories import (
    RESTORABLE_FOR,
    Change,
    Evidence,
    Link,
    MemoryRow,
    MemoryVersion,
    Operation,
)

EntailedChanges = Callable[[MemoryRow], Awaitable[Sequence[Change]]]
"""Gives what follows from the change of a memory that is about to be changed."""

CompanionChanges = Callable[[MemoryRow], Awaitable[tuple[Sequence[Change], Sequence[Link]]]]
"""Gives the other changes with which a memory is written, and further links of it."""

OPS: dict[Operation, Any] = {
    "remembered": "remembered",
    "reinforced": "reinforced",
    "confirmed": "confirmed",
    "flagged": "flagged",
    "deleted": "forgotten",
    "restored": "restored",
    "erased": "erased",
}
"""The `op` of events by operation; for all others it is `corrected`."""

_CAUSES: dict[str, Cause] = {"model": "model", "keeper": "learning"}
"""By actor; for all others it is `user`."""


@dataclass(frozen=True, slots=True)
class Attribution:
    """Who makes a change, and why: `actor` is a user's id, `model`, `keeper` (the extractor) or a tool's
    name. `cause` is what led to it (None: what follows from the actor), `sources` the tools that the operator
    does not trust, files and conversations whose words the model had in context."""

    actor: str
    reason: str
    turn_id: str | None = None
    cause: Cause | None = None
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Changed:
    """A memory after a change. `repeated`: the request was a repetition and changed nothing."""

    row: MemoryRow
    operation: Operation
    by: Attribution
    repeated: bool = False

    @property
    def event(self) -> Memory:
        row = masked_row(self.row)
        gone = self.operation in {"deleted", "erased"}
        return Memory(
            op=OPS.get(self.operation, "corrected"),
            memory_id=row.id,
            kind=row.type,
            content=None if gone else row.content,
            reason=self.by.reason,
            version=row.version,
            by=self.by.actor,
            status=None if gone else row.status,
            superseded_by=row.superseded_by,
            quarantined=row.quarantined or None,
            origin=None if gone else row.origin,
            tools=None if gone else list(row.tools) or None,
            cause=self.by.cause or _CAUSES.get(self.by.actor, "user"),
            sources=list(self.by.sources) or None,
            restorable_until=row.updated_at + RESTORABLE_FOR if self.operation == "deleted" else None,
        )


class MemorySources(TypedDict, total=False):
    """The sources of a memory: quotes, memories on which it depends, and the `key` of the request."""

    evidence: Sequence[Evidence]
    depends_on: Sequence[str]
    key: str | None


@dataclass(frozen=True, slots=True)
class Details:
    """Everything about one memory; `evidence` is the viewer's own."""

    row: MemoryRow
    versions: Sequence[MemoryVersion]
    evidence: Sequence[Evidence]
    links: Sequence[Link]
