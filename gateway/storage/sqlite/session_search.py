"""Full text over sessions: an FTS5 table of words.

One row holds the words of one turn, one more those of the session's title. Its rowid has both: the session's
number above, the turn's below, 0 for the title. So the rows of a session lie together, and a hit has its
session without a look-up.

    search_index     rowid = number << TURN_BITS | turn; words
    search_former    the same of versions before, until they are made anew
    search_sessions  number, session_id, turns: indexed so far, position: of the last message indexed

The indexes of beginnings of two, three and four letters cost a tenth of the room: without that of two a query
of two letters has to join the rows of all words that begin so, which takes ten times as long; those of three
and four take a seventh off the slowest (`python -m bench.search`).
"""

import sqlite3
from collections.abc import Iterable, Mapping, Sequence

from sqlalchemy import Connection, Select, Text, column, select, text

from gateway.lexical import Sought
from gateway.storage.sessions import FoundIn
from gateway.storage.sessions.search import mark_of, turns_in
from gateway.storage.sessions.unindexed import Fresh
from gateway.storage.sqlite.sqlite_file import raw_of

TURN_BITS = 24
"""Sixteen million turns in a session; SQLite's rowids leave 39 bits for sessions."""

_TURN = (1 << TURN_BITS) - 1

FOUND = (
    text(
        "SELECT session_id FROM search_sessions WHERE number IN"
        " (SELECT rowid >> :bits FROM search_index WHERE search_index MATCH :words"
        " AND rowid & :turn BETWEEN :first AND :last"
        " UNION ALL SELECT rowid >> :bits FROM search_former WHERE search_former MATCH :words"
        " AND rowid & :turn BETWEEN :first AND :last)"
    )
    .bindparams(bits=TURN_BITS, turn=_TURN)
    .columns(column("session_id", Text))
)
NEWEST = """
    SELECT max(turn) FROM (
        SELECT * FROM (SELECT rowid & :turn AS turn FROM search_index WHERE search_index MATCH :words
        AND rowid BETWEEN :number << :bits AND (:number << :bits) + :turn ORDER BY rowid DESC LIMIT 1)
        UNION ALL
        SELECT * FROM (SELECT rowid & :turn AS turn FROM search_former WHERE search_former MATCH :words
        AND rowid BETWEEN :number << :bits AND (:number << :bits) + :turn ORDER BY rowid DESC LIMIT 1)
    )
"""
KNOWN = "SELECT number, turns, position FROM search_sessions WHERE session_id = ?"
KNOW = "INSERT INTO search_sessions (session_id, turns, position) VALUES (?, 0, 0)"
ADVANCE = "UPDATE search_sessions SET turns = ?, position = ? WHERE number = ?"
FORGET = "DELETE FROM search_sessions WHERE number = ?"
HAS_ROW = """
    SELECT 1 FROM search_index WHERE rowid = :row UNION ALL SELECT 1 FROM search_former WHERE rowid = :row
"""
ADD_ROW = "INSERT INTO search_index (rowid, words) VALUES (?, ?)"
REMOVE_ROWS = "DELETE FROM search_index WHERE rowid BETWEEN ? AND ?"
REMOVE_FORMER = "DELETE FROM search_former WHERE rowid BETWEEN ? AND ?"
REMOVE_SOME = """
    DELETE FROM {table} WHERE rowid IN (SELECT rowid FROM {table} WHERE rowid BETWEEN ? AND ? LIMIT ?)
"""
FORMER = """
    SELECT session_id FROM search_sessions WHERE number > (
        SELECT coalesce(max(number), 0) FROM search_sessions WHERE session_id = :after
    ) AND EXISTS (
        SELECT 1 FROM search_former WHERE rowid BETWEEN number << :bits AND (number << :bits) + :turn
    ) ORDER BY number LIMIT :most
"""
ANY_FORMER = "SELECT EXISTS (SELECT 1 FROM search_former)"


