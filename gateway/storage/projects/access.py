"""Who may do what in a session, in SQL: its owner everything, others by their role in its project."""

from collections.abc import Sequence

from sqlalchemy import Connection, and_, bindparam, exists, or_, select

from gateway.storage.database import Prepared
from gateway.storage.projects import SessionAccess
from gateway.storage.schema import RUNNING, WAITING, project_members, sessions, turns

_m = project_members.c
_OWNER_TOO = project_members.alias("owners")
# The owner is a member as well: who leaves a project, or moves a session there without being in it, shares
# nothing with those who are.
_BY_OWNER = exists().where(
    _OWNER_TOO.c.project_id == sessions.c.project_id, _OWNER_TOO.c.user_id == sessions.c.owner
)
ACCESS = Prepared(
    select(sessions.c.owner, sessions.c.project_id, sessions.c.shared, _m.role)
    .select_from(sessions)
    .outerjoin(
        project_members,
        and_(
            _m.project_id == sessions.c.project_id,
            _m.user_id == bindparam("user_id"),
            sessions.c.shared.is_not(None),
            _BY_OWNER,
        ),
    )
    .where(sessions.c.id == bindparam("session_id"))
)
_may_write = exists().where(
    _m.project_id == sessions.c.project_id,
    _m.user_id == turns.c.owner,
    _m.role != "reader",
    sessions.c.shared == "write",
)
STRANDED = (
    select(turns.c.session_id, turns.c.id)
    .join_from(turns, sessions)
    .where(
        or_(turns.c.status == RUNNING, turns.c.status == WAITING),
        turns.c.owner != sessions.c.owner,
        ~_may_write,
    )
    .order_by(turns.c.number)
)


def access(connection: Connection, session_id: str, user_id: str) -> SessionAccess | None:
    row = ACCESS.one(connection, session_id=session_id, user_id=user_id)
    if row is None:
        return None
    owner, project_id, shared, role = row
    if owner == user_id:
        return SessionAccess(owner, project_id, shared)
    return SessionAccess(owner, project_id, shared, role) if role is not None else None


def stranded(
    connection: Connection, *, project_id: str | None = None, session_id: str | None = None
) -> Sequence[tuple[str, str]]:
    """The turns in one session, or in those of a project, whose senders may not write there any more."""
    chosen = sessions.c.project_id == project_id if project_id is not None else sessions.c.id == session_id
    return tuple((session, turn) for session, turn in connection.execute(STRANDED.where(chosen)))
