"""Words of sessions that an earlier rule made, made anew while everything else goes on.

A session is read from its beginning as when it was indexed first, some turns at a time, and each transaction
puts their words in the place of those that were there: so it is found all the time, by the earlier rule or by
this one.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Protocol

from sqlalchemy import Connection

from gateway.lexical import indexed
from gateway.storage.database import Database
from gateway.storage.messages import StoredMessage
from gateway.storage.sessions.search import LOCKED, SESSION, TURNS, TurnWords
from gateway.storage.sessions.unindexed import TURN_BATCH, Fresh


class RenewableWords(TurnWords, Protocol):
    """The words of turns and titles that an earlier rule made, beside those of this one."""

    def former(self, connection: Connection, *, after: str = "", limit: int) -> list[str]:
        """Ids of at most `limit` sessions that have such, behind that one in an order of the engine."""
        ...

    def indexed_turns(self, connection: Connection, session_id: str) -> int:
        """How many turns of the session were indexed."""
        ...

    def renew(
        self, connection: Connection, session_id: str, owner: str, words: Mapping[int, Iterable[str]]
    ) -> None:
        """Puts the words of these turns, 0 for the title, in the place of what was there."""
        ...

    def forget_former(self, connection: Connection, session_id: str) -> None:
        """Removes what is left of an earlier rule: of turns that are gone."""
        ...


ReadMessages = Callable[[str, int, int], Awaitable[Sequence[StoredMessage]]]
"""The messages of a session behind one position, up to another one."""


class FormerWords:
    """Words by which sessions are found, as an earlier version of the gateway made them. `messages` reads
    rows and archives alike."""

    def __init__(self, database: Database, messages: ReadMessages, index: RenewableWords) -> None:
        self._database, self._messages, self._index = database, messages, index

    async def sessions(self, *, after: str = "", limit: int) -> Sequence[str]:
        """Ids of at most `limit` sessions with such words, behind that one in an order of the engine."""
        return await self._database.read(
            lambda connection: self._index.former(connection, after=after, limit=limit), snapshot=False
        )

    async def renew(self, session_id: str, *, pause: float = 0) -> None:
        """Makes the words of a session anew, some turns in a transaction, with so many seconds between two of
        them. It is found all the time; nothing happens to one that is gone."""
        done = position = seq = 0
        while True:
            part = await self._database.read(
                lambda connection, done=done, seq=seq: _part(connection, self._index, session_id, done, seq)
            )
            if part is None:
                return
            fresh, ends = part
            await asyncio.to_thread(fresh.take_inputs)
            fresh.position = position
            while fresh.position < fresh.last:
                until = fresh.next_until()
                messages = await self._messages(session_id, fresh.position, until)
                if not await asyncio.to_thread(fresh.take, messages):
                    break
                fresh.position = until
            words = dict(enumerate(fresh.words.values(), done + 1))
            is_last = len(words) < TURN_BATCH
            await self._database.write(
                lambda connection, words=words, fresh=fresh, is_last=is_last: _put(
                    connection, self._index, fresh, words, is_last=is_last
                )
            )
            if is_last:
                return
            done, position, seq = done + len(words), fresh.position, ends
            await asyncio.sleep(pause)


def _part(
    connection: Connection, index: RenewableWords, session_id: str, done: int, seq: int
) -> tuple[Fresh, int] | None:
    """The next turns of a session, `done` of which are, and the number of the last event of these; None: it
    is gone."""
    row = SESSION.one(connection, session_id=session_id)
    if row is None:
        return None
    owner, created_at, indexed_head, title, *_, running = row
    most = min(TURN_BATCH, index.indexed_turns(connection, session_id) - done)
    turns = TURNS.run(connection, session_id=session_id, after=seq, most=most).fetchall() if most > 0 else []
    inputs = [(turn_id, text) for turn_id, _, text in turns]
    last = index.indexed_to(connection, session_id) or 0
    state = (owner, created_at, indexed_head)
    fresh = Fresh(session_id, state, title, inputs, running, 0, last, indexed_head)
    return fresh, turns[-1][1] if turns else seq


def _put(
    connection: Connection,
    index: RenewableWords,
    fresh: Fresh,
    words: Mapping[int, Iterable[str]],
    *,
    is_last: bool,
) -> None:
    LOCKED.one(connection, session_id=fresh.session_id)
    row = SESSION.one(connection, session_id=fresh.session_id)
    if row is None or row[:2] != fresh.state[:2]:
        return  # deleted meanwhile, or made anew
    title = {0: set(indexed(row[3] or ""))} if is_last else {}
    index.renew(connection, fresh.session_id, fresh.owner, {**words, **title})
    if is_last:
        index.forget_former(connection, fresh.session_id)
