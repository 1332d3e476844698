"""What stands in a session's prompt of the memories, for a whole prompt generation: `<long_term_memory>`.

Few memories stand there in full. Of many, the pinned ones do as far as there is room, then a catalog of the
others, and how many are not even in that: nothing is left out in silence. No time, no score and no counter is
in it, so that the same memories are always the same text.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.lexical import estimate_tokens
from gateway.memory import told
from gateway.storage.memories import Filter, MemoryRow, Profile, Scope
from gateway.storage.memories.contract import MemoryStore
from gateway.tools.wrapping import wrap

PINNED_TOKENS, MAX_PINNED = 4000, 100
"""Of many, most tokens of the pinned ones that are there in full, and how many."""
CATALOG_TOKENS, MAX_CATALOG = 2000, 200
"""Of the catalog of those that are not."""
STANDING = Filter(recallable=True, runtime=True)
"""What may stand in a prompt: documents are found when they are needed."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`text` is empty when there is nothing to tell. `rows` are the memories in it, in their order; `digests`
    of these and of the profiles, by what they are of; `named` are those that are told by their summaries,
    `unnamed` counts the memories that are not in it."""

    text: str
    rows: Sequence[MemoryRow]
    digests: dict[str, str]
    named: frozenset[str]
    unnamed: int

    @property
    def is_catalog(self) -> bool:
        return bool(self.named or self.unnamed)


async def take(
    store: MemoryStore, scope: Scope, profiles: Sequence[Profile], *, full_count: int, full_characters: int
) -> Snapshot:
    """The snapshot of what `scope` may see now. Raises errors.StorageError."""
    count, characters = await store.count(scope, STANDING)
    if count <= full_count and characters <= full_characters:
        rows = _in_order(await store.list(scope, STANDING, limit=max(1, full_count)))
        return _made(profiles, rows, (), 0)
    rows = await store.weighed(scope, STANDING, limit=MAX_PINNED + MAX_CATALOG)
    full = _fitting([row for row in rows if row.pinned], told.line, PINNED_TOKENS, MAX_PINNED)
    there = {row.id for row in full}
    rest = [row for row in rows if row.id not in there]
    named = _fitting(rest, told.catalog_line, CATALOG_TOKENS, MAX_CATALOG)
    return _made(profiles, _in_order(full), _in_order(named), max(0, count - len(full) - len(named)))


def digest_of(row: MemoryRow) -> str:
    """Of everything of a memory that a model may be told."""
    said = (row.type, row.content, row.summary, row.status, row.tags, row.flagged, row.recallable)
    said += (row.context, row.decisions, row.refs)
    return hashlib.sha256(repr(said).encode()).hexdigest()[:16]


def profile_key(profile: Profile) -> str:
    return f"{profile.kind}:{profile.id}"


def profile_digest(profile: Profile) -> str:
    return hashlib.sha256(repr(sorted(profile.fields.items())).encode()).hexdigest()[:16]


def _made(
    profiles: Sequence[Profile], full: Sequence[MemoryRow], named: Sequence[MemoryRow], unnamed: int
) -> Snapshot:
    parts = [_profile(profile) for profile in profiles if profile.fields]
    parts += ["\n".join(told.line(row) for row in full)] if full else []
    if named:
        parts.append("Further memories, by their summaries:\n" + "\n".join(map(told.catalog_line, named)))
    if unnamed:
        parts.append(f"And {unnamed} more, which are not listed here: search them with manage_memory.")
    digests = {row.id: digest_of(row) for row in (*full, *named)}
    digests |= {profile_key(profile): profile_digest(profile) for profile in profiles}
    text = wrap("long_term_memory", told.NOTE, "\n\n".join(parts)) if parts else ""
    return Snapshot(text, (*full, *named), digests, frozenset(row.id for row in named), unnamed)


def _profile(profile: Profile) -> str:
    lines = [f"  {key}: {' '.join(value.split())}" for key, value in sorted(profile.fields.items())]
    return "\n".join([f"Profile of the {profile.kind}:", *lines])


def _in_order(rows: Sequence[MemoryRow]) -> list[MemoryRow]:
    """Pinned ones first, then the oldest: what is added stands at the end."""
    return sorted(rows, key=lambda row: (not row.pinned, row.created_at, row.id))


def _fitting(
    rows: Sequence[MemoryRow], line: Callable[[MemoryRow], str], tokens: int, most: int
) -> list[MemoryRow]:
    """The first `most` of those that take no more tokens together, one that is too long left out."""
    found, left = list[MemoryRow](), tokens
    for row in rows:
        cost = estimate_tokens(line(row)) + 1
        if cost <= left and len(found) < most:
            found.append(row)
            left -= cost
    return found
