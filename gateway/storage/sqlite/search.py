"""Full text over sessions: an FTS5 table of words that `gateway.lexical` made.

One row holds the distinct words of one turn (what the user said and the answers), one more those of the
session's title. Its rowid has both: the session's number above, the turn's below, 0 for the title. So the
rows of a session lie together, and a hit has its session without a look-up.

    search_index     rowid = number << TURN_BITS | turn; words
    search_sessions  number, session_id, turns: indexed so far, position: of the last message indexed
"""

import asyncio
import hashlib
import logging
import sqlite3
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, Select, Text, bindparam, column, select, text

from gateway.errors import ArchiveDamaged
from gateway.lexical import is_cjk, query_tokens, tokens
from gateway.storage.database import Database, Prepared
from gateway.storage.messages import StoredMessage
from gateway.storage.schema import heads, sessions, turns
from gateway.storage.sessions.history import ReadArchived, range_of
from gateway.storage.sqlite.database import raw_of
from gateway.storage.sqlite.unindexed import TURN_BATCH, Fresh
from gateway.storage.turns.heads import OF_SESSION

log = logging.getLogger(__name__)

TURN_BITS = 24
"""Sixteen million turns in a session; SQLite's rowids leave 39 bits for sessions."""

OWNER_MARK = "\ue000"
"""Begins the word of a row's owner: a character of private use is in no token."""

QUERY_WORDS = 32
"""Words of a query that count: more only narrow down what is found already."""

SMALL = 16
"""Messages of a session that are read together with those of others."""

_ID = bindparam("session_id")
SESSION = Prepared(
    select(
        sessions.c.owner,
        sessions.c.created_at,
        sessions.c.indexed_head,
        sessions.c.title,
        heads.c.head,
        heads.c.position,
        heads.c.turn_id,
    )
    .join_from(sessions, heads, OF_SESSION)
    .where(sessions.c.id == _ID)
)
TURNS = Prepared(
    select(turns.c.id, turns.c.last_seq, turns.c.input)
    .where(turns.c.session_id == _ID, turns.c.status == "done", turns.c.last_seq > bindparam("after"))
    .order_by(turns.c.last_seq)
    .limit(bindparam("most"))
)
DUE = Prepared(
    select(sessions.c.id)
    .join_from(sessions, heads, OF_SESSION)
    .where(
        sessions.c.id > bindparam("after"),
        sessions.c.indexed_head < heads.c.head,
        heads.c.turn_id.is_(None),
    )
    .order_by(sessions.c.id)
    .limit(bindparam("most"))
)
FOUND = (
    text(
        "SELECT session_id FROM search_sessions WHERE number IN"
        " (SELECT rowid >> :bits FROM search_index WHERE search_index MATCH :words)"
    )
    .bindparams(bits=TURN_BITS)
    .columns(column("session_id", Text))
)
KNOWN = "SELECT number, turns, position FROM search_sessions WHERE session_id = ?"
KNOW = "INSERT INTO search_sessions (session_id, turns, position) VALUES (?, 0, 0)"
ADVANCE = "UPDATE search_sessions SET turns = ?, position = ? WHERE number = ?"
FORGET = "DELETE FROM search_sessions WHERE number = ?"
HAS_ROW = "SELECT 1 FROM search_index WHERE rowid = ?"
ADD_ROW = "INSERT INTO search_index (rowid, words) VALUES (?, ?)"
REMOVE_ROWS = "DELETE FROM search_index WHERE rowid BETWEEN ? AND ?"
REMOVE_SOME = """
    DELETE FROM search_index
    WHERE rowid IN (SELECT rowid FROM search_index WHERE rowid BETWEEN ? AND ? LIMIT ?)
"""
INDEXED = "UPDATE sessions SET indexed_head = ? WHERE id = ?"


