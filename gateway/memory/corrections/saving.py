"""Saving of a memory in the place of the one that it corrects, which is recognised by what both say."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gateway.lexical import query_tokens
from gateway.memory import validation
from gateway.memory.corrections.corrections import Corrections
from gateway.memory.memories import Attribution, Changed, Memories
from gateway.memory.sentences import clause_on
from gateway.memory.similarity.change_cues import cue_of
from gateway.memory.similarity.comparison import replaces
from gateway.memory.validation import NewMemory
from gateway.memory.versions import retry_conflicts
from gateway.storage.memories import ELSEWHERE, Change, Filter, Link, MemoryRow, Scope, Viewer

MAX_COMPARED = 10
"""Memories that a new one is compared with: those with the most of its words."""
MAX_WORDS = 64
"""Words of the query that finds them."""

_CORRECTABLE = Filter(recallable=True, runtime=True)


async def save(
    memories: Memories,
    scope: Scope,
    new: NewMemory,
    by: Attribution,
    *,
    viewer: Viewer,
    stated: str = "",
    **more: Any,
) -> Sequence[Changed]:
    """Stores a memory, in the place of those that it replaces (`comparison.replaces`), in one transaction;
    one that says it already takes their place. They are of the same user, for the same people; their pin and
    their importance stay. `stated` is the user's message that led to it, "" when there is none; `more` is for
    `Memories.save`. What waits to be confirmed or comes from elsewhere replaces nothing.

    Returns:
        The memory; then those that it replaced, and those that were flagged, as far as the scope sees them.

    Raises:
        What `Memories.save` raises.
    """

    async def once() -> Sequence[Changed]:
        may = not new.quarantined and new.origin not in ELSEWHERE
        old = await _corrected_by(memories, scope, new, stated) if may else []
        if not old:
            return [await memories.save(scope, new, by, viewer=viewer, **more)]
        others: list[Change] = []

        async def besides(row: MemoryRow) -> tuple[Sequence[Change], Sequence[Link]]:
            changes, links = await Corrections(memories).superseding(viewer, old, row, by, but=row)
            others[:] = changes
            return changes, links

        weight = {
            "pinned": new.pinned or any(row.pinned for row in old),
            "importance": max(new.importance, *(row.importance for row in old)),
        }
        saved = await memories.save(scope, replace(new, **weight), by, viewer=viewer, besides=besides, **more)
        if saved.repeated or others[0].row.superseded_by != saved.row.id:
            return [saved]
        seen = [each for each in others if each.row.audience in scope.audiences]
        return [saved, *(Changed(each.row, each.operation, replace(by, reason=each.reason)) for each in seen)]

    return await retry_conflicts(once)


async def _corrected_by(memories: Memories, scope: Scope, new: NewMemory, stated: str) -> list[MemoryRow]:
    row = validation.make(new, scope, "", 0)
    clause = await asyncio.to_thread(clause_on, row.content, stated)
    if cue_of(row.content, clause) is None:
        return []
    words = (await asyncio.to_thread(query_tokens, row.content))[:MAX_WORDS]
    matches = await memories.store.match(scope, words, _CORRECTABLE, limit=MAX_COMPARED)
    own = [
        match.row
        for match in matches
        if match.row.audience == row.audience and match.row.user_id == scope.user_id
    ]
    return await asyncio.to_thread(_replaced, own, row.content, clause)


def _replaced(rows: list[MemoryRow], content: str, clause: str) -> list[MemoryRow]:
    return [row for row in rows if replaces(row.content, content, clause)]
