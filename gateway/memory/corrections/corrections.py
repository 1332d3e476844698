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
from typing import Any, Literal

from gateway.errors import DuplicateMemory, InvalidRequest
from gateway.ids import new_memory_id, now_ms
from gateway.memory import validation
from gateway.memory.corrections.cascade import dependants, inherited
from gateway.memory.corrections.merging import MAX_MERGED, MIN_MERGED, check_changeable, merged, successor
from gateway.memory.memories import Attribution, Changed, Memories, not_found, raised
from gateway.memory.versions import check_version, next_version, retry_conflicts
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
)

Action = Literal["suppress", "freeze", "replace", "activate"]

MAX_EVIDENCE = 500
"""Quotes that a merged memory takes over, the last ones."""

SUPPRESSION_PENALTY = 0.3
"""What a suppression takes from the confidence; when it is undone it comes back."""

_OUTCOMES: dict[Action, tuple[Status, Operation]] = {
    "suppress": ("suppressed", "suppressed"),
    "freeze": ("frozen", "frozen"),
    "activate": ("active", "activated"),
}


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
        by: Attribution,
        *,
        evidence: Evidence | None = None,
        new_content: str | None = None,
        source: MemorySource = "user",
        version: int | None = None,
        also: Sequence[MemoryRow] = (),
    ) -> Sequence[Changed]:
        """Corrects one memory, in one transaction with all that follows from it; with `version` only while it
        is at that one.

        suppress: it is kept, weighs less, and its confidence is lower. freeze: it is kept, and not recalled.
        activate: neither any more, nor flagged. replace: `new_content`, which stems from `source`, is
        remembered instead of it, and of those `also` given, which have its audience; if that is remembered
        already, that memory takes their place. `evidence` is of the correction: the caller has checked that
        it was said.

        Returns:
            The memory as it is now; after a replacement its successor; then those that were flagged, as far
            as the viewer sees them.

        Raises:
            errors.NotFound (memory_not_found), errors.MemoryChanged.
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
                viewer,
                lambda: self._restated(
                    viewer, memory_id, status, operation, by=by, quotes=quotes, version=version
                ),
            )
        if new_content is None:
            raise InvalidRequest("new_content is missing: say what is true instead.")
        content = validation.checked_content(new_content)
        try:
            return await self._written(
                viewer,
                lambda: self._replaced(
                    viewer, memory_id, content, by, quotes=quotes, source=source, version=version, also=also
                ),
            )
        except DuplicateMemory as duplicate:
            known = str((duplicate.details or {})["id"])
        return await self._written(
            viewer,
            lambda: self._given_way(viewer, memory_id, known, by, quotes=quotes, version=version, also=also),
        )

    async def edit(
        self,
        viewer: Viewer,
        memory_id: str,
        changes: dict[str, Any],
        by: Attribution,
        *,
        version: int | None = None,
        depends_on: Sequence[str] = (),
    ) -> Sequence[Changed]:
        """Changes fields of a memory, without a successor; with another content what depends on it is
        flagged. Takes and raises what `Memories.edit` does; returns it, then those that were flagged, as far
        as the viewer sees them."""

        async def flags(row: MemoryRow) -> Sequence[Change]:
            return await self._flags(viewer, row, "updated", by)

        edited, *flagged = await self._memories.edit(
            viewer, memory_id, changes, by, version=version, depends_on=depends_on, also=flags
        )
        return [edited, *(each for each in flagged if _sees(viewer, each.row))]

    async def merge(self, viewer: Viewer, memory_ids: Sequence[str], by: Attribution) -> Sequence[Changed]:
        """Makes one memory of several that the same people see: their contents without repetition, from the
        oldest on; the highest importance and confidence; all tags, decisions and references, and what the
        viewer is quoted with. What it is about otherwise (owner, type) is that of the most important one.

        Returns:
            The new memory, then those that it replaces.

        Raises:
            errors.NotFound: one of them is not there.
            errors.InvalidRequest: fewer than MIN_MERGED or more than MAX_MERGED, and all that `merged`
                refuses.
            errors.DuplicateMemory: another memory says just what they say together.
        """
        ids = list(dict.fromkeys(memory_ids))
        if not MIN_MERGED <= len(ids) <= MAX_MERGED:
            raise InvalidRequest(
                f"{MIN_MERGED} to {MAX_MERGED} different memories can be merged, not {len(ids)}."
            )
        return await self._written(viewer, lambda: self._merged(viewer, ids, by))

    async def _written(
        self, viewer: Viewer, plan: Callable[[], Awaitable[Sequence[Change]]]
    ) -> Sequence[Changed]:
        """Plans anew when somebody else changed one of the memories meanwhile."""

        async def once() -> Sequence[Changed]:
            return await self._memories.apply(await plan())

        return [each for each in await retry_conflicts(once) if _sees(viewer, each.row)]

    async def _restated(
        self,
        viewer: Viewer,
        memory_id: str,
        status: Status,
        operation: Operation,
        *,
        by: Attribution,
        quotes: Sequence[Evidence],
        version: int | None,
    ) -> Sequence[Change]:
        row = await self._correctable(viewer, memory_id, version)
        penalties = (status == "suppressed") - (row.status == "suppressed")
        after = next_version(
            row,
            status=status,
            confidence=min(1.0, max(0.0, round(row.confidence - SUPPRESSION_PENALTY * penalties, 2))),
            evidence_count=row.evidence_count + len(quotes),
            flagged=None if status == "active" else row.flagged,
        )
        step = await self._memories.step(after, operation, by, evidence=quotes, stated_by=viewer.user_id)
        flags = [] if status == "active" else await self._flags(viewer, row, operation, by)
        return [step, *flags]

    async def _replaced(
        self,
        viewer: Viewer,
        memory_id: str,
        content: str,
        by: Attribution,
        *,
        quotes: Sequence[Evidence],
        source: MemorySource,
        version: int | None,
        also: Sequence[MemoryRow],
    ) -> Sequence[Change]:
        row = await self._correctable(viewer, memory_id, version)
        if validation.digest_of(content) == row.digest:
            raise InvalidRequest(f"{row.id} says that already.")
        new = successor(
            row,
            viewer.user_id,
            content,
            new_memory_id(),
            now_ms(),
            source=source,
            confidence=1.0,
            evidence_count=len(quotes),
            status="active",
            flagged=None,
            origin=validation.ORIGINS.get(source),
            tools=(),
            # These belong to what was said before, where they can still be read.
            context=None,
            decisions=(),
            refs=(),
            metadata=None,
        )
        (gone, *others), links = await self.superseding(viewer, [row, *also], new, by)
        made = await self._memories.step(
            new, "remembered", by, evidence=quotes, stated_by=viewer.user_id, links=links
        )
        return [gone, made, *others]

    async def _given_way(
        self,
        viewer: Viewer,
        memory_id: str,
        known_id: str,
        by: Attribution,
        *,
        quotes: Sequence[Evidence],
        version: int | None,
        also: Sequence[MemoryRow],
    ) -> Sequence[Change]:
        """To a memory that says already what is true instead."""
        row = await self._correctable(viewer, memory_id, version)
        known = await self._memories.get(viewer, known_id)
        after = next_version(
            known,
            status="active",
            quarantined=False,
            evidence_count=known.evidence_count + max(1, len(quotes)),
            confidence=raised(known.confidence, len(quotes)),
            last_used=max(now_ms(), known.last_used),
        )
        (gone, *others), links = await self.superseding(viewer, [row, *also], known, by, but=known)
        kept = await self._memories.step(
            after, "reinforced", by, evidence=quotes, stated_by=viewer.user_id, links=links
        )
        return [gone, kept, *others]

    async def superseding(
        self,
        viewer: Viewer,
        rows: Sequence[MemoryRow],
        heir: MemoryRow,
        by: Attribution,
        but: MemoryRow | None = None,
    ) -> tuple[Sequence[Change], Sequence[Link]]:
        """The changes by which `heir` takes the place of `rows`, those of `rows` first, and the links of
        `heir` then. What depends on `rows` is flagged, `but` for one."""
        gone = {row.id for row in rows}
        changes = {row.id: await self._memories.step(_superseded(row, heir), "replaced", by) for row in rows}
        links: list[Link] = []
        for row in rows:
            for flag in await self._flags(viewer, row, "replaced", by, but=but):
                changes.setdefault(flag.row.id, flag)
            links.append(Link(heir.id, row.id, "contradicts"))
            links += [each for each in await inherited(self._store, [row], heir) if each.from_id not in gone]
        return list(changes.values()), list(dict.fromkeys(links))

    async def _merged(self, viewer: Viewer, ids: Sequence[str], by: Attribution) -> Sequence[Change]:
        found = {row.id: row for row in await self._store.get(viewer, *ids)}
        if missing := [memory_id for memory_id in ids if memory_id not in found]:
            raise not_found(missing[0])
        rows = list(found.values())
        new = await asyncio.to_thread(merged, rows, viewer.user_id, new_memory_id(), now_ms())
        quotes = [quote for row in rows for quote in await self._store.evidence(viewer, row.id)]
        links = [Link(new.id, row.id, "merged_from") for row in rows]
        links += await inherited(self._store, rows, new)
        made = await self._memories.step(
            new,
            "merged",
            by,
            evidence=list(dict.fromkeys(quotes))[-MAX_EVIDENCE:],
            stated_by=viewer.user_id,
            links=links,
        )
        return [made, *[await self._memories.step(_superseded(row, new), "replaced", by) for row in rows]]

    async def _correctable(self, viewer: Viewer, memory_id: str, version: int | None) -> MemoryRow:
        row = await self._memories.get(viewer, memory_id)
        check_version(memory_id, row.version, version)
        check_changeable(row)
        return row

    async def _flags(
        self,
        viewer: Viewer,
        root: MemoryRow,
        operation: Operation,
        by: Attribution,
        *,
        but: MemoryRow | None = None,
    ) -> list[Change]:
        """A flag for whatever depends on `root`, in all of the user's roles and projects, `but` for one that
        was just said to be true."""
        why = f"It depends on {root.id}, which was {operation}."
        return [
            await self._memories.step(next_version(row, flagged=why), "flagged", replace(by, reason=why))
            for row in await dependants(self._store, viewer, root, but)
            if row.flagged is None and row.status != "replaced" and row.source != "document"
        ]


def _superseded(row: MemoryRow, by: MemoryRow) -> MemoryRow:
    return next_version(row, status="replaced", superseded_by=by.id)


def _sees(viewer: Viewer, row: MemoryRow) -> bool:
    """A user's own correction may flag what another of their roles remembers; this one is not told of it."""
    return not isinstance(viewer, Scope) or row.audience in viewer.audiences
