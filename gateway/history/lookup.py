"""Finding messages by their words, and the passage of a message that has most of them.

BM25 over lexical tokens, so Chinese, simplified or traditional, is found as well as English. Nothing is
indexed: a session is read through once per search, page by page.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gateway.lexical import is_cjk, tokens

EXCERPT = 400
"""Characters of an excerpt."""
SEARCHED = 100_000
"""Characters of one message that are searched."""

_K1, _B = 1.2, 0.75  # Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009
_SINGLE_CHARACTER = 0.3  # one Chinese character says less than a pair: it is there for one-character words
_WEAKEST = 0.25  # share of the best score below which a message only shares a stray word


@dataclass(frozen=True, slots=True)
class _Match:
    """A message with words that were looked for: how often it has each, and how many tokens it is long."""

    position: int
    counts: dict[str, int]
    length: int


@dataclass(slots=True)
class Matches:
    """What a search has seen so far."""

    words: frozenset[str]
    found: list[_Match] = field(default_factory=list[_Match])
    messages: int = 0
    length: int = 0

    def look_at(self, said: Sequence[tuple[int, str]]) -> None:
        """Adds messages: position and text of each."""
        for position, text in said:
            all_tokens = tokens(text[:SEARCHED])
            self.messages += 1
            self.length += len(all_tokens)
            counts = Counter(token for token in all_tokens if token in self.words)
            if counts:
                self.found.append(_Match(position, dict(counts), len(all_tokens)))

    def weights(self) -> dict[str, float]:
        """What each word is worth: the fewer messages have it, the more."""
        having = Counter(word for match in self.found for word in match.counts)
        return {
            word: math.log(1 + (self.messages - having[word] + 0.5) / (having[word] + 0.5))
            * (_SINGLE_CHARACTER if len(word) == 1 and is_cjk(word) else 1.0)
            for word in self.words
        }

    def ranked(self) -> list[tuple[float, int]]:
        """Score and position, the best first; of equals the later message, which may correct the former."""
        weights, average = self.weights(), self.length / max(1, self.messages)
        scored = sorted(
            ((_score(match, weights, average), match.position) for match in self.found), reverse=True
        )
        return [entry for entry in scored if entry[0] >= _WEAKEST * scored[0][0]]


def _score(match: _Match, weights: dict[str, float], average: float) -> float:
    norm = _K1 * (1 - _B + _B * match.length / average)
    return sum(weights[word] * count * (_K1 + 1) / (count + norm) for word, count in match.counts.items())


def excerpt(text: str, weights: Mapping[str, float]) -> str:
    """The EXCERPT characters of a text that have most of the words; `weights` as `Matches.weights` tells."""
    if len(text) <= EXCERPT:
        return text

    def worth(start: int) -> float:
        return sum(weights.get(token, 0.0) for token in set(tokens(text[start : start + EXCERPT])))

    ends = min(len(text), SEARCHED) - EXCERPT
    start = max(range(0, ends + EXCERPT // 2, EXCERPT // 2), key=lambda start: (worth(start), -start))
    piece = text[start : start + EXCERPT]
    if start and (blank := piece.find(" ", 0, 30)) >= 0:
        piece = piece[blank + 1 :]
    return f"{'…' if start else ''}{piece.strip()}{'…' if start + EXCERPT < len(text) else ''}"
