"""Sessions that refer to an artifact, in SQL: functions that are parts of transactions."""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, and_, bindparam, delete, insert, select

from gateway.storage.artifacts.rows import ARTIFACTS
from gateway.storage.database import Prepared
from gateway.storage.schema import artifact_uses, artifacts, sessions

IS_OF = and_(artifact_uses.c.owner == artifacts.c.owner, artifact_uses.c.ref == artifacts.c.ref)
"""Whether a use is one of an artifact."""
_OF_SESSION = artifact_uses.c.session_id == bindparam("session_id")
_used_here = select(artifact_uses.c.ref).where(IS_OF, _OF_SESSION)
USE = Prepared(
    insert(artifact_uses).from_select(
        ["session_id", "ref", "owner"],
        select(sessions.c.id, artifacts.c.ref, artifacts.c.owner)
        .join(artifacts, artifacts.c.owner == sessions.c.owner)
        .where(
            sessions.c.id == bindparam("session_id"),
            artifacts.c.owner == bindparam("owner"),
            artifacts.c.ref == bindparam("ref"),
            ~_used_here.exists(),
        ),
    )
)
FORGET = Prepared(
    delete(artifact_uses).where(
        artifact_uses.c.owner == bindparam("owner"), artifact_uses.c.ref == bindparam("ref")
    )
)
USED = Prepared(
    select(*ARTIFACTS.columns)
    .join(artifact_uses, IS_OF)
    .where(_OF_SESSION, artifact_uses.c.ref == bindparam("ref"))
)
NEWEST = Prepared(
    select(artifact_uses.c.session_id)
    .join(sessions, sessions.c.id == artifact_uses.c.session_id)
    .where(
        artifact_uses.c.owner == bindparam("owner"),
        artifact_uses.c.ref == bindparam("ref"),
        sessions.c.owner == bindparam("owner"),
    )
    .order_by(sessions.c.updated_at.desc(), sessions.c.id)
    .limit(1)
)
ALL_REFS = Prepared(
    select(artifacts.c.ref).join(artifact_uses, IS_OF).where(_OF_SESSION).order_by(artifacts.c.ref)
)


def use(connection: Connection, owner: str, session_id: str, refs: Collection[str]) -> None:
    """The session refers to these from now on, as far as they and the session are there."""
    for ref in refs:
        USE.run(connection, owner=owner, session_id=session_id, ref=ref)


def forget(connection: Connection, owner: str, ref: str) -> None:
    """No session refers to it any more."""
    FORGET.run(connection, owner=owner, ref=ref)


def refs_used(connection: Connection, session_id: str) -> Sequence[str]:
    """All that the session uses, in order."""
    return [ref for (ref,) in ALL_REFS.all(connection, session_id=session_id)]
