"""The terms by which memories are found: words that `gateway.lexical` made, each behind the mark of each
partition that its memory is in.

So a search touches no memory that its viewer may not see: what others have, or the same user elsewhere,
changes neither its time nor its result.
"""

import hashlib
import itertools
import re
from collections.abc import Mapping, Sequence

import orjson

from gateway.storage.memories import Passage

QUERY_WORDS = 64
"""Words of a query that count."""

HITS = 2000
"""Of a query's words the rarer ones are looked for, until they have so many hits together: the common ones
would take most of the time and decide little. With ten thousand memories thirty words take some 8 ms."""

ALWAYS = 3
"""So many of the rarest words are looked for in any case."""

PASSAGES = 4096
"""Numbers of passages that one memory has: its content of 200,000 characters makes some 3,000 at the most."""

_MARK = 12  # characters
_WORD = re.compile("[0-9a-z\u0080-\ud7ff\ue000-\U0010ffff]+")


def entry_of(number: int, passage: int) -> int:
    """The entry of that passage of a memory in the index, 0: of the whole."""
    return number * PASSAGES + passage


def mark_of(partition: str) -> str:
    """What each term of it begins with."""
    return hashlib.sha256(partition.encode()).hexdigest()[:_MARK]


def word_of(term: str) -> str:
    """The word of a readable term."""
    return term[_MARK:]


def kept(words: Sequence[str]) -> list[str]:
    """Those that an index can have."""
    return [word for word in words if _WORD.fullmatch(word)]


class Terms:
    """How an index spells what it has: as it is."""

    def made(self, partition: str, words: Sequence[str]) -> list[str]:
        """The terms of these words in that partition, one of each."""
        mark = mark_of(partition)
        return [mark + word for word in words]

    def sought(self, partition: str, words: Sequence[str]) -> list[str]:
        """The terms that are looked for there."""
        return self.made(partition, words)

    def is_readable(self, _partition: str) -> bool:
        """Whether the words of that partition can be read in its terms."""
        return True

    def beginning(self, partition: str, word: str) -> tuple[str, str] | None:
        """Between which terms those words of a partition lie that begin so; None: that cannot be told."""
        if not (_WORD.fullmatch(word) and self.is_readable(partition)):
            return None
        first = mark_of(partition) + word
        return first, first + "\U0010ffff"

    def queried(self, partitions: Sequence[str], words: Sequence[str]) -> list[str]:
        """The terms that a query of these words looks for."""
        some = kept(list(dict.fromkeys(words))[:QUERY_WORDS])
        return [term for partition in partitions for term in self.sought(partition, some)]

    def written(self, passage: Passage, entry: int, partitions: Sequence[str]) -> str:
        """The passage of an entry in these partitions, as an index keeps it."""
        return orjson.dumps(tuple(passage)).decode()

    def read(self, text: str, entry: int) -> Passage:
        """What `written` made."""
        *numbers, headings = orjson.loads(text)
        return Passage(*numbers, headings=tuple(headings))


PLAIN = Terms()


def split(known: Mapping[str, int], asked: Sequence[str]) -> tuple[list[str], list[str]]:
    """Those of `asked` (terms, of which `known` says how many entries have them, if any do) that are worth
    their hits, the rarest first, and the others."""
    ranked = sorted((term for term in asked if term in known), key=lambda term: known[term])
    hits = itertools.accumulate(known[term] for term in ranked)
    some = [
        term for n, (term, total) in enumerate(zip(ranked, hits, strict=True)) if n < ALWAYS or total <= HITS
    ]
    return some, ranked[len(some) :]
