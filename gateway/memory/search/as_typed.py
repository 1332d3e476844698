"""Memories that are looked for while one types: any of the words, the last one by its beginning."""

import asyncio
from collections.abc import Sequence

from gateway.lexical import MIN_BEGINNING, Sought, has, indexed, is_unspaced, sought, tokens
from gateway.storage.memories import Filter, Match, MemoryRow, Viewer
from gateway.storage.memories.store import MemoryStore

MAX_WORDS = 32
"""Words of a query that count."""
MAX_COMPLETIONS = 32
"""Words that a beginning may stand for: the commonest."""
MAX_READ = 20_000
"""Characters of a memory in which the words are counted."""


async def find_as_typed(
    store: MemoryStore, viewer: Viewer, query: str, which: Filter, *, limit: int
) -> Sequence[MemoryRow]:
    """Those that have most of the words first, and of these those with the words as their own, then
    the best match. Where there are none, those that have one anywhere. Raises errors.StorageError."""
    units = (await asyncio.to_thread(sought, query))[:MAX_WORDS]
    words = list(dict.fromkeys(form for unit in units for form in (*unit.forms, *unit.parts)))
    for unit in units:
        if unit.beginning is not None and len(unit.beginning) >= MIN_BEGINNING:
            words += await store.completions(viewer, unit.beginning, which, most=MAX_COMPLETIONS)
    if matches := await store.match(viewer, words, which, limit=limit) if words else ():
        return await asyncio.to_thread(_ordered, matches, units)
    parts = [unit.beginning or unit.forms[-1] for unit in units if not is_unspaced(unit.forms[0])]
    if not (parts := [part for part in parts if len(part) >= MIN_BEGINNING]):
        return ()
    return [match.row for match in await store.containing(viewer, parts, which, limit=limit)]


def _ordered(matches: Sequence[Match], units: Sequence[Sought]) -> Sequence[MemoryRow]:
    counted = [(_had_by(match, units), match.row) for match in matches]
    return [row for _, row in sorted(counted, key=lambda each: each[0], reverse=True)]


def _had_by(match: Match, units: Sequence[Sought]) -> tuple[int, int]:
    """How many of the words a memory has, and how many of these as words of their own."""
    row, passage = match.row, match.passage
    content = row.content[passage.begin : passage.end] if passage else row.content[:MAX_READ]
    text = "\n".join((content, row.summary, *row.tags))
    there, own = set(indexed(text)), set(tokens(text))
    return sum(has(there, unit) for unit in units), sum(bool(own & {*unit.forms}) for unit in units)
