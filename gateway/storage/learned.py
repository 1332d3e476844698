"""How far sessions were learned from, in SQL: `learned_to` of a session, NULL when nothing is to be read."""

from collections.abc import Sequence

from sqlalchemy import and_, bindparam, case, func, literal_column, not_, null, or_, select, update

from gateway.storage.busy import BUSY
from gateway.storage.database import Database, Prepared
from gateway.storage.heads import OF_SESSION
from gateway.storage.schema import heads, messages, session_archives, sessions

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


class SqlLearnedSessions:
    """The `LearnedSessions` protocol."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def begin(self, session_id: str, turn_id: str) -> None:
        """See `LearnedSessions.begin`."""
        await self._database.write(
            lambda connection: BEGIN.run(connection, session_id=session_id, turn_id=turn_id) and None
        )

    async def learned_to(self, session_id: str) -> int | None:
        """See `LearnedSessions.learned_to`."""
        row = await self._database.read(
            lambda connection: LEARNED_TO.one(connection, session_id=session_id), snapshot=False
        )
        return row[0] if row is not None else None

    async def advance(self, session_id: str, to: int) -> None:
        """See `LearnedSessions.advance`."""
        await self._database.write(
            lambda connection: ADVANCE.run(connection, session_id=session_id, to=to) and None
        )

    async def due(self, *, before: int, after: str = "", limit: int) -> Sequence[tuple[str, str]]:
        """See `LearnedSessions.due`."""
        rows = await self._database.read(
            lambda connection: DUE.run(connection, before=before, after=after, most=limit).fetchall(),
            snapshot=False,
        )
        return [(session_id, owner) for session_id, owner in rows]
