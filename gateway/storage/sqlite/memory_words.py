"""Full text over memories: an FTS5 table of words that `gateway.lexical` made.

Each word stands behind the mark of each partition that its memory is in. So a search touches no memory that
its viewer may not see: what others have, or the same user elsewhere, changes neither its time nor its result.

    memory_words         rowid = memories.number * PASSAGES + number of the passage, 0 for a whole memory;
                         words; passage: a `Passage` as JSON
    memory_words_known   term: a word with its mark; doc: how many memories and passages have it
"""

import hashlib
import itertools
import re
from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import Connection, Float, Integer, Subquery, column, text

from gateway.storage.memories import Indexed, Passage
from gateway.storage.sqlite.database import raw_of

QUERY_WORDS = 64
"""Words of a query that count."""

HITS = 2000
"""Of a query's words the rarer ones are looked for, until they have so many hits together: the common ones
would take most of the time and decide little. With ten thousand memories thirty words take some 8 ms."""

ALWAYS = 3
"""So many of the rarest words are looked for in any case."""

PASSAGES = 4096
"""Numbers of passages that one memory has: its content of 200,000 characters makes some 3,000 at the most."""

PUT = "INSERT INTO memory_words (rowid, words, passage) VALUES (?, ?, ?)"
REMOVE = "DELETE FROM memory_words WHERE rowid BETWEEN ? AND ?"
# Deleted words stay in older parts of the index until those are merged.
MERGE = "INSERT INTO memory_words (memory_words) VALUES ('optimize')"
KNOWN = """
    SELECT term, doc FROM memory_words_known
    WHERE term IN (SELECT value FROM json_each(?)) ORDER BY doc, term
"""
PASSAGE = "SELECT rowid, passage FROM memory_words WHERE rowid IN (SELECT value FROM json_each(?))"
# FTS5's better ranks are smaller. Of a group with one maximum, SQLite takes the other columns of its row.
FOUND = text("""
    SELECT number, max(score) AS score, entry FROM (
        SELECT rowid / :passages AS number, rowid AS entry, -bm25(memory_words) AS score
        FROM memory_words WHERE memory_words MATCH :words LIMIT -1
    ) GROUP BY number
""").columns(column("number", Integer), column("score", Float), column("entry", Integer))

_WORD = re.compile("[0-9a-z\u0080-\ud7ff\ue000-\U0010ffff]+")


class Fts5Words:
    """The `Words` protocol."""

    def put(
        self, connection: Connection, number: int, partitions: Sequence[str], index: Sequence[Indexed]
    ) -> None:
        """See `Words.put`."""
        self.remove(connection, number)
        rows = (
            (
                self.entry(number, passage.number if passage else 0),
                " ".join(marked(partitions, tokens)),
                orjson.dumps(tuple(passage)).decode() if passage else None,
            )
            for tokens, passage in index
        )
        raw_of(connection).executemany(PUT, rows)

    def remove(self, connection: Connection, number: int) -> None:
        """See `Words.remove`."""
        raw_of(connection).execute(REMOVE, (number * PASSAGES, number * PASSAGES + PASSAGES - 1))

    def purge(self, connection: Connection) -> None:
        """See `Words.purge`."""
        raw_of(connection).execute(MERGE)

    def found(
        self, connection: Connection, partitions: Sequence[str], words: Sequence[str]
    ) -> Sequence[Subquery]:
        """See `Words.found`. At most QUERY_WORDS of them count."""
        terms = marked(partitions, list(dict.fromkeys(words))[:QUERY_WORDS])
        known = raw_of(connection).execute(KNOWN, (orjson.dumps(terms).decode(),)).fetchall()
        rarer = _rarer(known)
        others = [term for term, _ in known[len(rarer) :]]
        return [_having(some) for some in (rarer, others) if some]

    def entry(self, number: int, passage: int) -> int:
        """See `Words.entry`."""
        return number * PASSAGES + passage

    def passages(self, connection: Connection, entries: Sequence[int]) -> Sequence[Passage | None]:
        """See `Words.passages`."""
        rows = raw_of(connection).execute(PASSAGE, (orjson.dumps(entries).decode(),))
        found = {entry: _passage(orjson.loads(stored)) for entry, stored in rows if stored is not None}
        return [found.get(entry) for entry in entries]


def marked(partitions: Sequence[str], words: Sequence[str]) -> list[str]:
    """The words as the index has them, in each of the partitions."""
    marks = [hashlib.sha256(partition.encode()).hexdigest()[:12] for partition in partitions]
    kept = [word for word in words if _WORD.fullmatch(word)]
    return [mark + word for mark in marks for word in kept]


def _passage(stored: list[Any]) -> Passage:
    *numbers, headings = stored
    return Passage(*numbers, headings=tuple(headings))


def _having(terms: Sequence[str]) -> Subquery:
    # Quoted, and without quotes in them: a word is never part of the grammar.
    match = " OR ".join(f'"{term}"' for term in terms)
    return FOUND.bindparams(words=match, passages=PASSAGES).subquery("found")


def _rarer(known: Sequence[tuple[str, int]]) -> list[str]:
    """Those of `known`, the rarest first, that are worth their hits."""
    hits = itertools.accumulate(count for _, count in known)
    return [
        term
        for number, ((term, _), total) in enumerate(zip(known, hits, strict=True))
        if number < ALWAYS or total <= HITS
    ]
