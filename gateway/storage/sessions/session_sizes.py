"""The bytes of each user's sessions, which a quota bounds: functions that are parts of transactions.

What counts of a session is what was said in it: its messages with tool calls and their results, as they are
stored, and SESSION_SIZE for the session itself. A user's message counts as its turn is accepted, what was
answered once the session is indexed for search; a copy or a seeded history at once.

    sessions.size       of one session; NULL: it was made by a version before, and is counted later
    sessions.sized_to   the last message that is counted
    session_totals      the sum of a user's, moved with each change: nothing is added up for a turn
"""

from typing import Any

from sqlalchemy import BigInteger, Connection, bindparam, func, literal_column, select, text, update
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import GenericFunction

from gateway.errors import SessionsFull
from gateway.storage.database import Prepared
from gateway.storage.schema import heads, messages, session_totals, sessions, turns
from gateway.storage.turns.heads import OF_SESSION

SESSION_SIZE = 4096
"""Bytes that each session counts beside its messages: a block of a disk for its rows and its words."""


class octets(GenericFunction[int]):  # noqa: N801 - a function of SQL
    """The bytes of a text."""

    type = BigInteger()
    inherit_cache = True


@compiles(octets)
def _octets(element: octets, compiler: Any, **given: Any) -> str:
    return f"octet_length({compiler.process(element.clauses, **given)})"


@compiles(octets, "sqlite")
def _octets_of_sqlite(element: octets, compiler: Any, **given: Any) -> str:
    return f"length(CAST({compiler.process(element.clauses, **given)} AS BLOB))"


_ID = sessions.c.id == bindparam("session_id")
_OWNER = session_totals.c.owner == bindparam("of")
STATE = Prepared(
    select(sessions.c.owner, sessions.c.size, sessions.c.sized_to, heads.c.position)
    .join_from(sessions, heads, OF_SESSION)
    .where(_ID)
)
SAID = Prepared(
    select(func.coalesce(func.sum(octets(messages.c.content)), 0)).where(
        messages.c.session_id == bindparam("session_id"), messages.c.position > bindparam("after")
    )
)
# Of turns that began after what is counted: their messages were counted as they were accepted.
ASKED = Prepared(
    select(func.coalesce(func.sum(octets(turns.c.input)), 0)).where(
        turns.c.session_id == bindparam("session_id"),
        turns.c.after_position >= bindparam("after"),
        turns.c.after_position < bindparam("last"),
    )
)
RESIZE = Prepared(
    update(sessions)
    .where(_ID)
    .values(
        size=func.coalesce(sessions.c.size, literal_column("0")) + bindparam("more"),
        sized_to=bindparam("last"),
    )
)
GROW = Prepared(
    update(sessions).where(_ID, sessions.c.size.is_not(None)).values(size=sessions.c.size + bindparam("more"))
)
MOVE = Prepared(update(session_totals).where(_OWNER).values(size=session_totals.c.size + bindparam("more")))
MOVE_WITHIN = Prepared(
    update(session_totals)
    .where(_OWNER, session_totals.c.size + bindparam("more") <= bindparam("quota"))
    .values(size=session_totals.c.size + bindparam("more"))
)
FIRST = Prepared(
    text("INSERT INTO session_totals (owner, size) VALUES (:of, 0) ON CONFLICT (owner) DO NOTHING")
)
TOTAL = Prepared(select(session_totals.c.size).where(_OWNER))
UNSIZED = Prepared(select(sessions.c.id).where(sessions.c.size.is_(None)).limit(bindparam("most")))
SIZE = Prepared(select(sessions.c.size).where(_ID))


def add_new(
    connection: Connection, session_id: str, owner: str, *, said: int, last: int, quota: int | None
) -> None:
    """Counts a session that is being made with `said` bytes in `last` messages. Raises
    errors.SessionsFull."""
    more = SESSION_SIZE + said
    _move(connection, owner, more, quota)
    RESIZE.run(connection, session_id=session_id, more=more, last=last)


def add_asked(connection: Connection, session_id: str, owner: str, said: int, quota: int | None) -> None:
    """Counts the message of a turn that is being accepted. Raises errors.SessionsFull."""
    if GROW.run(connection, session_id=session_id, more=said).rowcount:
        _move(connection, owner, said, quota)
    elif quota is not None and (used := size_of_all(connection, owner)) + said > quota:
        raise _full(used, said, quota)


def count(connection: Connection, session_id: str) -> None:
    """Counts what was said since it was counted last; all of it, the first time. The session's row is
    locked."""
    row = STATE.one(connection, session_id=session_id)
    if row is None:
        return
    owner, size, sized_to, last = row
    after = sized_to or 0
    if size is not None and last <= after:
        return
    more = SAID.value(connection, session_id=session_id, after=after if size is not None else 0)
    if size is None:
        more += SESSION_SIZE
    else:
        more = max(0, more - ASKED.value(connection, session_id=session_id, after=after, last=last))
    _move(connection, owner, int(more), None)
    RESIZE.run(connection, session_id=session_id, more=int(more), last=last)


def give_back(connection: Connection, session_id: str, owner: str) -> None:
    """Before a session is removed."""
    if size := SIZE.value(connection, session_id=session_id):
        MOVE.run(connection, of=owner, more=-size)


def size_of_all(connection: Connection, owner: str) -> int:
    """The bytes that the owner's sessions count against their quota (see `session_sizes.py`)."""
    return TOTAL.value(connection, of=owner) or 0


def _move(connection: Connection, owner: str, more: int, quota: int | None) -> None:
    for _ in range(2):
        if quota is None:
            moved = MOVE.run(connection, of=owner, more=more)
        else:
            moved = MOVE_WITHIN.run(connection, of=owner, more=more, quota=quota)
        if moved.rowcount:
            return
        FIRST.run(connection, of=owner)  # unless it is there, and full
    raise _full(size_of_all(connection, owner), more, quota or 0)


def _full(used: int, more: int, quota: int) -> SessionsFull:
    return SessionsFull(
        f"Your sessions take {used:,} bytes of {quota:,}, and this would add {more:,}. Delete sessions that "
        "you no longer need (exports keep them elsewhere); operators can give more (GATEWAY_SESSION_QUOTA).",
        details={"quota": quota, "used": used, "wanted": more},
    )
