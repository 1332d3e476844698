"""Search of sessions by their messages: words that `gateway.lexical` made, in an index of the engine.

The index has the distinct words of each turn (the user's message and the answers), and those of the
session's title. Rows that an earlier rule made are made anew in the background (`former_words.py`), and are
searched until then.
"""

import asyncio
import hashlib
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from sqlalchemy import Connection, Select, bindparam, select, update

from gateway.errors import ArchiveDamaged
from gateway.lexical import Sought, indexed, sought
from gateway.storage.database import Database, Prepared
from gateway.storage.messages import StoredMessage
from gateway.storage.schema import heads, sessions, turns
from gateway.storage.sessions import FoundIn, MatchedText
from gateway.storage.sessions.message_queries import MessageRange, ReadArchived, range_of
from gateway.storage.sessions.purges import IndexedWords
from gateway.storage.sessions.search_hits import TextMatch, add_answers, answers_of, hits_of
from gateway.storage.sessions.session_sizes import count
from gateway.storage.sessions.unindexed import TURN_BATCH, Fresh
from gateway.storage.turns.heads import OF_SESSION

log = logging.getLogger(__name__)

OWNER_MARK = "\ue000"
"""Begins the word of a row's owner: a character of private use is in no token."""

QUERY_WORDS = 32
"""Words of a query that count: more only narrow down what is found already."""

MAX_ARCHIVED = 20
"""Sessions of a page whose archives are read to find the words: of others only the user's messages are
searched."""

READING_TIME = 0.25
"""Seconds of reading texts after which no further one is looked into: fifty texts of a megabyte take a tenth
of that, such as are made to be slow more."""

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
LOCKED = Prepared(select(sessions.c.id).where(sessions.c.id == _ID).with_for_update())
INDEXED = Prepared(
    update(sessions).where(sessions.c.id == _ID).values(indexed_head=bindparam("indexed_head"))
)


class TurnWords(IndexedWords, Protocol):
    """The words of each turn and of the titles, as an engine keeps them. All methods are parts of
    transactions; a writer of a session's words has locked its row."""

    def found(
        self, owners: Sequence[str], words: Sequence[Sought], found_in: FoundIn | None = None
    ) -> Select[tuple[str]]:
        """The ids of the owners' sessions that have all of `words` in one turn or in their title; with
        `found_in` in one of these alone."""
        ...

    def newest_turns(
        self, connection: Connection, owner: str, words: Sequence[Sought], session_ids: Sequence[str]
    ) -> dict[str, int]:
        """The newest turn of each of these sessions, of the owner's, that has all of `words`: its place among
        those that were indexed, from 1; 0: they are in the title."""
        ...

    def indexed_to(self, connection: Connection, session_id: str) -> int | None:
        """The position of the last message that was indexed; None: nothing ever was, of a title neither."""
        ...

    def put_title(self, connection: Connection, session_id: str, owner: str, words: Iterable[str]) -> None:
        """Replaces the words of the session's title."""
        ...

    def add(self, connection: Connection, fresh: Fresh, *, title: bool) -> None:
        """Adds the turns of `fresh`, indexed to its position, and the words of its title, with `title`, if
        there are none of a title."""
        ...


class Search:
    """The words of sessions, by which `Sessions.list` finds them. Titles are searchable at once, turns when
    their session was indexed after their end."""

    def __init__(self, database: Database, archived: ReadArchived, index: TurnWords) -> None:
        self._database = database
        self._archived = archived
        self._index = index
        self.put_title = index.put_title

    async def index(self, *session_ids: str) -> None:
        """Makes the messages of these sessions searchable, up to their last turn that is over. Sessions that
        are gone, or have nothing new, are passed over. Of turns whose archive is damaged only the user's
        messages are found."""
        # All that is small in one go: to change threads costs more than a short turn's words.
        small = await self._database.read(lambda connection: small_ones(connection, self._index, session_ids))
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
        """Sessions without a running turn of which something is not searchable yet, in the order of their
        ids, beginning after that one."""
        rows = await self._database.read(
            lambda connection: DUE.run(connection, after=after, most=limit).fetchall(), snapshot=False
        )
        return [row[0] for row in rows]

    def found(
        self, owners: Sequence[str], query: str, found_in: FoundIn | None = None
    ) -> Select[tuple[str]] | None:
        """The ids of the owners' sessions that have all words of `query` in one turn or in their title, with
        `found_in` in one of these alone; None when it has no words. Takes milliseconds: not for the event
        loop."""
        words = words_of_query(query)
        if not words:
            return None
        return self._index.found(owners, words, found_in)

    def words(self, title: str) -> set[str]:
        """The search tokens of a title, which `put_title` needs. Takes milliseconds: not for the event
        loop."""
        return set(indexed(title))

    async def where(self, owner: str, query: str, session_ids: Sequence[str]) -> Mapping[str, MatchedText]:
        """Where the words stand in sessions that `Sessions.list` found by the query. Sessions that are not
        the owner's, or gone by now, are left out."""
        words = await asyncio.to_thread(words_of_query, query)
        if not words or not session_ids:
            return {}

        def read(connection: Connection) -> list[TextMatch]:
            newest = self._index.newest_turns(connection, owner, words, session_ids)
            return hits_of(connection, owner, newest)

        hits = await self._database.search(read)
        lacking = await asyncio.to_thread(_lacking, hits, words)
        if lacking:
            answers = await self._database.search(lambda connection: answers_of(connection, lacking))
            await asyncio.to_thread(add_answers, answers)
        archived = [(hit, hit.archived) for hit in hits if hit.archived is not None]
        for hit, part in archived[:MAX_ARCHIVED]:
            hit.take(await self._whole(hit.session_id, part))
        return await asyncio.to_thread(_found, hits, words)

    async def _fresh(self, session_id: str) -> Fresh | None:
        """The next part that the index lacks; None when it lacks nothing, or the session is gone."""
        fresh = await self._database.read(lambda connection: lacking(connection, self._index, session_id))
        if fresh is None:
            return None
        await asyncio.to_thread(fresh.take_inputs)
        while fresh.position < fresh.last:
            until = fresh.next_until()
            messages = await self.messages(session_id, fresh.position, until)
            if not await asyncio.to_thread(fresh.take, messages):
                break
            fresh.position = until
        return fresh

    async def messages(self, session_id: str, after: int, until: int) -> Sequence[StoredMessage]:
        """Those behind one position, up to another one; of a damaged archive none."""
        part = await self._database.read(
            lambda connection: range_of(connection, session_id, after, until), snapshot=False
        )
        return await self._whole(session_id, part)

    async def _whole(self, session_id: str, part: MessageRange) -> Sequence[StoredMessage]:
        try:
            return await part.read(self._archived)
        except ArchiveDamaged as error:
            log.warning("answers of session %s cannot be searched: %s", session_id, error)
            return part.rows

    async def _store(self, gathered: Sequence[Fresh]) -> None:
        def work(connection: Connection) -> None:
            for fresh in sorted(gathered, key=lambda fresh: fresh.session_id):
                put(connection, self._index, fresh)

        await self._database.write(work)


