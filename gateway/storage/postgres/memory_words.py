"""Full text over memories: postings of terms, ranked by BM25 in SQL.

    memory_postings   term, entry: of a memory or of one of its passages; times: how often the entry has the
                      term; length: how many words it has
    memory_passages   entry, passage: a `Passage` as JSON, of those that are one

The mark of a partition alone is a term too, which all its entries have: from it follows how many there are,
and how long. So nothing that a viewer may not see has a part in what they find.
"""

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

from sqlalchemy import BigInteger, Connection, Double, Subquery, column, text

from gateway.storage.memories import Indexed, Passage
from gateway.storage.memories.terms import PASSAGES, PLAIN, Terms, entry_of, kept, mark_of, split, word_of
from gateway.storage.postgres.connections import raw_of

# As FTS5 has them: sqlite.org/fts5.html#the_bm25_function.
K1, B = 1.2, 0.75
MIN_WEIGHT = 1e-6
"""Of a term that half of the entries have, or more."""

MAX_COUNTED = 10_000
"""Entries from which on a term is merely common: as many memories one user may have by default."""

REMOVE = """
    WITH gone AS (DELETE FROM memory_passages WHERE entry BETWEEN %(first)s AND %(last)s)
    DELETE FROM memory_postings WHERE entry BETWEEN %(first)s AND %(last)s
"""
PUT = """
    INSERT INTO memory_postings (term, entry, times, length)
    SELECT * FROM unnest(%s::text[], %s::bigint[], %s::int[], %s::int[])
"""
PUT_PASSAGES = """
    INSERT INTO memory_passages (entry, passage) SELECT * FROM unnest(%s::bigint[], %s::text[])
"""
PASSAGE = "SELECT entry, passage FROM memory_passages WHERE entry = ANY(%s::bigint[])"
KNOWN = """
    SELECT asked.term, known.entries, known.words FROM unnest(%s::text[]) AS asked (term),
    LATERAL (
        SELECT count(*) AS entries, sum(length) AS words
        FROM (SELECT length FROM memory_postings AS p WHERE p.term = asked.term LIMIT %s) AS counted
    ) AS known
    WHERE known.entries > 0
"""
BEGUN = """
    SELECT term FROM memory_postings WHERE term >= %s AND term <= %s
    GROUP BY term ORDER BY count(*) DESC, term LIMIT %s
"""
# Term by term: a planner that knows nothing of the table yet would rather read all of it.
FOUND = text("""
    SELECT DISTINCT ON (number) entry / :passages AS number, score, entry FROM (
        SELECT entry, sum(weight * times / (times + :flat + :by_length * length)) AS score
        FROM unnest(CAST(:terms AS text[]), CAST(:weights AS float8[])) AS asked (term, weight),
        LATERAL (SELECT entry, times, length FROM memory_postings AS p WHERE p.term = asked.term OFFSET 0)
            AS having_it
        GROUP BY entry
    ) AS scored ORDER BY number, score DESC, entry
""").columns(column("number", BigInteger), column("score", Double), column("entry", BigInteger))


class Known(NamedTuple):
    """How many entries have a term, and how many words these have."""

    entries: int
    words: int


class PostingWords:
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
        postings = list[tuple[str, int, int, int]]()
        passages = list[tuple[int, str]]()
        for tokens, passage in index:
            words = kept(tokens)
            entry, counts = entry_of(number, passage.number if passage else 0), Counter(words)
            for each in partitions:
                postings.append((mark_of(each), entry, 1, len(words)))
                terms = zip(self._terms.made(each, list(counts)), counts.values(), strict=True)
                postings += [(term, entry, times, len(words)) for term, times in terms]
            if passage is not None:
                passages.append((entry, self._terms.written(passage, entry, partitions)))
        if postings:
            raw_of(connection).execute(PUT, _columns(postings))
        if passages:
            raw_of(connection).execute(PUT_PASSAGES, _columns(passages))

    def remove(self, connection: Connection, number: int) -> None:
        """Removes the memory from the index."""
        raw_of(connection).execute(
            REMOVE, {"first": entry_of(number, 0), "last": entry_of(number, PASSAGES - 1)}
        )

    def purge(self, connection: Connection) -> None:
        """Does nothing: the server's VACUUM does that."""

    def found(
        self, connection: Connection, partitions: Sequence[str], words: Sequence[str]
    ) -> Sequence[Subquery]:
        """Subqueries of the memories with any of `words`, by BM25, the rarer words first. At most QUERY_WORDS
        of them count."""
        marks, terms = list(map(mark_of, partitions)), self._terms.queried(partitions, words)
        rows = raw_of(connection).execute(KNOWN, ([*marks, *terms], MAX_COUNTED)).fetchall()
        known = {term: Known(entries, words) for term, entries, words in rows}
        there = [known.pop(mark) for mark in marks if mark in known]
        entries, length = sum(each.entries for each in there), sum(each.words for each in there)
        weights = {term: _weight(entries, each.entries) for term, each in known.items()}
        asked = split({term: each.entries for term, each in known.items()}, terms)
        return [_having({term: weights[term] for term in some}, length / entries) for some in asked if some]

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
        found = dict[int, str](raw_of(connection).execute(PASSAGE, (list(entries),)).fetchall())
        return [self._terms.read(found[entry], entry) if entry in found else None for entry in entries]


def _weight(entries: int, having: int) -> float:
    return max(math.log((entries - having + 0.5) / (having + 0.5)), MIN_WEIGHT)


def _having(weights: dict[str, float], average: float) -> Subquery:
    return FOUND.bindparams(
        passages=PASSAGES,
        terms=list(weights),
        weights=[weight * (K1 + 1) for weight in weights.values()],
        flat=K1 * (1 - B),
        by_length=K1 * B / average,
    ).subquery("found")


def _columns(rows: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]
