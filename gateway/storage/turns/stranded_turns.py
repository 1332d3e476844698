"""The turns of those who may not write any more where they wrote, in SQL."""

from collections.abc import Sequence

from sqlalchemy import Connection, and_, exists, func, or_

from gateway.storage.database import send
from gateway.storage.replica_signals import Signal
from gateway.storage.schema import RUNNING, WAITING, project_members, sessions, turns
from gateway.storage.turns import TurnRow
from gateway.storage.turns.cancellation import request_cancel
from gateway.storage.turns.rows import TURNS, turn_of

_m, _owners = project_members.c, project_members.alias("owners").c
_may_write = and_(
    func.coalesce(sessions.c.shared, "") == "write",
    exists().where(_m.project_id == sessions.c.project_id, _m.user_id == turns.c.owner, _m.role != "reader"),
    exists().where(_owners.project_id == sessions.c.project_id, _owners.user_id == sessions.c.owner),
)
STRANDED = TURNS.where(
    or_(turns.c.status == RUNNING, turns.c.status == WAITING),
    turns.c.owner != sessions.c.owner,
    ~_may_write,
)


def settle(
    connection: Connection, *, project_id: str | None = None, session_id: str | None = None
) -> Sequence[TurnRow]:
    """After somebody may do less in a project, or in a session: asks the turns to stop that they have there,
    and has all processes look at who reads. Returns these turns."""
    subject = project_id if project_id is not None else session_id
    assert subject is not None
    place = sessions.c.project_id if project_id is not None else sessions.c.id
    found = [turn_of(tuple(row)) for row in connection.execute(STRANDED.where(place == subject))]
    for turn in found:
        request_cancel(connection, turn.id)
    send(connection, Signal("access", subject))
    return found