def _lacking(hits: Sequence[TextMatch], words: Sequence[Sought]) -> list[TextMatch]:
    """Those whose answers are to be read, of those that there was time to look at."""
    ends = time.monotonic() + READING_TIME
    return [hit for hit in hits if time.monotonic() < ends and hit.lacks(words)]


def _found(hits: Sequence[TextMatch], words: Sequence[Sought]) -> dict[str, MatchedText]:
    """Those that there was no time for have no text."""
    ends = time.monotonic() + READING_TIME
    return {hit.session_id: hit.found(words, read=time.monotonic() < ends) for hit in hits}


def lacking(connection: Connection, index: TurnWords, session_id: str) -> Fresh | None:
    """What the index lacks, still without words; None when there is nothing, or no such session."""
    row = SESSION.one(connection, session_id=session_id)
    if row is None:
        return None
    owner, created_at, indexed_head, title, head, last, running = row
    indexed_to = index.indexed_to(connection, session_id)
    done = TURNS.run(connection, session_id=session_id, after=indexed_head, most=TURN_BATCH).fetchall()
    if running is not None or len(done) == TURN_BATCH:
        head = done[-1][1] if done else indexed_head
    if head == indexed_head and (indexed_to is not None or title is None):
        return None
    return Fresh(
        session_id,
        (owner, created_at, indexed_head),
        title,
        [(turn_id, text) for turn_id, _, text in done],
        running,
        indexed_to or 0,
        last,
        head,
    )


def small_ones(
    connection: Connection, index: TurnWords, session_ids: Sequence[str]
) -> dict[str, Fresh | None]:
    """Complete with their words: what the index lacks of those sessions (None: nothing) that lack few
    messages and none of an archive. The others are left out."""
    found: dict[str, Fresh | None] = {}
    for session_id in session_ids:
        fresh = lacking(connection, index, session_id)
        if fresh is None:
            found[session_id] = None
        elif fresh.last - fresh.position <= SMALL and not fresh.more:
            part = range_of(connection, session_id, fresh.position, fresh.last)
            if not any(row.to_position > fresh.position for row in part.archives):
                fresh.take_inputs()
                fresh.take(part.rows)
                found[session_id] = fresh
    return found


def put(connection: Connection, index: TurnWords, fresh: Fresh) -> None:
    """Adds what was missing, unless the session has been deleted or indexed by another process meanwhile."""
    LOCKED.one(connection, session_id=fresh.session_id)
    row = SESSION.one(connection, session_id=fresh.session_id)
    if row is None or row[:3] != fresh.state:
        return
    # A title that was given meanwhile has its row already.
    index.add(connection, fresh, title=row[3] == fresh.title)
    INDEXED.run(connection, session_id=fresh.session_id, indexed_head=fresh.indexed_head)
    count(connection, fresh.session_id)


def words_of_query(query: str) -> list[Sought]:
    """The words that a row must have, all of them; the last one counts from its beginning."""
    return sought(query)[:QUERY_WORDS]


def turns_in(found_in: FoundIn | None, last: int) -> tuple[int, int]:
    """The first and the last turn that is looked at: 0 is the title."""
    return (1 if found_in == "messages" else 0, 0 if found_in == "title" else last)


def mark_of(owner: str) -> str:
    """The word of a row's owner: any owner's name, without spaces and quotes."""
    return OWNER_MARK + hashlib.sha256(owner.encode()).hexdigest()[:16]
