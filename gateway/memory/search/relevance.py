"""Query terms and the relevance filter: memories that match too little of a query are dropped. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gateway.bm25 import rarity
from gateway.lexical import indexed, is_unspaced, query_tokens, tokens
from gateway.memory.passages import passages
from gateway.storage.memories import Match, Passage

MAX_WORDS = 64
"""Terms of one query."""
MAX_END = 1000
"""Characters at each end of a long message that give query terms: the middle is mostly pasted text."""
MIN_PART = 4
"""Characters of a word that may be a part of another: shorter ones are in words of every kind."""
MAX_PARTS = 10
"""Words of one query that are looked for as parts."""
MIN_COVERAGE = 0.15
"""The share of a query's weight that a memory must match..."""
MIN_WEIGHT = 10.0
"""...or this weight, if that is less: two or three rare words. No memory matches a fair share of a long
message. Both measured with `python -m bench.memory`."""
MIN_PLAIN_COVERAGE = 0.5
"""The share of a query's weight that a memory must match to answer it plainly..."""
MIN_PLAIN_PART, MIN_PLAIN_WEIGHT = 0.3, 20.0
"""...or this share with this weight: a question in Chinese has many pairs that are no words."""
MIN_SHARE_OF_BEST = 0.35
"""The minimal share of the best memory's weight."""
_POPULATION = 1000
"""The assumed number of memories when the rarity of a word is estimated: a word in none of the rows weighs
about twice as much as one in fifty of them."""
_WORD_WEIGHT, _PAIR_WEIGHT, _SINGLE_WEIGHT, _JOINT_WEIGHT = 1.5, 1.0, 0.5, 0.25
"""Weights of a token. A Chinese word has mostly two characters: one pair, and two single characters that
belong to other words too (风 of 风格 is in 风险)."""


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """`words` are search tokens for the store, the most significant first; `weights` are their weights."""

    words: Sequence[str]
    weights: dict[str, float]


def query_terms(text: str) -> QueryTerms:
    """The terms of `text`: at most MAX_WORDS distinct search tokens."""
    ends = text if len(text) <= 2 * MAX_END else f"{text[:MAX_END]}\n{text[-MAX_END:]}"
    kept = query_tokens(ends)
    asking = set(tokens(ends)).difference(kept)
    weights = {word: _weight(word, asking) for word in kept}
    ranked = sorted(kept, key=lambda word: -weights[word])[:MAX_WORDS]
    return QueryTerms(ranked, {word: weights[word] for word in ranked})


def filter_relevant(
    terms: QueryTerms, found: Sequence[Match], *, plainly: bool = False, by_parts: bool = False
) -> list[Match]:
    """The matches of enough of the query, or those that answer it `plainly`, in their order: of a long memory
    its passage. `by_parts` also with words that begin or end with one of the query's. A word weighs more the
    fewer memories have it."""
    found = [_located(terms, match) for match in found]
    parts = parts_of(terms) if by_parts else ()
    matched = [_matched_terms(terms, match, parts) for match in found]
    counts = Counter(word for words in matched for word in words)
    weights = {word: weight * rarity(counts[word], _POPULATION) for word, weight in terms.weights.items()}
    covered = [sum(weights[word] for word in words) for words in matched]
    every = sum(weights.values())
    least = min(MIN_COVERAGE * every, MIN_WEIGHT)
    if plainly:
        least = min(MIN_PLAIN_COVERAGE * every, max(MIN_PLAIN_PART * every, MIN_PLAIN_WEIGHT))
    least = max(least, MIN_SHARE_OF_BEST * max(covered, default=0.0))
    return [match for match, much in zip(found, covered, strict=True) if much >= least]


def _weight(token: str, asking: set[str]) -> float:
    if not is_unspaced(token):
        return _WORD_WEIGHT
    if len(token) == 1:
        return _SINGLE_WEIGHT
    # 都是 and 的首 are no words: they contain a function character.
    return _JOINT_WEIGHT if token[0] in asking or token[1] in asking else _PAIR_WEIGHT


def best_passage(terms: QueryTerms, content: str) -> Passage | None:
    """The passage of a long content that matches the query best; None: it is not long."""

    def matched(passage: Passage) -> float:
        words = {*indexed(content[passage.begin : passage.end]), *indexed(" ".join(passage.headings))}
        return sum(weight for word, weight in terms.weights.items() if word in words)

    return max(passages(content), key=matched, default=None)


def _located(terms: QueryTerms, match: Match) -> Match:
    """With a passage: a memory that was indexed by an older version has none."""
    if match.passage is not None:
        return match
    return replace(match, passage=best_passage(terms, match.row.content))


def parts_of(terms: QueryTerms) -> list[str]:
    """The words of a query that may be parts of longer ones: bulb of smartbulb. Chinese needs none, since
    each of its characters and pairs is a token."""
    return [word for word in terms.words if len(word) >= MIN_PART and not is_unspaced(word)][:MAX_PARTS]


def _matched_terms(terms: QueryTerms, match: Match, parts: Sequence[str]) -> set[str]:
    row, passage = match.row, match.passage
    read = row.content[passage.begin : passage.end] if passage else row.content
    names = (*(passage.headings if passage else ()), row.summary, *row.tags, row.skill, row.reference)
    has = set(indexed("\n".join((read, *filter(None, names)))))
    longer = {part for part in parts if any(word.startswith(part) or word.endswith(part) for word in has)}
    return (terms.weights.keys() & has) | longer
