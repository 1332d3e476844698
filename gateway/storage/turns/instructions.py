"""The instructions of client applications, in SQL: each text of a session once, and which a turn has."""

from sqlalchemy import Connection, and_, bindparam, insert, select, update

from gateway.storage.database import Prepared
from gateway.storage.schema import instructions, sessions
from gateway.storage.turns import instructions_digest

_SESSION = bindparam("session_id")
IN_FORCE = and_(instructions.c.session_id == sessions.c.id, instructions.c.digest == sessions.c.instructions)
"""Joins a session with the text of those in force."""

KNOWN = Prepared(
    select(instructions.c.digest).where(
        instructions.c.session_id == _SESSION, instructions.c.digest == bindparam("digest")
    )
)
ADD = Prepared(
    insert(instructions).values(session_id=_SESSION, digest=bindparam("digest"), text=bindparam("text"))
)
PUT_IN_FORCE = Prepared(
    update(sessions).where(sessions.c.id == _SESSION).values(instructions=bindparam("digest"))
)
DIGEST = Prepared(select(sessions.c.instructions).where(sessions.c.id == _SESSION))
TEXT = Prepared(
    select(instructions.c.text).join_from(sessions, instructions, IN_FORCE).where(sessions.c.id == _SESSION)
)
OF_DIGEST = Prepared(
    select(instructions.c.text).where(
        instructions.c.session_id == _SESSION, instructions.c.digest == bindparam("digest")
    )
)


def keep(connection: Connection, session_id: str, text: str) -> str:
    """Its digest."""
    digest = instructions_digest(text)
    if text and KNOWN.one(connection, session_id=session_id, digest=digest) is None:
        ADD.run(connection, session_id=session_id, digest=digest, text=text)
    return digest


def begin_with(connection: Connection, session_id: str, text: str | None) -> str | None:
    """Those of a session from now on, also before its first turn; None or "": none. Returns their digest."""
    digest = keep(connection, session_id, text) if text else None
    put_in_force(connection, session_id, digest)
    return digest


def put_in_force(connection: Connection, session_id: str, digest: str | None) -> None:
    """Those of the turn that begins: a later one that brings none has them too."""
    PUT_IN_FORCE.run(connection, session_id=session_id, digest=digest)


def digest_in_force(connection: Connection, session_id: str) -> str | None:
    return DIGEST.value(connection, session_id=session_id)
