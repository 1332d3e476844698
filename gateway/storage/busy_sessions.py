"""Whether a session is busy: one of its turns runs, waits for a person, or waits for those before it."""

from sqlalchemy import Connection, and_, bindparam, literal_column, select

from gateway.storage.database import Prepared
from gateway.storage.refusals import not_over
from gateway.storage.schema import sessions, turns

_not_done = turns.c.status != literal_column("'done'")

BUSY = select(turns.c.id).where(turns.c.session_id == sessions.c.id, _not_done).exists()
"""A condition on a row of sessions."""

UNDONE = Prepared(
    select(turns.c.id)
    .where(and_(turns.c.session_id == bindparam("session_id"), _not_done))
    .order_by(turns.c.number)
    .limit(1)
)


def check_is_idle(connection: Connection, session_id: str, head: int, instead: str) -> None:
    """Raises errors.TurnInProgress: with the oldest turn that is not done, the session's `head`, and what to
    do `instead`."""
    busy = UNDONE.one(connection, session_id=session_id)
    if busy is not None:
        raise not_over(busy[0], session_id, head, instead)