class Fts5TurnWords:
    """The `TurnWords` protocol."""

    def found(
        self, owners: Sequence[str], words: Sequence[Sought], found_in: FoundIn | None = None
    ) -> Select[tuple[str]]:
        """Ids of the owners' sessions with all of `words` in one turn or title, by FTS5."""
        first, last = turns_in(found_in, _TURN)
        return select(
            FOUND.bindparams(words=_match(owners, words), first=first, last=last).subquery().c.session_id
        )

    def newest_turns(
        self, connection: Connection, owner: str, words: Sequence[Sought], session_ids: Sequence[str]
    ) -> dict[str, int]:
        """The place of the newest turn with all of `words`, by session id; 0: the title."""
        raw, turns = raw_of(connection), dict[str, int]()
        for session_id in session_ids:
            if (session := raw.execute(KNOWN, (session_id,)).fetchone()) is None:
                continue
            given = {"words": _match([owner], words), "number": session[0], "bits": TURN_BITS, "turn": _TURN}
            ((found,),) = raw.execute(NEWEST, given).fetchall()
            if found is not None:
                turns[session_id] = found
        return turns

    def indexed_to(self, connection: Connection, session_id: str) -> int | None:
        """The position of the last indexed message; None when nothing was indexed."""
        found = raw_of(connection).execute(KNOWN, (session_id,)).fetchone()
        return found[2] if found is not None else None

    def put_title(self, connection: Connection, session_id: str, owner: str, words: Iterable[str]) -> None:
        """Replaces the words of the session's title."""
        raw = raw_of(connection)
        number, _, _ = known(raw, session_id)
        row = number << TURN_BITS
        _replace(raw, row, owner, words)

    def add(self, connection: Connection, fresh: Fresh, *, title: bool) -> None:
        """Adds the turns of `fresh`, and with `title` the words of its title if it has none yet."""
        raw = raw_of(connection)
        number, count, _ = known(raw, fresh.session_id)
        first = number << TURN_BITS
        if title and raw.execute(HAS_ROW, {"row": first}).fetchone() is None:
            add_row(raw, first, fresh.owner, fresh.title_words)
        for turn, words in enumerate(fresh.words.values(), count + 1):
            add_row(raw, first | turn, fresh.owner, words)
        raw.execute(ADVANCE, (count + len(fresh.words), fresh.position, number))

    def remove(self, connection: Connection, session_id: str, most: int) -> int:
        """Removes at most `most` turns' words of a session and returns how many; fewer: none is left."""
        raw = raw_of(connection)
        found = raw.execute(KNOWN, (session_id,)).fetchone()
        if found is None:
            return 0
        first, removed = found[0] << TURN_BITS, 0
        for table in ("search_former", "search_index"):
            some = REMOVE_SOME.format(table=table)
            removed += raw.execute(some, (first, first + _TURN, most - removed)).rowcount
        if removed < most:
            raw.execute(FORGET, (found[0],))
        return removed

    def former(self, connection: Connection, *, after: str = "", limit: int) -> list[str]:
        """Ids of at most `limit` sessions, behind that one in an order of their own, with words of an earlier
        rule."""
        raw = raw_of(connection)
        if not raw.execute(ANY_FORMER).fetchone()[0]:
            return []
        given = {"after": after, "bits": TURN_BITS, "turn": _TURN, "most": limit}
        return [session_id for (session_id,) in raw.execute(FORMER, given)]

    def indexed_turns(self, connection: Connection, session_id: str) -> int:
        """How many turns of the session were indexed."""
        found = raw_of(connection).execute(KNOWN, (session_id,)).fetchone()
        return found[1] if found is not None else 0

    def renew(
        self, connection: Connection, session_id: str, owner: str, words: Mapping[int, Iterable[str]]
    ) -> None:
        """Puts the words of these turns, 0 for the title, in the place of what an earlier rule made."""
        raw = raw_of(connection)
        number, _, _ = known(raw, session_id)
        for turn, some in words.items():
            _replace(raw, number << TURN_BITS | turn, owner, some)

    def forget_former(self, connection: Connection, session_id: str) -> None:
        """Removes what is left of an earlier rule: of turns that are gone."""
        raw = raw_of(connection)
        number, _, _ = known(raw, session_id)
        first = number << TURN_BITS
        raw.execute(REMOVE_FORMER, (first, first + _TURN))


def _match(owners: Sequence[str], words: Sequence[Sought]) -> str:
    """Quoted, and without quotes in them: a word is never part of the grammar."""
    any_owner = " OR ".join(f'"{mark_of(owner)}"' for owner in owners)
    return " AND ".join([f"({any_owner})", *map(_any_form, words)])


def _any_form(word: Sought) -> str:
    forms = [f'"{form}"' for form in word.forms]
    if word.beginning is not None:
        forms.append(f'"{word.beginning}"*')
    if word.parts:
        forms.append("({})".format(" AND ".join(f'"{part}"' for part in word.parts)))
    return "({})".format(" OR ".join(forms))


def _replace(raw: sqlite3.Connection, row: int, owner: str, words: Iterable[str]) -> None:
    raw.execute(REMOVE_ROWS, (row, row))
    raw.execute(REMOVE_FORMER, (row, row))
    add_row(raw, row, owner, words)


def known(raw: sqlite3.Connection, session_id: str) -> tuple[int, int, int]:
    """The session's number, its indexed turns and the position of its last indexed message."""
    found = raw.execute(KNOWN, (session_id,)).fetchone()
    if found is None:
        raw.execute(KNOW, (session_id,))
        found = raw.execute(KNOWN, (session_id,)).fetchone()
    return found


def add_row(raw: sqlite3.Connection, row: int, owner: str, words: Iterable[str]) -> None:
    if kept := sorted(words):
        raw.execute(ADD_ROW, (row, " ".join([mark_of(owner), *kept])))
