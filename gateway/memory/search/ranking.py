"""Fusion of two rankings, scores, and selection within a budget. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from gateway.events.content import Omission
from gateway.ids import DAY_MS
from gateway.lexical import estimate_tokens, tokens
from gateway.memory import rendering
from gateway.memory.search.query import Hit, Mode
from gateway.memory.similarity.comparison import is_same
from gateway.storage.memories import MemoryRow

RRF_CONSTANT = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)."""
IMPORTANCE_WEIGHT = 0.1
"""The share by which the highest importance raises a score, and the lowest reduces it."""
FRESHNESS_EXPONENT = 0.2
"""The exponent of freshness in a score: the lowest freshness reduces it by 37 %."""
LIKELY_FACTOR = 1.5
"""The factor for a memory of a likely type, and again for one of a likely time."""
SUPPRESSED_FACTOR = 0.3
"""The factor for a suppressed memory."""
MIN_SIMILARITY = 0.7
"""Jaccard index of words from which two memories may say the same."""
MAX_COMPARED = 1000
"""Characters of a memory whose words are counted."""
DAILY_DECAY = 0.98
"""What a day without use leaves of the freshness."""
MIN_FRESHNESS = 0.1
"""The lower bound of freshness, from the 114th day on: age alone makes no memory unfindable."""


def fuse(
    lexical: Sequence[MemoryRow],
    vector: Sequence[MemoryRow],
    at: int,
    *,
    likely_types: Collection[str] = (),
    likely_since: int | None = None,
) -> list[Hit]:
    """The union of both rankings, the best first. `at` is now, Unix milliseconds."""

    def weighed(hit: Hit) -> Hit:
        likely = (hit.row.type in likely_types) + (
            likely_since is not None and hit.row.updated_at >= likely_since
        )
        return replace(hit, score=round(hit.score * LIKELY_FACTOR**likely, 4)) if likely else hit

    by_words = {row.id: rank for rank, row in enumerate(lexical, 1)}
    by_meaning = {row.id: rank for rank, row in enumerate(vector, 1)}
    rows = {row.id: row for row in (*lexical, *vector)}
    hits = [weighed(_hit(row, by_words.get(row.id), by_meaning.get(row.id), at)) for row in rows.values()]
    return sorted(hits, key=lambda hit: (-hit.score, hit.row.id))


def select(
    hits: Sequence[Hit],
    *,
    limit: int,
    budget_tokens: int,
    mode: Mode,
    known: Collection[str] = (),
) -> tuple[list[Hit], list[Omission], int]:
    """The selected hits, the omissions with their reasons, and the tokens of the selection. `hits` are the
    best first. A hit that exceeds the budget is omitted, though a smaller one after it may fit, and so is one
    that says the same as a better one (`comparison.is_same`). A memory in `known` costs no tokens: it is in
    context."""
    chosen, omissions, spent = list[Hit](), list[Omission](), 0
    words: list[tuple[frozenset[str], str]] = []
    for hit in hits:
        cost = 0 if hit.row.id in known else rendered_tokens(hit.row, mode)
        if len(chosen) == limit or spent + cost > budget_tokens:
            omissions.append(Omission(id=hit.row.id, reason="budget"))
            continue
        own = frozenset(tokens(hit.row.content[:MAX_COMPARED])), hit.row.content
        if any(_is_same(own, other) for other in words):
            omissions.append(Omission(id=hit.row.id, reason="similar"))
        else:
            chosen.append(hit)
            words.append(own)
            spent += cost
    return chosen, omissions, spent


def rendered_tokens(row: MemoryRow, mode: Mode) -> int:
    """Estimated tokens of a memory as it is rendered."""
    return estimate_tokens(rendering.details(row) if mode == "details" else rendering.catalog_line(row))


def freshness(row: MemoryRow, at: int) -> float:
    """1 for a memory that was used just now, less for each day since, at least MIN_FRESHNESS. `at` is now, in
    Unix milliseconds; a last use in the future counts as now."""
    days = max(0, at - row.last_used) / DAY_MS
    return max(MIN_FRESHNESS, DAILY_DECAY**days)


def _is_same(one: tuple[frozenset[str], str], other: tuple[frozenset[str], str]) -> bool:
    """Of two memories by their words and contents. Most pairs share too few words to be compared in full."""
    (words, content), (others, known) = one, other
    return len(words & others) >= MIN_SIMILARITY * len(words | others) and is_same(content, known)


def _hit(row: MemoryRow, lexical_rank: int | None, vector_rank: int | None, at: int) -> Hit:
    fresh = freshness(row, at)
    ranked = sum(
        (RRF_CONSTANT + 1) / (RRF_CONSTANT + rank) for rank in (lexical_rank, vector_rank) if rank is not None
    )
    score = ranked * (1 + IMPORTANCE_WEIGHT * (row.importance - 3) / 2) * fresh**FRESHNESS_EXPONENT
    if row.status == "suppressed":
        score *= SUPPRESSED_FACTOR
    return Hit(row, round(score, 4), lexical_rank, vector_rank, round(fresh, 4))
