"""Two rankings made one, weighed, and cut to what may be told. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from gateway.events.content import Omission
from gateway.lexical import estimate_tokens, tokens
from gateway.memory import told
from gateway.memory.search.found import Hit, Mode
from gateway.memory.search.freshness import freshness
from gateway.storage.memories import MemoryRow

RANKS = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)."""
OF_IMPORTANCE = 0.1
"""What the highest importance adds to a score, and the lowest takes away."""
OF_FRESHNESS = 0.2
"""The power to which freshness counts: the least of it takes 37 % away."""
OF_LIKELIHOOD = 1.5
"""How much more a memory counts that is of a likely type, and again if it is of a likely time."""
OF_SUPPRESSION = 0.3
"""What is left of the score of a suppressed memory."""
SIMILAR = 0.7
"""The share of common words (Jaccard) from which on two memories say about the same."""
COMPARED = 1000
"""Characters of a memory that are compared with others."""
_DENYING = frozenset(("no", "not", "never", "nor", "without", "cannot", "t"))
"""Words that turn a sentence round; `t` is what the search tokens leave of n't."""
_NUMBERS_AND_NOS = frozenset("0123456789零一二三四五六七八九十百千万两半不没无非别未莫勿否禁戒")
"""Characters that a number or a denial is written with."""


def fuse(
    lexical: Sequence[MemoryRow],
    vector: Sequence[MemoryRow],
    at: int,
    *,
    likely_types: Collection[str] = (),
    likely_since: int | None = None,
) -> list[Hit]:
    """All of both rankings, the best first. A memory that only one of them has is among them too. `at` is
    now, Unix milliseconds."""

    def weighed(hit: Hit) -> Hit:
        likely = (hit.row.type in likely_types) + (
            likely_since is not None and hit.row.updated_at >= likely_since
        )
        return replace(hit, score=round(hit.score * OF_LIKELIHOOD**likely, 4)) if likely else hit

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
    """What is told of `hits`, which are the best first; what is left out and why; and the tokens of what is
    told. One that no longer fits is left out, though a smaller one after it may fit, and so is one that says
    about the same as a better one. What is `known` already takes no tokens."""
    chosen, words, omissions, spent = list[Hit](), list[frozenset[str]](), list[Omission](), 0
    for hit in hits:
        cost = 0 if hit.row.id in known else size(hit.row, mode)
        if len(chosen) == limit or spent + cost > budget_tokens:
            omissions.append(Omission(id=hit.row.id, reason="budget"))
            continue
        own = frozenset(tokens(hit.row.content[:COMPARED]))
        if any(says_the_same(own, other) for other in words):
            omissions.append(Omission(id=hit.row.id, reason="similar"))
        else:
            chosen.append(hit)
            words.append(own)
            spent += cost
    return chosen, omissions, spent


def size(row: MemoryRow, mode: Mode) -> int:
    """Estimated tokens of a memory as it is told."""
    return estimate_tokens(told.details(row) if mode == "details" else told.catalog_line(row))


def says_the_same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two sets of search tokens are of texts that say about the same: not when a number or a negation
    is in only one of them."""
    if not one or len(one & other) < SIMILAR * len(one | other):
        return False
    return not any(word in _DENYING or not _NUMBERS_AND_NOS.isdisjoint(word) for word in one ^ other)


def _hit(row: MemoryRow, lexical_rank: int | None, vector_rank: int | None, at: int) -> Hit:
    fresh = freshness(row, at)
    ranked = sum((RANKS + 1) / (RANKS + rank) for rank in (lexical_rank, vector_rank) if rank is not None)
    score = ranked * (1 + OF_IMPORTANCE * (row.importance - 3) / 2) * fresh**OF_FRESHNESS
    if row.status == "suppressed":
        score *= OF_SUPPRESSION
    return Hit(row, round(score, 4), lexical_rank, vector_rank, round(fresh, 4))
