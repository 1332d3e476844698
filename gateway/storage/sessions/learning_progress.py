"""How far sessions were learned from, in SQL: `learned_to` of a session, NULL when nothing is to be read."""

from collections.abc import Sequence

from sqlalchemy import (
    Connection,
    and_,
    bindparam,
    case,
    func,
    literal_column,
    not_,
    null,
    or_,
    select,
    update,
)

from gateway.storage.busy_sessions import BUSY
from gateway.storage.database import Prepared, Store, query, transaction
from gateway.storage.schema import heads, messages, session_archives, sessions
from gateway.storage.sessions import BESIDE
from gateway.storage.turns.heads import OF_SESSION

_ID = bindparam("session_id")
_before = (
    select(messages.c.position)
    .where(messages.c.session_id == _ID, messages.c.turn_id != bindparam("turn_id"))
    .order_by(messages.c.position.desc())
    .limit(literal_column("1"))
    .scalar_subquery()
)
_archived = (
    select(func.max(session_archives.c.to_position))
    .where(session_archives.c.session_id == _ID)
    .scalar_subquery()
)
BEGIN = Prepared(
    update(sessions)
    .where(sessions.c.id == _ID, sessions.c.learned_to.is_(None))
    .where(func.coalesce(sessions.c.role_id, literal_column("''")) != BESIDE)
    .where(sessions.c.is_temporary.is_not(True))
    .values(learned_to=func.coalesce(_before, _archived, literal_column("0")))
)
LEARNED_TO = Prepared(select(sessions.c.learned_to).where(sessions.c.id == _ID))
_position = select(heads.c.position).where(OF_SESSION).scalar_subquery()
_more = or_(BUSY, _position > bindparam("to"))
ADVANCE = Prepared(
    update(sessions)
    .where(sessions.c.id == _ID, sessions.c.learned_to.is_not(None))
    .values(learned_to=case((_more, bindparam("to")), else_=null()))
)
DUE = Prepared(
    select(sessions.c.id, sessions.c.owner)
    .where(
        sessions.c.learned_to.is_not(None),
        sessions.c.id > bindparam("after"),
        and_(sessions.c.updated_at < bindparam("before"), not_(BUSY)),
    )
    .order_by(sessions.c.id)
    .limit(bindparam("most"))
)


class LearnedSessions(Store):
    """How far the extractor of memories has read the sessions that it is to read. It must not read messages
    from while it was switched off, so a session is read from some turn on, until all of it was read."""

    @transaction
    def begin(self, connection: Connection, session_id: str, turn_id: str) -> None:
        """Marks messages to be read from that turn on, the session's newest; does nothing while earlier ones
        are marked, or in the role BESIDE."""
        BEGIN.run(connection, session_id=session_id, turn_id=turn_id)

    @query
    def learned_to(self, connection: Connection, session_id: str) -> int | None:
        """The position after which messages are to be read; None: nothing is, or the session is gone."""
        return LEARNED_TO.value(connection, session_id=session_id)

    @transaction
    def advance(self, connection: Connection, session_id: str, to: int) -> None:
        """It was read up to that position. Nothing more is to be read when that is its last message and no
        turn is open."""
        ADVANCE.run(connection, session_id=session_id, to=to)

    @query
    def due(
        self, connection: Connection, *, before: int, after: str = "", limit: int
    ) -> Sequence[tuple[str, str]]:
        """Sessions (id, owner) to be read that have no turn in flight and were last used before that time, in
        the order of their ids, beginning after that one."""
        found = DUE.all(connection, before=before, after=after, most=limit)
        return [(session_id, owner) for session_id, owner in found]
