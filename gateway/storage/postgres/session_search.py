"""Full text over sessions: text search vectors of words under a GIN index.

    search_words      session_id, turn: 0 for the title; terms: words with the mark of the owner
                      words: the same as versions before wrote it, until it is made anew
    search_sessions   session_id; turns: indexed so far; position: of the last message indexed

All are changed under the lock of the session. A word's first letter is a term too, and its first two are: to
join the rows of all words that begin so takes long where many do.
"""

from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, Select, Text, column, select, text

from gateway.lexical import Sought, is_unspaced
from gateway.storage.postgres.connections import raw_of
from gateway.storage.sessions import FoundIn
from gateway.storage.sessions.search import mark_of, turns_in
from gateway.storage.sessions.unindexed import Fresh

MAX_BYTES = 900_000
"""Bytes of the words of one row: PostgreSQL's vectors have at most 1,048,575. Beyond that the shortest count,
as the longest are keys and data."""

MAX_TURN = 2**31 - 1
"""The largest value of the column."""

BEGINNING = "\ue001"
"""Before the first letters of a word, where these are a term."""
SIZES = (1, 2)
"""So many letters are one."""

# `owners` and `plain` find what versions before wrote.
_HAVING = """
    terms @@ CAST(:terms AS tsquery)
    OR (terms IS NULL AND words @> CAST(:plain AS text[]) AND words && CAST(:owners AS text[]))
"""
FOUND = text(
    "SELECT session_id FROM search_words"  # noqa: S608 - constants
    f" WHERE turn BETWEEN :first AND :last AND ({_HAVING})"
).columns(column("session_id", Text))
NEWEST = text(
    "SELECT session_id, max(turn) FROM search_words"  # noqa: S608 - constants
    f" WHERE session_id = ANY(CAST(:ids AS text[])) AND ({_HAVING}) GROUP BY session_id"
)
KNOWN = "SELECT turns, position FROM search_sessions WHERE session_id = %s"
ADVANCE = """
    INSERT INTO search_sessions AS s (session_id, turns, position) VALUES (%s, %s, %s)
    ON CONFLICT (session_id) DO UPDATE SET turns = s.turns + excluded.turns, position = excluded.position
    RETURNING turns
"""
KNOW = "INSERT INTO search_sessions (session_id, turns, position) VALUES (%s, 0, 0) ON CONFLICT DO NOTHING"
FORGET = "DELETE FROM search_sessions WHERE session_id = %s"
ADD = """
    INSERT INTO search_words (session_id, turn, words, terms)
    VALUES (%s, %s, '{}', array_to_tsvector(%s::text[])) ON CONFLICT (session_id, turn) DO NOTHING
"""
REMOVE = "DELETE FROM search_words WHERE session_id = %s AND turn = ANY(%s)"
REMOVE_FORMER = "DELETE FROM search_words WHERE session_id = %s AND terms IS NULL"
REMOVE_SOME = """
    DELETE FROM search_words WHERE session_id = %(id)s AND turn IN
        (SELECT turn FROM search_words WHERE session_id = %(id)s ORDER BY turn LIMIT %(most)s)
"""
FORMER = """
    SELECT DISTINCT session_id FROM search_words WHERE terms IS NULL AND session_id > %s
    ORDER BY session_id LIMIT %s
"""