class SqliteSearch:
    """The `Search` protocol, and the `TextIndex` of `SqlSessions`."""

    def __init__(self, database: Database, archived: ReadArchived) -> None:
        self._database = database
        self._archived = archived

    async def index(self, *session_ids: str) -> None:
        """See `Search.index`. Of turns whose archive is damaged only what the user said is found."""
        # All that is small in one go: to change threads costs more than a short turn's words.
        small = await self._database.read(lambda connection: small_ones(connection, session_ids))
        gathered = [fresh for fresh in small.values() if fresh is not None]
        for session_id in session_ids:
            more = session_id not in small
            while more:
                fresh = await self._fresh(session_id)
                if fresh is None:
                    break
                gathered.append(fresh)
                more = fresh.more
                if more or sum(len(each.inputs) for each in gathered) >= TURN_BATCH:
                    await self._store(gathered)
                    gathered = []
        if gathered:
            await self._store(gathered)

    async def due(self, *, after: str = "", limit: int) -> Sequence[str]:
        """See `Search.due`."""
        rows = await self._database.read(
            lambda connection: DUE.run(connection, after=after, most=limit).fetchall(), snapshot=False
        )
        return [row[0] for row in rows]

    def found(self, owner: str, query: str) -> Select[tuple[str]] | None:
        """See `TextIndex.found`."""
        words = words_of_query(query)
        if not words:
            return None
        # Quoted, and without quotes in them: a word is never part of the grammar.
        match = " AND ".join(f'"{word}"' for word in [mark_of(owner), *words])
        return select(FOUND.bindparams(words=match).subquery().c.session_id)

    def words(self, title: str) -> set[str]:
        """See `TextIndex.words`."""
        return set(tokens(title))

    def put_title(self, connection: Connection, session_id: str, owner: str, words: Iterable[str]) -> None:
        """See `TextIndex.put_title`."""
        raw = raw_of(connection)
        number, _, _ = known(raw, session_id)
        row = number << TURN_BITS
        raw.execute(REMOVE_ROWS, (row, row))
        add_row(raw, row, owner, words)

    def remove(self, connection: Connection, session_id: str, most: int) -> int:
        """See `IndexedWords.remove`."""
        raw = raw_of(connection)
        found = raw.execute(KNOWN, (session_id,)).fetchone()
        if found is None:
            return 0
        first = found[0] << TURN_BITS
        removed = raw.execute(REMOVE_SOME, (first, first + (1 << TURN_BITS) - 1, most)).rowcount
        if removed < most:
            raw.execute(FORGET, (found[0],))
        return removed

    async def _fresh(self, session_id: str) -> Fresh | None:
        """The next part that the index lacks; None when it lacks nothing, or the session is gone."""
        fresh = await self._database.read(lambda connection: lacking(connection, session_id))
        if fresh is None:
            return None
        await asyncio.to_thread(fresh.take_inputs)
        while fresh.position < fresh.last:
            until = fresh.next_until()
            messages = await self._messages(session_id, fresh.position, until)
            if not await asyncio.to_thread(fresh.take, messages):
                break
            fresh.position = until
        return fresh

    async def _messages(self, session_id: str, after: int, until: int) -> Sequence[StoredMessage]:
        part = await self._database.read(
            lambda connection: range_of(connection, session_id, after, until), snapshot=False
        )
        try:
            return await part.read(self._archived)
        except ArchiveDamaged as error:
            log.warning("answers of session %s cannot be searched: %s", session_id, error.message)
            return part.rows

    async def _store(self, gathered: Sequence[Fresh]) -> None:
        def work(connection: Connection) -> None:
            for fresh in gathered:
                put(connection, fresh)

        await self._database.write(work)


def lacking(connection: Connection, session_id: str) -> Fresh | None:
    """What the index lacks, still without words; None when there is nothing, or no such session."""
    row = SESSION.one(connection, session_id=session_id)
    if row is None:
        return None
    owner, created_at, indexed_head, title, head, last, running = row
    found = raw_of(connection).execute(KNOWN, (session_id,)).fetchone()
    done = TURNS.run(connection, session_id=session_id, after=indexed_head, most=TURN_BATCH).fetchall()
    if running is not None or len(done) == TURN_BATCH:
        head = done[-1][1] if done else indexed_head
    if head == indexed_head and (found is not None or title is None):
        return None
    return Fresh(
        session_id,
        (owner, created_at, indexed_head),
        title,
        [(turn_id, text) for turn_id, _, text in done],
        running,
        found[2] if found is not None else 0,
        last,
        head,
    )


def small_ones(connection: Connection, session_ids: Sequence[str]) -> dict[str, Fresh | None]:
    """Complete with their words: what the index lacks of those sessions (None: nothing) that lack few
    messages and none of an archive. The others are left out."""
    found: dict[str, Fresh | None] = {}
    for session_id in session_ids:
        fresh = lacking(connection, session_id)
        if fresh is None:
            found[session_id] = None
        elif fresh.last - fresh.position <= SMALL and not fresh.more:
            part = range_of(connection, session_id, fresh.position, fresh.last)
            if not any(row.to_position > fresh.position for row in part.archives):
                fresh.take_inputs()
                fresh.take(part.rows)
                found[session_id] = fresh
    return found


def put(connection: Connection, fresh: Fresh) -> None:
    """Adds what was missing, unless the session has been deleted or indexed by somebody else meanwhile."""
    row = SESSION.one(connection, session_id=fresh.session_id)
    if row is None or row[:3] != fresh.state:
        return
    raw = raw_of(connection)
    number, count, _ = known(raw, fresh.session_id)
    title = number << TURN_BITS
    # A title that was given meanwhile has its row already.
    if row[3] == fresh.title and raw.execute(HAS_ROW, (title,)).fetchone() is None:
        add_row(raw, title, fresh.owner, fresh.title_words)
    for turn, words in enumerate(fresh.words.values(), count + 1):
        add_row(raw, title | turn, fresh.owner, words)
    raw.execute(ADVANCE, (count + len(fresh.words), fresh.position, number))
    raw.execute(INDEXED, (fresh.indexed_head, fresh.session_id))


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


def words_of_query(query: str) -> list[str]:
    """The words that a row must have, all of them. A character of a Chinese word says nothing beside it."""
    words = query_tokens(query)
    pairs = "".join(word for word in words if len(word) == 2 and is_cjk(word))
    return [word for word in words if not (len(word) == 1 and word in pairs)][:QUERY_WORDS]


def mark_of(owner: str) -> str:
    """The word of a row's owner: any owner's name, without spaces and quotes."""
    return OWNER_MARK + hashlib.sha256(owner.encode()).hexdigest()[:16]
