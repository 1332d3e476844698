"""Full text over memories: an FTS5 table of words that `gateway.lexical` made.

Each word stands behind the mark of each shelf that its memory is on. So a search touches no memory that its
viewer may not see: what others have, or the same user elsewhere, changes neither its time nor its result.

    memory_words         rowid = memories.number; words
    memory_words_known   term: a word with its mark; doc: how many memories have it
"""

import hashlib
import itertools
import re
from collections.abc import Sequence

import orjson
from sqlalchemy import Connection, Float, Integer, Subquery, column, text

from gateway.storage.sqlite.database import raw_of

QUERY_WORDS = 64
"""Words of a query that count."""

HITS = 2000
"""Of a query's words the rarer ones are looked for, until they have so many hits together: the common ones
would take most of the time and decide little. With ten thousand memories thirty words take some 8 ms."""

ALWAYS = 3
"""Of the rarest words so many are looked for, whatever they have."""

PUT = "INSERT OR REPLACE INTO memory_words (rowid, words) VALUES (?, ?)"
REMOVE = "DELETE FROM memory_words WHERE rowid = ?"
# Deleted words stay in older parts of the index until those are merged.
MERGE = "INSERT INTO memory_words (memory_words) VALUES ('optimize')"
KNOWN = """
    SELECT term, doc FROM memory_words_known
    WHERE term IN (SELECT value FROM json_each(?)) ORDER BY doc, term
"""
# FTS5's better ranks are smaller.
FOUND = text(
    "SELECT rowid AS number, -bm25(memory_words) AS score FROM memory_words WHERE memory_words MATCH :words"
).columns(column("number", Integer), column("score", Float))

_WORD = re.compile("[0-9a-z\u0080-\ud7ff\ue000-\U0010ffff]+")


class Fts5Words:
    """The `Words` protocol."""

    def put(
        self, connection: Connection, number: int, partitions: Sequence[str], tokens: Sequence[str]
    ) -> None:
        """See `Words.put`."""
        raw_of(connection).execute(PUT, (number, " ".join(_marked(partitions, tokens))))

    def remove(self, connection: Connection, number: int) -> None:
        """See `Words.remove`."""
        raw_of(connection).execute(REMOVE, (number,))

    def purge(self, connection: Connection) -> None:
        """See `Words.purge`."""
        raw_of(connection).execute(MERGE)

    def found(
        self, connection: Connection, partitions: Sequence[str], words: Sequence[str]
    ) -> Sequence[Subquery]:
        """See `Words.found`. At most QUERY_WORDS of them count."""
        terms = _marked(partitions, list(dict.fromkeys(words))[:QUERY_WORDS])
        known = raw_of(connection).execute(KNOWN, (orjson.dumps(terms).decode(),)).fetchall()
        rarer = _rarer(known)
        others = [term for term, _ in known[len(rarer) :]]
        return [_having(some) for some in (rarer, others) if some]


def _marked(partitions: Sequence[str], words: Sequence[str]) -> list[str]:
    marks = [hashlib.sha256(partition.encode()).hexdigest()[:12] for partition in partitions]
    kept = [word for word in words if _WORD.fullmatch(word)]
    return [mark + word for mark in marks for word in kept]


def _having(terms: Sequence[str]) -> Subquery:
    # Quoted, and without quotes in them: a word is never part of the grammar.
    match = " OR ".join(f'"{term}"' for term in terms)
    return FOUND.bindparams(words=match).subquery("found")


def _rarer(known: Sequence[tuple[str, int]]) -> list[str]:
    """Those of `known`, the rarest first, that are worth their hits."""
    hits = itertools.accumulate(count for _, count in known)
    return [
        term
        for number, ((term, _), total) in enumerate(zip(known, hits, strict=True))
        if number < ALWAYS or total <= HITS
    ]