class VectorTurnWords:
    """The `TurnWords` protocol."""

    def found(
        self, owners: Sequence[str], words: Sequence[Sought], found_in: FoundIn | None = None
    ) -> Select[tuple[str]]:
        """Ids of the owners' sessions with all of `words` in one turn or title, by a GIN index."""
        first, last = turns_in(found_in, MAX_TURN)
        return select(
            FOUND.bindparams(**_asked(owners, words), first=first, last=last).subquery().c.session_id
        )

    def newest_turns(
        self, connection: Connection, owner: str, words: Sequence[Sought], session_ids: Sequence[str]
    ) -> dict[str, int]:
        """The place of the newest turn with all of `words`, by session id; 0: the title."""
        rows = connection.execute(NEWEST, {"ids": [*session_ids], **_asked([owner], words)})
        return {row[0]: row[1] for row in rows}

    def indexed_to(self, connection: Connection, session_id: str) -> int | None:
        """The position of the last indexed message; None when nothing was indexed."""
        found = raw_of(connection).execute(KNOWN, (session_id,)).fetchone()
        return found[1] if found is not None else None

    def indexed_turns(self, connection: Connection, session_id: str) -> int:
        """How many turns of the session were indexed."""
        found = raw_of(connection).execute(KNOWN, (session_id,)).fetchone()
        return found[0] if found is not None else 0

    def put_title(self, connection: Connection, session_id: str, owner: str, words: Iterable[str]) -> None:
        """Replaces the words of the session's title."""
        raw_of(connection).execute(KNOW, (session_id,))
        self.renew(connection, session_id, owner, {0: words})

    def add(self, connection: Connection, fresh: Fresh, *, title: bool) -> None:
        """Adds the turns of `fresh`, and with `title` the words of its title."""
        count = len(fresh.words)
        ((turns,),) = (
            raw_of(connection).execute(ADVANCE, (fresh.session_id, count, fresh.position)).fetchall()
        )
        _add(connection, fresh.session_id, fresh.owner, enumerate(fresh.words.values(), turns - count + 1))
        if title:
            _add(connection, fresh.session_id, fresh.owner, [(0, fresh.title_words)])

    def remove(self, connection: Connection, session_id: str, most: int) -> int:
        """Removes at most `most` turns' words of a session and returns how many; fewer: none is left."""
        removed = raw_of(connection).execute(REMOVE_SOME, {"id": session_id, "most": most}).rowcount
        if removed < most:
            raw_of(connection).execute(FORGET, (session_id,))
        return removed

    def former(self, connection: Connection, *, after: str = "", limit: int) -> list[str]:
        """Ids of at most `limit` sessions, in their order behind that one, with words of an earlier rule."""
        return [session_id for (session_id,) in raw_of(connection).execute(FORMER, (after, limit))]

    def renew(
        self, connection: Connection, session_id: str, owner: str, words: Mapping[int, Iterable[str]]
    ) -> None:
        """Puts the words of these turns, 0 for the title, in the place of what was there."""
        raw_of(connection).execute(REMOVE, (session_id, list(words)))
        _add(connection, session_id, owner, words.items())

    def forget_former(self, connection: Connection, session_id: str) -> None:
        """Removes what is left of an earlier rule: of turns that are gone."""
        raw_of(connection).execute(REMOVE_FORMER, (session_id,))


def _add(
    connection: Connection, session_id: str, owner: str, turns: Iterable[tuple[int, Iterable[str]]]
) -> None:
    """Those that have words, and are not there."""
    mark = mark_of(owner)
    rows = [(session_id, turn, [mark, *kept]) for turn, words in turns if (kept := _terms(words))]
    raw_of(connection).cursor().executemany(ADD, rows)


def _terms(words: Iterable[str]) -> list[str]:
    """The terms of these words, as many as one row may have."""
    found = {*words}
    spaced = [word for word in found if not is_unspaced(word)]
    found |= {BEGINNING + word[:size] for word in spaced for size in SIZES if len(word) >= size}
    if sum(map(len, found)) * 4 <= MAX_BYTES:
        return sorted(found)
    kept, left = list[str](), MAX_BYTES
    for word in sorted(found, key=lambda word: (len(word), word)):
        left -= len(word.encode()) + 1
        if left < 0:
            break
        kept.append(word)
    return kept


def _asked(owners: Sequence[str], words: Sequence[Sought]) -> dict[str, object]:
    marks = [*map(mark_of, owners)]
    any_owner = " | ".join(f"'{mark}'" for mark in marks)
    terms = " & ".join([f"({any_owner})", *map(_any_form, words)])
    return {"terms": terms, "plain": _plain(words), "owners": marks}


def _plain(words: Sequence[Sought]) -> list[str]:
    """The words as versions before wrote them."""
    return [each for word in words for each in (word.parts or word.forms[-1:])]


def _any_form(word: Sought) -> str:
    """Quoted, and without quotes in them: a word is never part of the grammar."""
    forms = [f"'{form}'" for form in word.forms]
    if word.beginning is not None:
        is_term = len(word.beginning) in SIZES
        forms.append(f"'{BEGINNING}{word.beginning}'" if is_term else f"'{word.beginning}':*")
    if word.parts:
        forms.append("({})".format(" & ".join(f"'{part}'" for part in word.parts)))
    return "({})".format(" | ".join(forms))
