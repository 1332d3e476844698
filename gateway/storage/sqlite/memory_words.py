"""Full text over memories: an FTS5 table of terms. A row is an entry, of a memory or of one of its passages.

    memory_words         rowid: the entry; words: its terms; passage: a `Passage` as JSON
    memory_words_known   term; doc: how many entries have it

BM25 is FTS5's: how rare a term is follows from all rows there are.
"""

from collections.abc import Sequence
from typing import Self

import orjson
from sqlalchemy import Connection, Float, Integer, Subquery, column, text

from gateway.storage.memories import Indexed, Passage
from gateway.storage.memories.terms import PASSAGES, PLAIN, Terms, entry_of, kept, split, word_of
from gateway.storage.sqlite.sqlite_file import merge_some, raw_of

PUT = "INSERT INTO memory_words (rowid, words, passage) VALUES (?, ?, ?)"
REMOVE = "DELETE FROM memory_words WHERE rowid BETWEEN ? AND ?"
KNOWN = """
    SELECT term, doc FROM memory_words_known
    WHERE term IN (SELECT value FROM json_each(?))
"""
BEGUN = """
    SELECT term FROM memory_words_known WHERE term >= ? AND term <= ? ORDER BY doc DESC, term LIMIT ?
"""
PASSAGE = "SELECT rowid, passage FROM memory_words WHERE rowid IN (SELECT value FROM json_each(?))"
# FTS5's better ranks are smaller. Of a group with one maximum, SQLite takes the other columns of its row.
FOUND = text("""
    SELECT number, max(score) AS score, entry FROM (
        SELECT rowid / :passages AS number, rowid AS entry, -bm25(memory_words) AS score
        FROM memory_words WHERE memory_words MATCH :words LIMIT -1
    ) GROUP BY number
""").columns(column("number", Integer), column("score", Float), column("entry", Integer))


class Fts5Words:
    """The `Words` protocol."""

    def __init__(self, terms: Terms = PLAIN) -> None:
        self._terms = terms

    def spelled(self, terms: Terms) -> Self:
        """The same index, in that spelling."""
        return type(self)(terms)

    def put(
        self, connection: Connection, number: int, partitions: Sequence[str], index: Sequence[Indexed]
    ) -> None:
        """Indexes a memory's tokens, and its passages, in these partitions in place of what was there."""
        self.remove(connection, number)
        raw_of(connection).executemany(PUT, (self._row(number, partitions, each) for each in index))

    def _row(self, number: int, partitions: Sequence[str], indexed: Indexed) -> tuple[int, str, str | None]:
        words, passage = kept(indexed.tokens), indexed.passage
        terms = " ".join(term for each in partitions for term in self._terms.made(each, words))
        entry = entry_of(number, passage.number if passage else 0)
        return entry, terms, self._terms.written(passage, entry, partitions) if passage else None

    def remove(self, connection: Connection, number: int) -> None:
        """Removes the memory from the index."""
        raw_of(connection).execute(REMOVE, (entry_of(number, 0), entry_of(number, PASSAGES - 1)))

    def purge(self, connection: Connection) -> None:
        """Begins to merge the index, whose older parts have removed words until that is done: a small one is
        merged with this, the rest of a large one by `scrub`."""
        merge_some(connection, "memory_words", begins=True)

    def found(
        self, connection: Connection, partitions: Sequence[str], words: Sequence[str]
    ) -> Sequence[Subquery]:
        """Subqueries of the memories with any of `words`, by BM25, the rarer words first. At most QUERY_WORDS
        of them count."""
        terms = self._terms.queried(partitions, words)
        known = dict(raw_of(connection).execute(KNOWN, (orjson.dumps(terms).decode(),)).fetchall())
        return [_having(some) for some in split(known, terms) if some]

    def completions(
        self, connection: Connection, partitions: Sequence[str], beginning: str, most: int
    ) -> list[str]:
        """The commonest words in these partitions that begin so."""
        found: dict[str, None] = {}
        for partition in partitions:
            if (ends := self._terms.beginning(partition, beginning)) is not None:
                rows = raw_of(connection).execute(BEGUN, (*ends, most)).fetchall()
                found |= {word_of(term): None for (term,) in rows}
        return list(found)[:most]

    def passages(self, connection: Connection, entries: Sequence[int]) -> Sequence[Passage | None]:
        """The passage of each index entry; None for a whole memory."""
        rows = raw_of(connection).execute(PASSAGE, (orjson.dumps(entries).decode(),))
        found = {entry: self._terms.read(stored, entry) for entry, stored in rows if stored is not None}
        return [found.get(entry) for entry in entries]


def _having(terms: Sequence[str]) -> Subquery:
    # Quoted, and without quotes in them: a word is never part of the grammar.
    match = " OR ".join(f'"{term}"' for term in terms)
    return FOUND.bindparams(words=match, passages=PASSAGES).subquery("found")
