"""Finding messages by their words, and the passage of a message that has most of them.

BM25 over lexical tokens, so Chinese, simplified or traditional, is found as well as English. Nothing is
indexed: a session is read through once per search, page by page.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gateway import bm25
from gateway.lexical import tokens

EXCERPT = 400
"""Characters of an excerpt."""
SEARCHED = 100_000
"""Characters of one message that are searched."""


@dataclass(frozen=True, slots=True)
class _Match:
    """A message with words that were looked for: how often it has each, and how many tokens it is long."""

    position: int
    counts: dict[str, int]
    length: int


@dataclass(slots=True)
class Matches:
    """The results of a search so far."""

    words: frozenset[str]
    found: list[_Match] = field(default_factory=list[_Match])
    messages: int = 0
    length: int = 0

    def look_at(self, texts: Sequence[tuple[int, str]]) -> None:
        """Adds messages: position and text of each."""
        for position, text in texts:
            all_tokens = tokens(text[:SEARCHED])
            self.messages += 1
            self.length += len(all_tokens)
            counts = Counter(token for token in all_tokens if token in self.words)
            if counts:
                self.found.append(_Match(position, dict(counts), len(all_tokens)))

    def weights(self) -> dict[str, float]:
        """The weight of each word: the fewer messages have it, the higher."""
        having = Counter(word for match in self.found for word in match.counts)
        return bm25.weights(self.words, having, self.messages)

    def ranked(self) -> list[tuple[float, int]]:
        """Score and position, the best first; of equals the later message, which may correct the former."""
        weights, average = self.weights(), self.length / max(1, self.messages)
        scored = (
            (bm25.score(match.counts, match.length, average, weights), match.position) for match in self.found
        )
        return bm25.strong(sorted(scored, reverse=True))


def excerpt(text: str, weights: Mapping[str, float]) -> str:
    """The EXCERPT characters of a text that have most of the words; `weights` as from `Matches.weights`."""
    if len(text) <= EXCERPT:
        return text
    starts = range(0, min(len(text), SEARCHED) - EXCERPT // 2, EXCERPT // 2)
    start = max(starts, key=lambda start: bm25.worth(text[start : start + EXCERPT], weights))
    passage = text[start : start + EXCERPT]
    if start and (blank := passage.find(" ", 0, 30)) >= 0:
        passage = passage[blank + 1 :]
    return f"{'…' if start else ''}{passage.strip()}{'…' if start + EXCERPT < len(text) else ''}"
