"""One session, as its row."""

from sqlalchemy import Connection, and_, bindparam, select

from gateway.storage.database import Prepared
from gateway.storage.refusals import no_session
from gateway.storage.schema import heads, sessions
from gateway.storage.sessions import SessionRow
from gateway.storage.sessions.session_creation import ROWS
from gateway.storage.turns.heads import OF_SESSION

ID = sessions.c.id == bindparam("session_id")
OWN = and_(ID, sessions.c.owner == bindparam("owner"))
SESSIONS = select(*ROWS.columns).join_from(sessions, heads, OF_SESSION)
SESSION = Prepared(SESSIONS.where(OWN))
TAKEN = Prepared(select(sessions.c.id).where(ID))


def session_of(connection: Connection, session_id: str, owner: str) -> SessionRow:
    """Raises errors.NotFound (code session_not_found)."""
    row = SESSION.one(connection, session_id=session_id, owner=owner)
    if row is None:
        raise no_session(session_id)
    return ROWS.read(row)


def is_there(connection: Connection, session_id: str) -> bool:
    """Whether there is a session of that id, of any owner."""
    return TAKEN.one(connection, session_id=session_id) is not None
