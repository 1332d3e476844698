"""The terms by which memories are found: words that `gateway.lexical` made, each behind the mark of each
partition that its memory is in.

So a search touches no memory that its viewer may not see: what others have, or the same user elsewhere,
changes neither its time nor its result.
"""

import hashlib
import itertools
import re
from collections.abc import Sequence

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

_WORD = re.compile("[0-9a-z\u0080-\ud7ff\ue000-\U0010ffff]+")


def entry_of(number: int, passage: int) -> int:
    """The entry of that passage of a memory in the index, 0: of the whole."""
    return number * PASSAGES + passage


def marks_of(partitions: Sequence[str]) -> list[str]:
    """A mark for each."""
    return [hashlib.sha256(partition.encode()).hexdigest()[:12] for partition in partitions]


def kept(words: Sequence[str]) -> list[str]:
    """Those that an index can have."""
    return [word for word in words if _WORD.fullmatch(word)]


def marked(partitions: Sequence[str], words: Sequence[str]) -> list[str]:
    """The words as the index has them, in each of the partitions."""
    some = kept(words)
    return [mark + word for mark in marks_of(partitions) for word in some]


def queried(partitions: Sequence[str], words: Sequence[str]) -> list[str]:
    """The terms that a query of these words looks for."""
    return marked(partitions, list(dict.fromkeys(words))[:QUERY_WORDS])


def split(known: Sequence[tuple[str, int]]) -> tuple[list[str], list[str]]:
    """Those of `known` (terms and how many entries have them, the rarest first) that are worth their hits,
    and the others."""
    hits = itertools.accumulate(count for _, count in known)
    some = [
        term
        for number, ((term, _), total) in enumerate(zip(known, hits, strict=True))
        if number < ALWAYS or total <= HITS
    ]
    return some, [term for term, _ in known[len(some) :]]


def as_text(passage: Passage) -> str:
    """A passage as an index keeps it."""
    return orjson.dumps(tuple(passage)).decode()


def passage_of(text: str) -> Passage:
    """What `as_text` made."""
    *numbers, headings = orjson.loads(text)
    return Passage(*numbers, headings=tuple(headings))
