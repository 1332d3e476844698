"""What stands in a session's prompt of the memories, for a whole epoch: `<long_term_memory>`.

Few memories stand there in full. Of many, the pinned ones do, then a catalog of the others, and how many are
not even in that: nothing is left out in silence. No time, no score and no counter is in it, so that the same
memories are always the same text.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.lexical import estimate_tokens
from gateway.memory import told
from gateway.storage.memories import Filter, MemoryRow, MemoryStore, Profile, Scope
from gateway.tools.wrapping import wrap

CATALOG_TOKENS = 2000
"""Most tokens of the catalog of memories that are not there in full."""
CATALOG_MOST = 200
PINNED_MOST = 100
STANDING = Filter(recallable=True, runtime=True)
"""What may stand in a prompt: documents are found when they are needed."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """`text` is empty when there is nothing to tell. `rows` are the memories in it, in their order; `digests`
    of these and of the profiles, by what they are of; `unnamed` counts the memories that are not in it."""

    text: str
    rows: Sequence[MemoryRow]
    digests: dict[str, str]
    unnamed: int
    is_catalog: bool


async def take(
    store: MemoryStore, scope: Scope, profiles: Sequence[Profile], *, full_count: int, full_characters: int
) -> Snapshot:
    """The snapshot of what `scope` may see now. Raises errors.StorageError."""
    count, characters = await store.count(scope, STANDING)
    if count <= full_count and characters <= full_characters:
        rows = _in_order(await store.list(scope, STANDING, limit=max(1, full_count)))
        return _made(profiles, rows, (), 0)
    pinned = await store.list(scope, Filter(recallable=True, runtime=True, pinned=True), limit=PINNED_MOST)
    others = await store.list(scope, STANDING, limit=10 * CATALOG_MOST)
    told_before = {row.id for row in pinned}
    weightiest = sorted((row for row in others if row.id not in told_before), key=_weight)[:CATALOG_MOST]
    named, tokens = list[MemoryRow](), 0
    for row in weightiest:
        tokens += estimate_tokens(told.catalog_line(row)) + 1
        if tokens > CATALOG_TOKENS:
            break
        named.append(row)
    return _made(profiles, _in_order(pinned), _in_order(named), count - len(pinned) - len(named))


def digest_of(row: MemoryRow) -> str:
    """Of everything of a memory that a model may be told."""
    said = (row.type, row.content, row.summary, row.status, row.tags, row.flagged, row.recallable)
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
    return Snapshot(text, (*full, *named), digests, unnamed, bool(named or unnamed))


def _profile(profile: Profile) -> str:
    lines = [f"  {key}: {' '.join(value.split())}" for key, value in sorted(profile.fields.items())]
    return "\n".join([f"Profile of the {profile.kind}:", *lines])


def _in_order(rows: Sequence[MemoryRow]) -> list[MemoryRow]:
    """Pinned ones first, then the oldest: what is added stands at the end."""
    return sorted(rows, key=lambda row: (not row.pinned, row.created_at, row.id))


def _weight(row: MemoryRow) -> tuple[int, int, str]:
    return -row.importance, -row.last_used, row.id
