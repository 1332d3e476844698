"""Correcting what is remembered, and making one memory of several. Nothing is lost: what was replaced stays,
and points to what says it now.

    replace     m_1 replaced ──superseded_by──▶ m_2        m_2 ──contradicts──▶ m_1
    merge       m_1, m_2 replaced ──superseded_by──▶ m_3   m_3 ──merged_from──▶ m_1, m_2

What depended on a corrected memory (depends_on) is flagged in the same transaction, and what depended on a
replaced one depends on its successor from then on.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Literal

import structlog

from gateway.errors import DuplicateMemory, InvalidRequest, MemoryChanged
from gateway.ids import new_memory_id, now_ms
from gateway.memory import record
from gateway.memory.memories import ATTEMPTS, By, Changed, Memories, not_found
from gateway.memory.merging import MERGED_FEWEST, MERGED_MOST, check_changeable, merged, successor
from gateway.storage.memories import (
    Change,
    Evidence,
    Link,
    MemoryRow,
    MemorySource,
    Operation,
    Scope,
    Status,
    Viewer,
    Whole,
)

Action = Literal["suppress", "freeze", "replace", "activate"]

WALKED_MOST = 500
"""Memories that one correction reaches, directly or through others; beyond them nothing is flagged."""
EVIDENCE_MOST = 500
"""Quotes that a merged memory takes over, the last ones."""

_OUTCOMES: dict[Action, tuple[Status, Operation]] = {
    "suppress": ("suppressed", "suppressed"),
    "freeze": ("frozen", "frozen"),
    "activate": ("active", "activated"),
}

log = structlog.get_logger(__name__)


class Corrections:
    """One per process."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories
        self._store = memories.store

    async def correct(
        self,
        viewer: Viewer,
        memory_id: str,
        action: Action,
        by: By,
        *,
        evidence: Evidence | None = None,
        new_content: str | None = None,
        source: MemorySource = "user",
    ) -> Sequence[Changed]:
        """Corrects one memory, in one transaction with all that follows from it.

        suppress: it is kept, and weighs less. freeze: it is kept, and not recalled. activate: neither any
        more, nor flagged. replace: `new_content`, which stems from `source`, is remembered instead of it; if
        that is remembered already, that memory takes its place. `evidence` is of the correction: the caller
        has checked that it was said.

        Returns:
            The memory as it is now; after a replacement its successor; then those that were flagged, as far
            as the viewer sees them.

        Raises:
            errors.NotFound (memory_not_found).
            errors.InvalidRequest: new_content is missing, or where it has no place; it says the same; the
                memory is a document, or was replaced before (`details` has superseded_by).
            errors.DuplicateMemory: (activate) another memory says the same meanwhile.
            errors.MemoryFull: (activate)
        """
        quotes = (evidence,) if evidence else ()
        if action != "replace":
            if new_content is not None:
                raise InvalidRequest(f"new_content is for action replace, not {action}.")
            status, operation = _OUTCOMES[action]
            return await self._written(
                viewer, lambda: self._restated(viewer, memory_id, status, operation, by=by, quotes=quotes)
            )
        if new_content is None:
            raise InvalidRequest("new_content is missing: say what is true instead.")
        content = record.checked_content(new_content)
        try:
            return await self._written(
                viewer, lambda: self._replaced(viewer, memory_id, content, by, quotes=quotes, source=source)
            )
        except DuplicateMemory as duplicate:
            known = str((duplicate.details or {})["id"])
        return await self._written(viewer, lambda: self._given_way(viewer, memory_id, known, by, quotes))

    async def activate(self, viewer: Viewer, memory_id: str, by: By) -> Sequence[Changed]:
        """Undoes a suppression or a freeze. Raises what `correct` raises."""
        return await self.correct(viewer, memory_id, "activate", by)

    async def merge(self, viewer: Viewer, memory_ids: Sequence[str], by: By) -> Sequence[Changed]:
        """Makes one memory of several that the same people see: their contents without repetition, from the
        oldest on; the highest importance and confidence; all tags, decisions, references and quotes. What it
        is about otherwise (owner, type) is that of the most important one.

        Returns:
            The new memory, then those that it replaces.

        Raises:
            errors.NotFound: one of them is not there.
            errors.InvalidRequest: fewer than MERGED_FEWEST or more than MERGED_MOST, and all that `merged`
                refuses.
            errors.DuplicateMemory: another memory says just what they say together.
        """
        ids = list(dict.fromkeys(memory_ids))
        if not MERGED_FEWEST <= len(ids) <= MERGED_MOST:
            raise InvalidRequest(
                f"{MERGED_FEWEST} to {MERGED_MOST} different memories can be merged, not {len(ids)}."
            )
        return await self._written(viewer, lambda: self._merged(viewer, ids, by))

    async def _written(
        self, viewer: Viewer, plan: Callable[[], Awaitable[Sequence[Change]]]
    ) -> Sequence[Changed]:
        """Plans anew when somebody else changed one of the memories meanwhile."""
        for _ in range(ATTEMPTS - 1):
            try:
                changed = await self._memories.apply(await plan())
                break
            except MemoryChanged:
                continue
        else:
            changed = await self._memories.apply(await plan())
        return [each for each in changed if _sees(viewer, each.row)]

    async def _restated(
        self,
        viewer: Viewer,
        memory_id: str,
        status: Status,
        operation: Operation,
        *,
        by: By,
        quotes: Sequence[Evidence],
    ) -> Sequence[Change]:
        row = await self._correctable(viewer, memory_id)
        after = replace(
            _next(row),
            status=status,
            evidence_count=row.evidence_count + len(quotes),
            flagged=None if status == "active" else row.flagged,
        )
        step = await self._memories.step(after, operation, by, evidence=quotes)
        flags = [] if status == "active" else await self._flags(viewer, row, operation, by)
        return [step, *flags]

    async def _replaced(
        self,
        viewer: Viewer,
        memory_id: str,
        content: str,
        by: By,
        *,
        quotes: Sequence[Evidence],
        source: MemorySource,
    ) -> Sequence[Change]:
        row = await self._correctable(viewer, memory_id)
        if record.digest_of(content) == row.digest:
            raise InvalidRequest(f"{row.id} says that already.")
        new = successor(
            row,
            content,
            new_memory_id(),
            now_ms(),
            source=source,
            confidence=1.0,
            evidence_count=len(quotes),
            status="active",
            flagged=None,
            # These belong to what was said before, where they can still be read.
            context=None,
            decisions=(),
            refs=(),
        )
        links = [Link(new.id, row.id, "contradicts"), *await self._inherited([row], new)]
        return [
            await self._memories.step(_superseded(row, new), "replaced", by),
            await self._memories.step(new, "remembered", by, evidence=quotes, links=links),
            *await self._flags(viewer, row, "replaced", by),
        ]

    async def _given_way(
        self, viewer: Viewer, memory_id: str, known_id: str, by: By, quotes: Sequence[Evidence]
    ) -> Sequence[Change]:
        """To a memory that says already what is true instead."""
        row = await self._correctable(viewer, memory_id)
        known = await self._memories.get(viewer, known_id)
        after = replace(
            _next(known),
            status="active",
            quarantined=False,
            evidence_count=known.evidence_count + max(1, len(quotes)),
        )
        links = [Link(known.id, row.id, "contradicts"), *await self._inherited([row], known)]
        return [
            await self._memories.step(_superseded(row, known), "replaced", by),
            await self._memories.step(after, "reinforced", by, evidence=quotes, links=links),
            *await self._flags(viewer, row, "replaced", by),
        ]

    async def _merged(self, viewer: Viewer, ids: Sequence[str], by: By) -> Sequence[Change]:
        found = {row.id: row for row in await self._store.get(viewer, *ids)}
        if missing := [memory_id for memory_id in ids if memory_id not in found]:
            raise not_found(missing[0])
        rows = list(found.values())
        new = await asyncio.to_thread(merged, rows, new_memory_id(), now_ms())
        quotes = dict.fromkeys([quote for row in rows for quote in await self._store.evidence(row.id)])
        links = [Link(new.id, row.id, "merged_from") for row in rows]
        links += await self._inherited(rows, new)
        made = await self._memories.step(
            new, "merged", by, evidence=list(quotes)[-EVIDENCE_MOST:], links=links
        )
        return [made, *[await self._memories.step(_superseded(row, new), "replaced", by) for row in rows]]

    async def _correctable(self, viewer: Viewer, memory_id: str) -> MemoryRow:
        row = await self._memories.get(viewer, memory_id)
        check_changeable(row)
        return row

    async def _flags(self, viewer: Viewer, root: MemoryRow, operation: Operation, by: By) -> list[Change]:
        """A flag for whatever depends on `root`, in all of the user's roles and projects."""
        everything = Whole(viewer.user_id, viewer.households)
        walked, waiting, found = {root.id}, [root.id], list[MemoryRow]()
        while waiting and len(walked) < WALKED_MOST:
            links = await self._store.links(waiting.pop(0))
            reached = [link.from_id for link in links if link.relation == "depends_on"]
            new = [each for each in dict.fromkeys(reached) if each not in walked]
            walked.update(new)
            waiting += new
            found += await self._store.get(everything, *new)
        if waiting:
            log.warning("memory_cascade_cut", memory_id=root.id, reached=len(walked))
        why = f"It depends on {root.id}, which was {operation}."
        return [
            await self._memories.step(replace(_next(row), flagged=why), "flagged", replace(by, reason=why))
            for row in found
            if row.flagged is None and row.status != "replaced" and row.source != "document"
        ]

    async def _inherited(self, rows: Sequence[MemoryRow], heir: MemoryRow) -> list[Link]:
        """The links by which others depend on `rows`, with their heir instead; and, where it says all that
        they said, those by which they depend on others."""
        old = {row.id for row in rows}
        found: list[Link] = []
        for row in rows:
            for link in await self._store.links(row.id):
                if link.relation != "depends_on":
                    continue
                if link.to_id == row.id and link.from_id not in {*old, heir.id}:
                    found.append(Link(link.from_id, heir.id, "depends_on"))
                if link.from_id == row.id and len(rows) > 1 and link.to_id not in old:
                    found.append(Link(heir.id, link.to_id, "depends_on"))
        return list(dict.fromkeys(found))


def _next(row: MemoryRow) -> MemoryRow:
    return replace(row, version=row.version + 1, updated_at=max(now_ms(), row.updated_at))


def _superseded(row: MemoryRow, by: MemoryRow) -> MemoryRow:
    return replace(_next(row), status="replaced", superseded_by=by.id)


def _sees(viewer: Viewer, row: MemoryRow) -> bool:
    """A user's own correction may flag what another of their roles remembers; this one is not told of it."""
    return not isinstance(viewer, Scope) or row.audience in viewer.audiences
