"""How a session is moved into a project and shared there, in SQL."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, null, select, update

from gateway.errors import Conflict, NotFound
from gateway.storage.busy_sessions import check_is_idle
from gateway.storage.database import Prepared
from gateway.storage.refusals import no_session
from gateway.storage.schema import branches, heads, project_members, sessions
from gateway.storage.sessions import Sharing
from gateway.storage.turns import TurnRow
from gateway.storage.turns.stranded_turns import settle

_ID = sessions.c.id == bindparam("session_id")
PLACE = Prepared(
    select(sessions.c.project_id, sessions.c.shared, heads.c.head, sessions.c.is_temporary)
    .join_from(sessions, heads, heads.c.session_id == sessions.c.id)
    .where(_ID, sessions.c.owner == bindparam("owner"))
)
ROLE = Prepared(
    select(project_members.c.role)
    .where(
        project_members.c.project_id == bindparam("project_id"),
        project_members.c.user_id == bindparam("user_id"),
    )
    .with_for_update(read=True)  # who is removed at the same time shares nothing afterwards
)
FORGET_IN_BRANCHES = Prepared(
    update(branches).where(branches.c.session_id == bindparam("session_id")).values(told_memories=null())
)


def share(
    connection: Connection,
    session_id: str,
    owner: str,
    *,
    project_id: str | None = None,
    shared: Sharing | None = None,
) -> Sequence[TurnRow]:
    row = PLACE.one(connection, session_id=session_id, owner=owner)
    if row is None:
        raise no_session(session_id)
    before, was_shared, head, is_temporary = row
    if is_temporary and shared not in {None, "none"}:
        raise Conflict("A temporary session is shared with nobody.", code="session_is_temporary")
    is_moved = project_id is not None and (project_id or None) != before
    if is_moved and project_id:
        _check_writes(connection, project_id, owner)
    is_opened = False
    values: dict[str, Any] = {"project_id": project_id or None, "shared": None} if is_moved else {}
    if shared == "none":
        values["shared"] = None
    elif shared is not None and (is_moved or was_shared != shared):
        chosen = before if project_id is None else project_id or None
        if chosen is None:
            raise _in_no_project()
        try:
            _check_writes(connection, chosen, owner)
        except NotFound:
            raise _in_no_project() from None
        values["shared"] = shared
        is_opened = is_moved or was_shared is None
        if is_opened:
            # What its prompt was told was for its owner's eyes.
            values |= {"told_memories": None, "carried": None}
            FORGET_IN_BRANCHES.run(connection, session_id=session_id)
    if not values:
        return ()
    if is_moved or is_opened:
        check_is_idle(connection, session_id, head, "wait for its end, or cancel it")
    connection.execute(update(sessions).where(sessions.c.id == session_id).values(values))
    return settle(connection, session_id=session_id)


def _check_writes(connection: Connection, project_id: str | None, owner: str) -> None:
    """Raises errors.NotFound: the owner is not in that project, or reads only."""
    role = ROLE.value(connection, project_id=project_id, user_id=owner)
    if role is None or role == "reader":
        raise NotFound(
            f"There is no project {project_id} in which you may share something.", code="project_not_found"
        )


def _in_no_project() -> Conflict:
    return Conflict(
        "The session is in no project whose members could read it: give project_id as well.",
        code="session_in_no_project",
    )
