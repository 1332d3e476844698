"""The verbs on memories that every door calls: the model's tool, HTTP, MCP, the command line, the keeper."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gateway.errors import DuplicateMemory, InvalidRequest, MemoryChanged, MemoryFull, NotFound
from gateway.events.upkeep import Memory
from gateway.ids import new_memory_id, now_ms
from gateway.memory import record
from gateway.memory.record import NewMemory
from gateway.storage.memories import (
    Change,
    Evidence,
    Filter,
    Link,
    MemoryRow,
    MemoryStore,
    MemoryVersion,
    Operation,
    Scope,
    Viewer,
    Whole,
)

CANDIDATES = 5
"""Memories that are named as worth merging when a store is full."""
ATTEMPTS = 5
"""How often a change is tried anew that a newer version overtook, where the caller named none."""

OPS: dict[Operation, Any] = {
    "remembered": "remembered",
    "reinforced": "reinforced",
    "confirmed": "confirmed",
    "flagged": "flagged",
    "deleted": "forgotten",
}
"""What an event says of an operation; of all others, that it was corrected."""


@dataclass(frozen=True, slots=True)
class By:
    """Who changes something, and why: `actor` is a user's id, `model`, `keeper` or a tool's name."""

    actor: str
    reason: str
    turn_id: str | None = None


@dataclass(frozen=True, slots=True)
class Changed:
    """A memory after a change, and what to tell of it. `repeated`: it was like that already."""

    row: MemoryRow
    operation: Operation
    by: By
    repeated: bool = False

    @property
    def event(self) -> Memory:
        row = self.row
        gone = self.operation == "deleted"
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
        )


@dataclass(frozen=True, slots=True)
class Details:
    """Everything about one memory."""

    row: MemoryRow
    versions: Sequence[MemoryVersion]
    evidence: Sequence[Evidence]
    links: Sequence[Link]


class Memories:
    """One per process. `told` hears of every change made through it."""

    def __init__(
        self, store: MemoryStore, *, most: int, told: Callable[[Changed], None] = lambda _: None
    ) -> None:
        self.store = store
        self.most = most
        self._told = told

    async def save(
        self,
        scope: Scope,
        new: NewMemory,
        by: By,
        *,
        evidence: Sequence[Evidence] = (),
        links: Sequence[Link] = (),
        key: str | None = None,
    ) -> Changed:
        """Remembers something. What is remembered word for word already is reinforced instead: its evidence
        grows; a repetition with the same `key` changes nothing.

        Raises:
            errors.InvalidRequest: see `record.make`.
            errors.MemoryFull: `details` has count, limit and the candidates for a merge.
            errors.DuplicateMemory: the `key` made a memory that was forgotten since.
        """
        row = record.make(new, scope, new_memory_id(), now_ms())
        row = replace(row, evidence_count=len(evidence))
        step = await self.step(row, "remembered", by, evidence=evidence, links=links, key=key)
        try:
            await self.apply([step])
        except DuplicateMemory as duplicate:
            return await self._known(scope, duplicate, row, by, evidence)
        except MemoryFull as full:
            raise await self._full(scope, full) from None
        return Changed(row, "remembered", by)

    async def get(self, viewer: Viewer, memory_id: str) -> MemoryRow:
        """Raises errors.NotFound (memory_not_found)."""
        found = await self._seen(viewer, memory_id)
        if found is None:
            raise not_found(memory_id)
        return found

    async def details(self, viewer: Viewer, memory_id: str) -> Details:
        """Raises errors.NotFound."""
        row = await self.get(viewer, memory_id)
        return Details(
            row,
            await self.store.versions(viewer, memory_id),
            await self.store.evidence(memory_id),
            await self.store.links(memory_id),
        )

    async def list(
        self, viewer: Viewer, which: Filter, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[MemoryRow]:
        """Newest first."""
        return await self.store.list(viewer, which, limit=limit, before=before)

    async def update(
        self,
        viewer: Viewer,
        memory_id: str,
        changes: dict[str, Any],
        by: By,
        *,
        version: int | None = None,
        operation: Operation = "updated",
    ) -> Changed:
        """Changes fields of a memory by name: content, summary, type, importance, confidence, tags, pinned,
        visibility, context, decisions, refs, status, quarantined, flagged. With `version` only while it is
        at that one.

        Raises:
            errors.NotFound, errors.MemoryChanged, errors.InvalidRequest; errors.DuplicateMemory: another one
            says the same.
        """

        def change(row: MemoryRow) -> MemoryRow:
            return _with(row, changes)

        return await self._change(viewer, memory_id, change, by, operation, version=version)

    async def confirm(self, viewer: Viewer, memory_id: str, by: By) -> Changed:
        """Takes it out of quarantine: from now on it is recalled. Raises errors.NotFound."""
        changes = {"quarantined": False, "flagged": None}
        return await self.update(viewer, memory_id, changes, by, operation="confirmed")

    async def delete(self, viewer: Viewer, memory_id: str, by: By, *, version: int | None = None) -> Changed:
        """Forgets it: it is out of every list and index, and its versions stay until it is erased. Raises
        errors.NotFound, errors.MemoryChanged."""
        return await self._change(viewer, memory_id, lambda row: row, by, "deleted", version=version)

    async def erase(self, viewer: Viewer, memory_id: str) -> None:
        """Removes it for good, from its versions too. Raises errors.NotFound."""
        if not await self.store.erase(viewer, memory_id):
            raise not_found(memory_id)

    async def apply(self, steps: Sequence[Change]) -> Sequence[Changed]:
        """Several changes in one transaction. Raises what `MemoryStore.write` raises."""
        await self.store.write(steps, most=self.most)
        changed = [
            Changed(each.row, each.operation, By(each.actor, each.reason, each.turn_id)) for each in steps
        ]
        for each in changed:
            self._told(each)
        return changed

    async def step(self, row: MemoryRow, operation: Operation, by: By, **more: Any) -> Change:
        """A change for `apply`, with the words by which the memory is found."""
        words = await asyncio.to_thread(record.search_tokens, row)
        return Change(row, operation, by.actor, by.reason, words, turn_id=by.turn_id, **more)

    async def _change(
        self,
        viewer: Viewer,
        memory_id: str,
        change: Callable[[MemoryRow], MemoryRow],
        by: By,
        operation: Operation,
        *,
        version: int | None = None,
        **more: Any,
    ) -> Changed:
        for attempt in range(ATTEMPTS):
            row = await self.get(viewer, memory_id)
            if row.source == "document":
                raise InvalidRequest(f"{memory_id} is a document: its file is what can be changed.")
            if version is not None and row.version != version:
                raise MemoryChanged(
                    f"{memory_id} is at version {row.version}, not {version}: read it again.",
                    details={"id": memory_id, "version": row.version},
                )
            after = replace(change(row), version=row.version + 1, updated_at=max(now_ms(), row.updated_at))
            try:
                (changed,) = await self.apply([await self.step(after, operation, by, **more)])
            except MemoryChanged:
                if version is not None or attempt == ATTEMPTS - 1:
                    raise
                continue
            return changed
        raise AssertionError("the last attempt returns or raises")

    async def _known(
        self,
        scope: Scope,
        duplicate: DuplicateMemory,
        said: MemoryRow,
        by: By,
        evidence: Sequence[Evidence],
    ) -> Changed:
        details = duplicate.details or {}
        known = await self._seen(scope, str(details["id"]))
        if known is None:
            raise duplicate  # the request is an old one: what it made was forgotten since
        if details["same"] == "key" or (said.quarantined and not known.quarantined):
            # A repetition of the request; or a tool that repeats what is known.
            return Changed(known, "remembered", by, repeated=True)

        def reinforce(row: MemoryRow) -> MemoryRow:
            return replace(
                row,
                evidence_count=row.evidence_count + max(1, len(evidence)),
                importance=max(row.importance, said.importance),
                confidence=max(row.confidence, said.confidence),
                # What a person says themselves confirms what a tool only claimed.
                quarantined=row.quarantined and said.quarantined,
            )

        return await self._change(scope, known.id, reinforce, by, "reinforced", evidence=evidence)

    async def _seen(self, viewer: Viewer, memory_id: str) -> MemoryRow | None:
        found = await self.store.get(viewer, memory_id)
        return found[0] if found else None

    async def _full(self, scope: Scope, full: MemoryFull) -> MemoryFull:
        weakest = await self.store.list(Whole(scope.user_id), Filter(), limit=200)
        ranked = sorted(weakest, key=lambda row: (row.pinned, row.importance, row.last_used))[:CANDIDATES]
        count = (full.details or {}).get("count", self.most)
        return MemoryFull(
            f"The memory is full: {count} of {self.most} are kept. Merge or delete some first, for example: "
            + "; ".join(f"{row.id} ({row.summary[:60]})" for row in ranked),
            details={"count": count, "limit": self.most, "candidates": [row.id for row in ranked]},
        )


def not_found(memory_id: str) -> NotFound:
    return NotFound(
        f"There is no memory {memory_id[:64]}. List or search memories to see their ids.",
        code="memory_not_found",
    )


def _with(row: MemoryRow, changes: dict[str, Any]) -> MemoryRow:
    """Raises InvalidRequest as `record.make` does."""
    made = dict(changes)
    if "content" in made:
        made["content"] = record.checked_content(made["content"])
        made["digest"] = record.digest_of(made["content"])
        made.setdefault("summary", None)
    if "summary" in made:
        made["summary"] = record.checked_summary(made["summary"], made.get("content", row.content))
    if "context" in made:
        made["context"] = record.checked_context(made["context"])
    if made.get("visibility") == "project" and row.project_id is None:
        raise InvalidRequest("It belongs to no project: it cannot be for one.", code="memory_invalid")
    for name, check in (
        ("tags", record.checked_tags),
        ("decisions", record.checked_lines),
        ("refs", record.checked_lines),
    ):
        if name in made:
            made[name] = check(made[name])
    if not (1 <= made.get("importance", 3) <= 5 and 0 <= made.get("confidence", 1) <= 1):
        raise InvalidRequest("importance is 1 to 5, confidence 0 to 1.", code="memory_invalid")
    return replace(row, **made)
