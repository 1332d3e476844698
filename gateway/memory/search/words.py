"""The words that a question looks for, and which memories merely brush it. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gateway.bm25 import rarity
from gateway.lexical import is_cjk, query_tokens, tokens
from gateway.storage.memories import MemoryRow

MAX_WORDS = 64
"""Words that one search looks for."""
EDGE = 1000
"""Characters at each end of a long message in which its words are looked for: what lies between is most often
something pasted."""
READ = 2000
"""Characters of a memory that are weighed against the question."""
MIN_COVERAGE = 0.15
"""The share of a question that a memory must touch..."""
ENOUGH = 10.0
"""...unless it touches this much: two or three of its rarer words. Of a long message no memory touches a fair
share. Both measured with `python -m bench.memory`."""
MIN_SHARE_OF_BEST = 0.35
"""The least share, of what the best memory touches, that another one must."""
_POPULATION = 1000
"""As many memories are taken to be there when the rarity of a word is estimated: a word that none of those
found has weighs about twice as much as one that fifty have."""
_WORD, _PAIR, _SINGLE, _JOINT = 1.5, 1.0, 0.5, 0.25
"""What a token weighs. A word of Chinese is most often two characters: a pair, and two singles that stand in
other words too (风 of 风格 is in 风险)."""


@dataclass(frozen=True, slots=True)
class Sought:
    """`words` are search tokens for the store, those that say most first. `weights` are of the words that
    count when a memory is weighed."""

    words: Sequence[str]
    weights: dict[str, float]


def sought(text: str) -> Sought:
    """What `text` looks for: at most MAX_WORDS distinct search tokens."""
    ends = text if len(text) <= 2 * EDGE else f"{text[:EDGE]}\n{text[-EDGE:]}"
    kept = query_tokens(ends)
    asking = set(tokens(ends)).difference(kept)
    weights = {word: _weight(word, asking) for word in kept}
    ranked = sorted(kept, key=lambda word: -weights[word])[:MAX_WORDS]
    return Sought(ranked, {word: weights[word] for word in ranked})


def pertinent(question: Sought, rows: Sequence[MemoryRow]) -> list[MemoryRow]:
    """Those of `rows`, in their order, that touch enough of the question. A word counts the more the fewer of
    the rows have it. A memory longer than READ is never turned away: it is not read to its end."""
    touched = [_touched(question, row) for row in rows]
    having = Counter(word for words in touched for word in words)
    worth = {word: weight * rarity(having[word], _POPULATION) for word, weight in question.weights.items()}
    covered = [sum(worth[word] for word in words) for words in touched]
    least = min(MIN_COVERAGE * sum(worth.values()), ENOUGH)
    least = max(least, MIN_SHARE_OF_BEST * max(covered, default=0.0))
    return [row for row, much in zip(rows, covered, strict=True) if much >= least or len(row.content) > READ]


def _weight(token: str, asking: set[str]) -> float:
    if not is_cjk(token):
        return _WORD
    if len(token) == 1:
        return _SINGLE
    # 都是 and 的首 are no words: a character that only asks stands in them.
    return _JOINT if token[0] in asking or token[1] in asking else _PAIR


def _touched(question: Sought, row: MemoryRow) -> set[str]:
    names = " ".join(filter(None, (row.summary, *row.tags, row.skill, row.reference)))
    return question.weights.keys() & tokens(f"{row.content[:READ]}\n{names}")
