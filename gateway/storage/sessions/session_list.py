"""The list of a user's sessions, or a project's: its filters, its order and its pages."""

from sqlalchemy import Connection, Select, and_, bindparam, exists, not_, or_, select, tuple_

from gateway.storage.database import Prepared
from gateway.storage.schema import sessions
from gateway.storage.sessions import Order, SessionRow, Whose
from gateway.storage.sessions.access import SHARED_WITH
from gateway.storage.sessions.session_creation import ROWS
from gateway.storage.sessions.session_row import SESSIONS

MAX_OWNERS = 200
"""Whose sessions one search looks at, beside the user's own: a project has no more members."""

_SHARED = select(sessions.c.owner).distinct().where(exists().where(SHARED_WITH)).limit(MAX_OWNERS)
OWNERS = Prepared(_SHARED.where(sessions.c.project_id == bindparam("project_id")))
ALL_OWNERS = Prepared(_SHARED)


def owners_in(
    connection: Connection, user_id: str, project_id: str | None, whose: Whose | None = None
) -> list[str]:
    """Whose sessions the user's list may have: their own, and those of others in that project, or (None) in
    all of theirs where `whose` asks for them."""
    if (whose or ("mine" if project_id is None else "all")) == "mine":
        return [user_id]
    if project_id is None:
        rows = ALL_OWNERS.run(connection, user_id=user_id).fetchall()
    else:
        rows = OWNERS.run(connection, project_id=project_id, user_id=user_id).fetchall()
    return [user_id, *(row[0] for row in rows if row[0] != user_id)]


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
    whose: Whose | None = None,
    used: tuple[int | None, int | None] = (None, None),
    **only: bool | None,
) -> list[SessionRow]:
    """Those that `whose` names as the owner sees them, newest first; of those that were `found` if given.
    `used`: the last time after the one time and before the other. `only`: by `pinned` and `archived`; with
    `temporary` also those."""
    place = (sessions.c[f"{order}_at"], sessions.c.id)
    whose = whose or ("mine" if project_id is None else "all")
    is_own, is_shared = sessions.c.owner == owner, exists().where(SHARED_WITH)
    seen = {"mine": is_own, "others": and_(not_(is_own), is_shared), "all": or_(is_own, is_shared)}
    chosen = SESSIONS.where(seen[whose])
    if whose != "mine":
        chosen = chosen.params(user_id=owner)
    if project_id is not None:
        chosen = chosen.where(sessions.c.project_id == project_id)
    if not temporary:
        chosen = chosen.where(sessions.c.is_temporary.is_not(True))
    for name, wanted in only.items():
        if wanted is not None:
            since = sessions.c[f"{name}_at"]
            chosen = chosen.where(since.is_not(None) if wanted else since.is_(None))
    after, until = used
    if after is not None:
        chosen = chosen.where(sessions.c.updated_at >= after)
    if until is not None:
        chosen = chosen.where(sessions.c.updated_at < until)
    if before is not None:
        chosen = chosen.where(tuple_(*place) < before)
    if found is not None:
        chosen = chosen.where(sessions.c.id.in_(found))
    rows = connection.execute(chosen.order_by(*(column.desc() for column in place)).limit(limit))
    return [ROWS.read(row) for row in rows]
