"""The memory snapshot in a session's prompt, fixed for a prompt generation: `<long_term_memory>`.

Few memories are in it in full. Of many, the pinned ones are, within a budget, then a catalog of summaries,
and the number of the others. It has no score or counter, and no time but the memories' own days, so that the
same memories give the same text.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.lexical import estimate_tokens
from gateway.memory import rendering
from gateway.storage.memories import Filter, MemoryRow, Profile, Scope
from gateway.storage.memories.contract import MemoryStore
from gateway.tools.wrapping import wrap

PINNED_TOKENS, MAX_PINNED = 4000, 100
"""Limits of the pinned memories that are rendered in full when there are many memories."""
CATALOG_TOKENS, MAX_CATALOG = 2000, 200
"""Limits of the catalog of the others."""
SNAPSHOT_FILTER = Filter(recallable=True, runtime=True)
"""The memories of a snapshot: documents are only retrieved."""


@dataclass(frozen=True, slots=True)
class MemorySnapshot:
    """`text` is empty when there are no memories. `rows` are the memories in it, in order; `digests` are
    theirs and the profiles', by key; `summarized` are the ids in the catalog, `omitted` counts the memories
    that are not in it."""

    text: str
    rows: Sequence[MemoryRow]
    digests: dict[str, str]
    summarized: frozenset[str]
    omitted: int

    @property
    def is_catalog(self) -> bool:
        return bool(self.summarized or self.omitted)


async def load(
    store: MemoryStore, scope: Scope, profiles: Sequence[Profile], *, full_count: int, full_characters: int
) -> MemorySnapshot:
    """The snapshot of what `scope` sees now. Raises errors.StorageError."""
    count, characters = await store.count(scope, SNAPSHOT_FILTER)
    if count <= full_count and characters <= full_characters:
        rows = _in_order(await store.list(scope, SNAPSHOT_FILTER, limit=max(1, full_count)))
        return _render(profiles, rows, (), 0)
    rows = await store.weighed(scope, SNAPSHOT_FILTER, limit=MAX_PINNED + MAX_CATALOG)
    full = _fitting([row for row in rows if row.pinned], rendering.line, PINNED_TOKENS, MAX_PINNED)
    there = {row.id for row in full}
    rest = [row for row in rows if row.id not in there]
    summarized = _fitting(rest, rendering.catalog_line, CATALOG_TOKENS, MAX_CATALOG)
    return _render(
        profiles, _in_order(full), _in_order(summarized), max(0, count - len(full) - len(summarized))
    )


def digest_of(row: MemoryRow) -> str:
    """The digest of everything of a memory that may be rendered, but its day: when that alone
    changes, the memory was said again, or pinned, of which no session needs to be told."""
    rendered = (row.type, row.content, row.summary, row.status, row.tags, row.flagged, row.recallable)
    rendered += (row.context, row.decisions, row.refs)
    return hashlib.sha256(repr(rendered).encode()).hexdigest()[:16]


def profile_key(profile: Profile) -> str:
    return f"{profile.kind}:{profile.id}"


def profile_digest(profile: Profile) -> str:
    return hashlib.sha256(repr(sorted(profile.fields.items())).encode()).hexdigest()[:16]


def _render(
    profiles: Sequence[Profile], full: Sequence[MemoryRow], brief: Sequence[MemoryRow], omitted: int
) -> MemorySnapshot:
    parts = [_profile(profile) for profile in profiles if profile.fields]
    parts += ["\n".join(rendering.line(row) for row in full)] if full else []
    if brief:
        lines = "\n".join(map(rendering.catalog_line, brief))
        parts.append(f"Further memories, by their summaries:\n{lines}")
    if omitted:
        parts.append(f"And {omitted} more, which are not listed here: search them with manage_memory.")
    digests = {row.id: digest_of(row) for row in (*full, *brief)}
    digests |= {profile_key(profile): profile_digest(profile) for profile in profiles}
    text = wrap("long_term_memory", rendering.NOTE, "\n\n".join(parts)) if parts else ""
    return MemorySnapshot(text, (*full, *brief), digests, frozenset(row.id for row in brief), omitted)


def _profile(profile: Profile) -> str:
    lines = [f"  {key}: {' '.join(value.split())}" for key, value in sorted(profile.fields.items())]
    return "\n".join([f"Profile of the {profile.kind}:", *lines])


def _in_order(rows: Sequence[MemoryRow]) -> list[MemoryRow]:
    """Pinned memories first, then the oldest: a new one is at the end."""
    return sorted(rows, key=lambda row: (not row.pinned, row.created_at, row.id))


def _fitting(
    rows: Sequence[MemoryRow], line: Callable[[MemoryRow], str], tokens: int, limit: int
) -> list[MemoryRow]:
    """The first rows, at most `limit`, that fit into `tokens` together; one that is too long is skipped."""
    found, left = list[MemoryRow](), tokens
    for row in rows:
        cost = estimate_tokens(line(row)) + 1
        if cost <= left and len(found) < limit:
            found.append(row)
            left -= cost
    return found
