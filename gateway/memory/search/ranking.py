"""Fusion of two rankings, scores, and selection within a budget. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from itertools import chain, zip_longest

from gateway.events.content import Omission
from gateway.ids import DAY_MS
from gateway.lexical import estimate_tokens, tokens
from gateway.memory import rendering
from gateway.memory.search.query import Hit, MemoryQuery, Rendering, known_key
from gateway.memory.similarity.comparison import is_same
from gateway.storage.memories import Match, MemoryRow

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
LONG_SHARE = 0.6
"""Of a budget, for what is longer than a line: two passages of a turn, and then others still have room."""
MIN_SIMILARITY = 0.7
"""Jaccard index of words from which two memories may have the same meaning."""
MAX_COMPARED = 1000
"""Characters of a memory whose words are counted."""
DAILY_DECAY = 0.98
"""What a day without use leaves of the freshness."""
MIN_FRESHNESS = 0.1
"""The lower bound of freshness, from the 114th day on: age alone makes no memory unfindable."""


def fuse(lexical: Sequence[Match], vector: Sequence[Match], query: MemoryQuery, at: int) -> list[Hit]:
    """The union of both rankings, the best first; a long memory with the passage that has the better place,
    in doubt that of the lexical one. `at` is now, Unix milliseconds."""
    by_words = {match.row.id: rank for rank, match in enumerate(lexical, 1)}
    by_meaning = {match.row.id: rank for rank, match in enumerate(vector, 1)}
    found: dict[str, Match] = {}
    for match in filter(None, chain.from_iterable(zip_longest(lexical, vector))):
        known = found.setdefault(match.row.id, match)
        found[match.row.id] = known if known.passage else match
    hits = [
        _hit(match, by_words.get(memory_id), by_meaning.get(memory_id), query, at)
        for memory_id, match in found.items()
    ]
    return sorted(hits, key=lambda hit: (-hit.score, hit.row.id))


def select(hits: Sequence[Hit], query: MemoryQuery) -> tuple[list[Hit], list[Omission], int]:
    """The selected hits in the form that there is room for, the omissions with their reasons, and the tokens
    of the selection; see `MemoryQuery`. `hits` are the best first. What is longer than a line may take
    LONG_SHARE of the budget, and where there is no room for it, it is shown by its summary (`too_long`). What
    does not fit is left out, though a smaller one after it may fit, and so is a memory with the meaning of a
    better one (`comparison.is_same`)."""
    chosen, omissions = list[Hit](), list[Omission]()
    words: list[tuple[frozenset[str], str]] = []
    left = query.budget_tokens
    lines = left if query.line_tokens is None else query.line_tokens
    room = {True: int(LONG_SHARE * left), False: lines}
    for hit in hits:
        if len(chosen) == query.limit:
            omissions.append(Omission(id=hit.row.id, reason="budget"))
            continue
        forms = [
            replace(hit, form=form, known=_is_known(hit, form, query.known)) for form in _forms(hit, query)
        ]
        shown = next(
            (each for each in forms if rendered_tokens(each) <= min(left, room[_is_long(each)])), None
        )
        if shown is None:
            omissions.append(Omission(id=hit.row.id, reason="budget"))
            continue
        content = _content(shown)
        own = frozenset(tokens(content[:MAX_COMPARED])), content
        if any(_is_same(own, other) for other in words):
            omissions.append(Omission(id=hit.row.id, reason="similar"))
            continue
        if shown.form == "summary" != forms[0].form:
            omissions.append(Omission(id=hit.row.id, reason="too_long"))
        chosen.append(shown)
        words.append(own)
        left -= (cost := rendered_tokens(shown))
        room[_is_long(shown)] -= cost
    return chosen, omissions, query.budget_tokens - left


def rendered_tokens(hit: Hit) -> int:
    """Estimated tokens of a memory as it is shown: nothing of what is in context."""
    return 0 if hit.known else estimate_tokens(rendering.in_form(hit))


def _is_known(hit: Hit, form: Rendering, known: Collection[str]) -> bool:
    if form == "summary":
        return hit.row.id in known
    is_part = form == "passage" and hit.passage and known_key(hit.row.id, hit.passage.number) in known
    return bool(is_part) or known_key(hit.row.id, "full") in known


def _forms(hit: Hit, query: MemoryQuery) -> Sequence[Rendering]:
    """How a memory may be shown, the fullest first. A long memory's passage has more of it than its summary,
    and a summary that leaves something out less than the content."""
    if query.mode == "details":
        return ("full", "passage", "summary") if hit.passage else ("full", "summary")
    if hit.passage and not query.summaries_only:
        return ("passage", "summary")
    return ("full", "summary") if rendering.is_cut(hit.row) and not query.summaries_only else ("summary",)


def _is_long(hit: Hit) -> bool:
    """Whether it is shown at more length than by a line."""
    return hit.form != "summary" and (hit.passage is not None or rendering.is_cut(hit.row))


def _content(hit: Hit) -> str:
    content, passage = hit.row.content, hit.passage
    return content if passage is None else content[passage.begin : passage.end]


def freshness(row: MemoryRow, at: int) -> float:
    """1 for a memory that was used just now, less for each day since, at least MIN_FRESHNESS. `at` is now, in
    Unix milliseconds; a last use in the future counts as now."""
    days = max(0, at - row.last_used) / DAY_MS
    return max(MIN_FRESHNESS, DAILY_DECAY**days)


def _is_same(one: tuple[frozenset[str], str], other: tuple[frozenset[str], str]) -> bool:
    """Of two memories by their words and contents. Most pairs share too few words to be compared in full."""
    (words, content), (others, known) = one, other
    return len(words & others) >= MIN_SIMILARITY * len(words | others) and is_same(content, known)


def _hit(match: Match, lexical_rank: int | None, vector_rank: int | None, query: MemoryQuery, at: int) -> Hit:
    row = match.row
    fresh = freshness(row, at)
    ranked = sum(
        (RRF_CONSTANT + 1) / (RRF_CONSTANT + rank) for rank in (lexical_rank, vector_rank) if rank is not None
    )
    score = ranked * (1 + IMPORTANCE_WEIGHT * (row.importance - 3) / 2) * fresh**FRESHNESS_EXPONENT
    if row.status == "suppressed":
        score *= SUPPRESSED_FACTOR
    is_recent = query.likely_since is not None and row.updated_at >= query.likely_since
    score *= LIKELY_FACTOR ** ((row.type in query.likely_types) + is_recent)
    return Hit(row, round(score, 4), lexical_rank, vector_rank, round(fresh, 4), match.passage)
