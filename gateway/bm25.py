"""BM25 over lexical tokens: what the words of a question are worth, and how well a text answers it. Pure.

The formula: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from gateway.lexical import is_unspaced, tokens

T = TypeVar("T")

_K1, _B = 1.2, 0.75
_SINGLE_CHARACTER = 0.3  # one Chinese character says less than a pair: it is there for one-character words
_WEAKEST = 0.25  # share of the best score below which a text only shares a stray word


def rarity(having: int, of: int) -> float:
    """The weight of a word that `having` of `of` texts have: the fewer, the more."""
    return math.log(1 + (of - having + 0.5) / (having + 0.5))


def weights(words: Iterable[str], having: Mapping[str, int], of: int) -> dict[str, float]:
    """The weight of each of the words among `of` texts; `having` counts the texts that have it."""
    return {
        word: rarity(having.get(word, 0), of)
        * (_SINGLE_CHARACTER if len(word) == 1 and is_unspaced(word) else 1)
        for word in words
    }


def score(counts: Mapping[str, int], length: int, average: float, weights: Mapping[str, float]) -> float:
    """The score of a text of `length` tokens that has each word as often as `counts` says, among texts of
    `average` tokens."""
    norm = _K1 * (1 - _B + _B * length / average)
    return sum(weights[word] * count * (_K1 + 1) / (count + norm) for word, count in counts.items())


def strong(ranked: Sequence[tuple[float, T]]) -> list[tuple[float, T]]:
    """The entries, the best first, whose score is not too far below the best one."""
    return [entry for entry in ranked if entry[0] >= _WEAKEST * ranked[0][0]]


def worth(passage: str, weights: Mapping[str, float]) -> float:
    """The weight of the distinct words of a passage together."""
    has = set(tokens(passage))
    return sum(weight for word, weight in weights.items() if word in has)
