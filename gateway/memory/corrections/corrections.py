"""Correction of memories, and merging of several into one. Nothing is lost: a replaced memory stays and
points to its successor.

    replace     m_1 replaced ──superseded_by──▶ m_2        m_2 ──contradicts──▶ m_1
    merge       m_1, m_2 replaced ──superseded_by──▶ m_3   m_3 ──merged_from──▶ m_1, m_2

What depended on a corrected memory (depends_on) is flagged in the same transaction, and what depended on a
replaced one depends on its successor from then on.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gateway.errors import InvalidRequest
from gateway.ids import new_memory_id, now_ms
from gateway.memory import validation
from gateway.memory.changes import Attribution
from gateway.memory.corrections.cascade import flags, inherited, replacement_changes, superseded
from gateway.memory.corrections.merging import check_changeable, merged, successor_of
from gateway.memory.memories import Memories, not_found
from gateway.memory.reinforcement import reinforced
from gateway.memory.versions import check_version, next_version
from gateway.storage.memories import (
    Change,
    Evidence,
    Link,
    MemoryRow,
    MemorySource,
    Operation,
    Status,
    Viewer,
)

Action = Literal["suppress", "freeze", "replace", "activate"]

MAX_EVIDENCE = 500
"""Quotes that a merged memory takes over, the last ones."""

SUPPRESSION_PENALTY = 0.3
"""What a suppression takes from the confidence; when it is undone it comes back."""

OUTCOMES: dict[Action, tuple[Status, Operation]] = {
    "suppress": ("suppressed", "suppressed"),
    "freeze": ("frozen", "frozen"),
    "activate": ("active", "activated"),
}


@dataclass(frozen=True, slots=True)
class Correction:
    """The changes of one correction; see `Editor.correct`. `other_rows` are replaced with the memory."""

    memories: Memories
    viewer: Viewer
    memory_id: str
    by: Attribution
    quotes: Sequence[Evidence]
    version: int | None
    other_rows: Sequence[MemoryRow]

    async def restated(self, status: Status, operation: Operation) -> Sequence[Change]:
        """It stays, with another status."""
        row = await self._row()
        penalties = (status == "suppressed") - (row.status == "suppressed")
        after = next_version(
            row,
            status=status,
            confidence=min(1.0, max(0.0, round(row.confidence - SUPPRESSION_PENALTY * penalties, 2))),
            evidence_count=row.evidence_count + len(self.quotes),
            flagged=None if status == "active" else row.flagged,
        )
        step = await self._step(after, operation)
        if status == "active":
            return [step]
        return [step, *await flags(self.memories, self.viewer, row, operation, self.by)]

    async def replaced(self, content: str, source: MemorySource) -> Sequence[Change]:
        """A new memory takes its place."""
        row = await self._row()
        if validation.digest_of(content) == row.digest:
            raise InvalidRequest(f"{row.id} says that already.")
        new = successor_of(
            row,
            self.viewer.user_id,
            content,
            new_memory_id(),
            now_ms(),
            source=source,
            confidence=1.0,
            evidence_count=len(self.quotes),
            status="active",
            flagged=None,
            origin=validation.ORIGINS.get(source),
            tools=(),
            # These belong to the former content, where they can still be read.
            context=None,
            decisions=(),
            refs=(),
            metadata=None,
        )
        return await self._superseded(row, new, new, "remembered")

    async def replaced_by_known(self, known_id: str) -> Sequence[Change]:
        """An existing memory with the true content takes its place."""
        row = await self._row()
        known = await self.memories.get(self.viewer, known_id)
        after = next_version(reinforced(known, self.quotes), status="active", quarantined=False)
        return await self._superseded(row, known, after, "reinforced")

    async def _superseded(
        self, row: MemoryRow, successor: MemoryRow, after: MemoryRow, operation: Operation
    ) -> Sequence[Change]:
        (gone, *others), links = await replacement_changes(
            self.memories, self.viewer, [row, *self.other_rows], successor, self.by
        )
        return [gone, await self._step(after, operation, links), *others]

    async def _step(self, row: MemoryRow, operation: Operation, links: Sequence[Link] = ()) -> Change:
        return await self.memories.plan(
            row, operation, self.by, evidence=self.quotes, stated_by=self.viewer.user_id, links=links
        )

    async def _row(self) -> MemoryRow:
        row = await self.memories.get(self.viewer, self.memory_id)
        check_version(self.memory_id, row.version, self.version)
        check_changeable(row)
        return row


async def merge_of(
    memories: Memories, viewer: Viewer, ids: Sequence[str], by: Attribution
) -> Sequence[Change]:
    """The changes of one merge; see `Editor.merge`."""
    found = {row.id: row for row in await memories.store.get(viewer, *ids)}
    if missing := [memory_id for memory_id in ids if memory_id not in found]:
        raise not_found(missing[0])
    rows = list(found.values())
    new = await asyncio.to_thread(merged, rows, viewer.user_id, new_memory_id(), now_ms())
    quotes = [quote for row in rows for quote in await memories.store.evidence(viewer, row.id)]
    links = [Link(new.id, row.id, "merged_from") for row in rows]
    links += await inherited(memories.store, rows, new)
    made = await memories.plan(
        new,
        "merged",
        by,
        evidence=list(dict.fromkeys(quotes))[-MAX_EVIDENCE:],
        stated_by=viewer.user_id,
        links=links,
    )
    return [made, *[await memories.plan(superseded(row, new), "replaced", by) for row in rows]]
