"""The list of a user's sessions, or a project's: its filters, its order and its pages."""

from sqlalchemy import Connection, Select, bindparam, exists, or_, select, tuple_

from gateway.storage.database import Prepared
from gateway.storage.projects.access import SHARED_WITH
from gateway.storage.schema import sessions
from gateway.storage.sessions import Order, SessionRow
from gateway.storage.sessions.session_creation import ROWS
from gateway.storage.sessions.session_row import SESSIONS

OWNERS = Prepared(
    select(sessions.c.owner)
    .distinct()
    .where(sessions.c.project_id == bindparam("project_id"), exists().where(SHARED_WITH))
)


def owners_in(connection: Connection, user_id: str, project_id: str | None) -> list[str]:
    """Whose sessions the user's list may have: their own, and those of others in that project."""
    if project_id is None:
        return [user_id]
    rows = OWNERS.run(connection, project_id=project_id, user_id=user_id).fetchall()
    return [user_id, *(row[0] for row in rows)]


def newest(
    connection: Connection,
    owner: str,
    found: Select[tuple[str]] | None,
    *,
    limit: int,
    before: tuple[int, str] | None,
    order: Order = "updated",
    project_id: str | None = None,
    temporary: bool = False,
    **only: bool | None,
) -> list[SessionRow]:
    """The owner's, newest first; of those that were `found` if given. `only`: by `pinned` and `archived`;
    with `temporary` also those."""
    place = (sessions.c[f"{order}_at"], sessions.c.id)
    chosen = SESSIONS.where(sessions.c.owner == owner)
    if project_id is not None:
        is_seen = or_(sessions.c.owner == owner, exists().where(SHARED_WITH))
        chosen = SESSIONS.where(sessions.c.project_id == project_id, is_seen).params(user_id=owner)
    if not temporary:
        chosen = chosen.where(sessions.c.is_temporary.is_not(True))
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
