"""The memory snapshot in a session's prompt, fixed for a prompt generation: `<long_term_memory>`.

One budget of tokens for all memories, by priority (pinned, importance, last use):

    the first that fit      one line each: a pinned memory in full, another one by its summary
    what is left of it      makes the first summaries full
    the others              are counted

So a memory that is added needs the room of one line, which it takes from those of the lowest priority. The
snapshot has no score or counter, and no time but the memories' own: the same memories give the same text.
"""

import asyncio
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from gateway.lexical import estimate_tokens
from gateway.memory import rendering
from gateway.places import Places
from gateway.storage.memories import ELSEWHERE, Filter, MemoryRow, Profile, Scope
from gateway.storage.memories.store import MemoryStore
from gateway.tools.wrapping import wrap

MAX_SHARE = 4
"""A memory that takes more than this part of the budget (a quarter) is shown by its summary alone."""
MIN_LINE_TOKENS = 10
"""No line takes fewer: that of an id, a type and one word."""
TIME_TOKENS = 6
"""Of the time that a line has where several memories are of one day."""
INLINE = 20_000
"""Characters of memories, with EACH for a memory, of which a snapshot is made on the event loop."""
EACH = 200
_makers = Places(1)
SNAPSHOT_FILTER = Filter(recallable=True, runtime=True)
"""The memories of a snapshot: documents are only retrieved."""


@dataclass(frozen=True, slots=True)
class MemorySnapshot:
    """`text` is empty when there are no memories. `rows` are the memories in it, in order; `digests` are
    theirs and the profiles', by key; `summarized` are the ids of those shown by their summaries, `omitted`
    counts the memories that are not in it. `as_of` is when the last of all was changed (Unix ms)."""

    text: str
    rows: Sequence[MemoryRow]
    digests: dict[str, str]
    summarized: frozenset[str]
    omitted: int
    as_of: int


async def load(
    store: MemoryStore, scope: Scope, profiles: Sequence[Profile], *, tokens: int
) -> MemorySnapshot:
    """The snapshot of what `scope` sees now; its lines take at most so many tokens. Raises
    errors.StorageError."""
    newest = await store.list(scope, SNAPSHOT_FILTER, limit=1)
    count = await store.count(scope, SNAPSHOT_FILTER)
    rows = await store.weighed(scope, SNAPSHOT_FILTER, limit=tokens // MIN_LINE_TOKENS + 1)
    as_of = newest[0].updated_at if newest else 0
    work = partial(_made, profiles, rows, count, as_of, tokens)
    if sum(len(row.content) + EACH for row in rows) <= INLINE:
        return work()
    await _makers.take(None)
    try:
        return await asyncio.to_thread(work)
    finally:
        _makers.give_back()


def _made(
    profiles: Sequence[Profile], rows: Sequence[MemoryRow], count: int, as_of: int, tokens: int
) -> MemorySnapshot:
    full, brief = fit(rows, tokens)
    omitted = max(0, count - len(full) - len(brief))
    return _render(profiles, _in_order(full), _in_order(brief), omitted, as_of)


def fit(rows: Sequence[MemoryRow], tokens: int) -> tuple[list["Shown"], list["Shown"]]:
    """Of `rows`, ordered by priority, those that are shown in full and those shown by their summaries."""
    full, listed, left = list[Shown](), list[Shown](), tokens
    for row in rows:
        form = Shown.of(row, tokens // MAX_SHARE)
        if form.needs > left:
            break
        left -= form.needs
        listed.append(form)
    for form in listed:
        extra = form.full - form.needs
        if extra > left and not form.large:
            left = 0  # nor is any lighter one made full: each has its place by its weight
        elif extra <= left and not (extra and form.large):
            left -= extra
            full.append(form)
    there = {form.row.id for form in full}
    return full, [form for form in listed if form.row.id not in there]


def digest_of(row: MemoryRow) -> str:
    """The digest of everything of a memory that may be rendered, but its day: when that alone changes, the
    memory was stated again, or pinned, which no session needs to be shown."""
    rendered = (row.type, row.content, row.summary, row.status, row.tags, row.flagged, row.recallable)
    rendered += (row.context, row.decisions, row.refs)
    rendered += ("elsewhere",) if row.origin in ELSEWHERE else ()
    return hashlib.sha256(repr(rendered).encode()).hexdigest()[:16]


def profile_key(profile: Profile) -> str:
    return f"{profile.kind}:{profile.id}"


def is_profile(key: str) -> bool:
    """Whether a key of digests is a profile's: no memory's id has a colon."""
    return ":" in key


def profile_digest(profile: Profile) -> str:
    return hashlib.sha256(repr(sorted(profile.fields.items())).encode()).hexdigest()[:16]


def _render(
    profiles: Sequence[Profile],
    full: Sequence["Shown"],
    brief: Sequence["Shown"],
    omitted: int,
    as_of: int,
) -> MemorySnapshot:
    parts = [_profile(profile) for profile in profiles if profile.fields]
    timed = rendering.shared_days(form.row for form in (*full, *brief))
    lines = [rendering.with_time(form.line, form.row, timed) for form in full]
    parts += ["\n".join(lines)] if full else []
    if brief:
        lines = [rendering.with_time(form.catalog_line, form.row, timed) for form in brief]
        parts.append("\n".join([f"Further memories, by their summaries ({rendering.READ_ALL}):", *lines]))
    if omitted:
        parts.append(f"And {omitted} more, which are not listed here: search them with manage_memory.")
    rows = [form.row for form in (*full, *brief)]
    digests = {row.id: digest_of(row) for row in rows}
    digests |= {profile_key(profile): profile_digest(profile) for profile in profiles}
    text = wrap("long_term_memory", rendering.NOTE, "\n\n".join(parts)) if parts else ""
    summarized = frozenset(form.row.id for form in brief)
    return MemorySnapshot(text, rows, digests, summarized, omitted, as_of)


def _profile(profile: Profile) -> str:
    lines = [f"  {key}: {' '.join(value.split())}" for key, value in sorted(profile.fields.items())]
    return "\n".join([f"Profile of the {profile.kind}:", *lines])


def _in_order(shown: Sequence["Shown"]) -> list["Shown"]:
    """Pinned memories first, then the oldest: a new one is at the end."""
    return sorted(shown, key=lambda form: (not form.row.pinned, form.row.created_at, form.row.id))


@dataclass(frozen=True, slots=True)
class Shown:
    """A memory with its lines, the tokens that it takes in `full`, and those that it `needs` to be shown at
    all; a `large` one is never made full."""

    row: MemoryRow
    line: str
    catalog_line: str
    full: int
    needs: int
    large: bool

    @classmethod
    def of(cls, row: MemoryRow, most: int) -> "Shown":
        line, catalog_line = rendering.both_lines(row)
        full = _tokens(line)
        large = full > most
        brief = full if row.pinned and not large else min(full, _tokens(catalog_line))
        return cls(row, line, catalog_line, full, brief, large)


def _tokens(line: str) -> int:
    """With the end of the line, and the time that it may have besides its day."""
    return estimate_tokens(line) + 1 + TIME_TOKENS
