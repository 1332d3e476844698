"""Full text over sessions: arrays of words under a GIN index.

    search_words      session_id, turn: 0 for the title; words: with the mark of the owner
    search_sessions   session_id; turns: indexed so far; position: of the last message indexed

Both are changed under the lock of the session.
"""

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, Select, Text, column, select, text

from gateway.storage.postgres.connections import raw_of
from gateway.storage.sessions.search import mark_of
from gateway.storage.sessions.unindexed import Fresh

FOUND = text(
    "SELECT session_id FROM search_words"
    " WHERE words @> CAST(:words AS text[]) AND words && CAST(:owners AS text[])"
).columns(column("session_id", Text))
NEWEST = """
    SELECT session_id, max(turn) FROM search_words
    WHERE session_id = ANY(%s::text[]) AND words @> %s::text[] GROUP BY session_id
"""
INDEXED_TO = "SELECT position FROM search_sessions WHERE session_id = %s"
ADVANCE = """
    INSERT INTO search_sessions AS s (session_id, turns, position) VALUES (%s, %s, %s)
    ON CONFLICT (session_id) DO UPDATE SET turns = s.turns + excluded.turns, position = excluded.position
    RETURNING turns
"""
KNOW = "INSERT INTO search_sessions (session_id, turns, position) VALUES (%s, 0, 0) ON CONFLICT DO NOTHING"
FORGET = "DELETE FROM search_sessions WHERE session_id = %s"
ADD = """
    INSERT INTO search_words (session_id, turn, words) VALUES (%s, %s, %s::text[])
    ON CONFLICT (session_id, turn) DO NOTHING
"""
REMOVE_TITLE = "DELETE FROM search_words WHERE session_id = %s AND turn = 0"
REMOVE_SOME = """
    DELETE FROM search_words WHERE session_id = %(id)s AND turn IN
        (SELECT turn FROM search_words WHERE session_id = %(id)s ORDER BY turn LIMIT %(most)s)
"""


class ArrayTurnWords:
    """The `TurnWords` protocol."""

    def found(self, owners: Sequence[str], words: Sequence[str]) -> Select[tuple[str]]:
        """Ids of the owners' sessions with all of `words` in one turn or title, by a GIN index over
        arrays."""
        given = FOUND.bindparams(words=[*words], owners=[*map(mark_of, owners)])
        return select(given.subquery().c.session_id)

    def newest_turns(
        self, connection: Connection, owner: str, words: Sequence[str], session_ids: Sequence[str]
    ) -> dict[str, int]:
        """The place of the newest turn with all of `words`, by session id; 0: the title."""
        given = ([*session_ids], [mark_of(owner), *words])
        return dict(raw_of(connection).execute(NEWEST, given).fetchall())

    def indexed_to(self, connection: Connection, session_id: str) -> int | None:
        """The position of the last indexed message; None when nothing was indexed."""
        found = raw_of(connection).execute(INDEXED_TO, (session_id,)).fetchone()
        return found[0] if found is not None else None

    def put_title(self, connection: Connection, session_id: str, owner: str, words: Iterable[str]) -> None:
        """Replaces the words of the session's title."""
        raw_of(connection).execute(KNOW, (session_id,))
        raw_of(connection).execute(REMOVE_TITLE, (session_id,))
        _add(connection, session_id, owner, [(0, words)])

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


def _add(
    connection: Connection, session_id: str, owner: str, turns: Iterable[tuple[int, Iterable[str]]]
) -> None:
    """Those that have words, and are not there."""
    mark = mark_of(owner)
    rows = [(session_id, turn, [mark, *kept]) for turn, words in turns if (kept := sorted(words))]
    raw_of(connection).cursor().executemany(ADD, rows)
