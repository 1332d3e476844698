"""Sessions as rows: one, and the newest of a list."""

from sqlalchemy import Connection, Select, and_, bindparam, exists, or_, select, tuple_

from gateway.storage.database import Prepared
from gateway.storage.projects.access import SHARED_WITH
from gateway.storage.refusals import no_session
from gateway.storage.schema import heads, sessions
from gateway.storage.sessions import Order, SessionRow
from gateway.storage.sessions.session_creation import ROWS
from gateway.storage.turns.heads import OF_SESSION

ID = sessions.c.id == bindparam("session_id")
OWN = and_(ID, sessions.c.owner == bindparam("owner"))
SESSIONS = select(*ROWS.columns).join_from(sessions, heads, OF_SESSION)
SESSION = Prepared(SESSIONS.where(OWN))
TAKEN = Prepared(select(sessions.c.id).where(ID))


def session_of(connection: Connection, session_id: str, owner: str) -> SessionRow:
    row = SESSION.one(connection, session_id=session_id, owner=owner)
    if row is None:
        raise no_session(session_id)
    return ROWS.read(row)


def newest(
    connection: Connection,
    owner: str,
    found: Select[tuple[str]] | None,
    *,
    limit: int,
    before: tuple[int, str] | None,
    order: Order = "updated",
    project_id: str | None = None,
    **only: bool | None,
) -> list[SessionRow]:
    """The owner's, newest first; of those that were `found` if given. `only`: by `pinned` and `archived`."""
    place = (sessions.c[f"{order}_at"], sessions.c.id)
    chosen = SESSIONS.where(sessions.c.owner == owner)
    if project_id is not None:
        is_seen = or_(sessions.c.owner == owner, exists().where(SHARED_WITH))
        chosen = SESSIONS.where(sessions.c.project_id == project_id, is_seen).params(user_id=owner)
    for name, wanted in only.items():
        if wanted is not None:
            since = sessions.c[f"{name}_at"]
            chosen = chosen.where(since.is_not(None) if wanted else since.is_(None))
    if before is not None:
        chosen = chosen.where(tuple_(*place) < before)
    if found is not None:
        chosen = chosen.where(sessions.c.id.in_(found))
    rows = connection.execute(chosen.order_by(*(column.desc() for column in place)).limit(limit))
    return [ROWS.read(row) for row in rows]


def is_there(connection: Connection, session_id: str) -> bool:
    """Whether it is, so that what was read of it, or its archives, is not another's."""
    return TAKEN.one(connection, session_id=session_id) is not None
