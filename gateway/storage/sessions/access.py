"""Who may see a session and write in it, in SQL: its owner, and members of its project where it is shared."""

from typing import Literal, NamedTuple

from sqlalchemy import Connection, and_, bindparam, exists, select

from gateway.storage.database import Prepared
from gateway.storage.schema import artifact_uses, artifacts, project_members, sessions
from gateway.storage.sessions import Shared

ProjectRole = Literal["owner", "editor", "reader"]
Need = Literal["read", "write", "manage", "own"]
NEEDS: tuple[Need, ...] = ("read", "write", "manage", "own")


class SessionAccess(NamedTuple):
    """What somebody is to a session of `owner` that they may read. `role` is the one they have in its
    project; None: it is theirs. `shared` is what members may do with it."""

    owner: str
    role: ProjectRole | None = None
    shared: Shared = "read"

    def may(self, need: Need) -> bool:
        """read: see all of it. write: send turns, stop them, decide about their calls, rate them, choose a
        branch. manage: give it another title, unshare it, delete it. own: all else, as to share it, archive
        it, compress it."""
        if self.role is None or need == "read":
            return True
        if need == "write":
            return self.shared == "write" and self.role != "reader"
        return need == "manage" and self.role == "owner"


_m = project_members.c
_owners = project_members.alias("owners").c
_USER = bindparam("user_id")
# The owner is a member as well: who is not, shares nothing with those who are.
SHARED_WITH = and_(
    sessions.c.shared.is_not(None),
    _m.project_id == sessions.c.project_id,
    _m.user_id == _USER,
    exists().where(_owners.project_id == sessions.c.project_id, _owners.user_id == sessions.c.owner),
)
"""Whether a session and a member are ones of which the member reads the session."""
ACCESS = Prepared(
    select(sessions.c.owner, _m.role, sessions.c.shared)
    .select_from(sessions)
    .outerjoin(project_members, SHARED_WITH)
    .where(sessions.c.id == bindparam("session_id"))
)
# Locked, the member before the session, as they are changed: a removal waits for who writes, or is seen.
_OF_SESSION = sessions.c.id == bindparam("session_id")
WRITER = Prepared(
    select(_m.role)
    .join_from(sessions, project_members, SHARED_WITH)
    .where(_OF_SESSION, _m.role != "reader")
    .with_for_update(read=True, of=project_members)
)
SHARED = Prepared(select(sessions.c.shared).where(_OF_SESSION).with_for_update(read=True))
ARTIFACT = Prepared(
    select(artifacts.c.owner)
    .join_from(artifacts, artifact_uses, artifact_uses.c.ref == artifacts.c.ref)
    .join(sessions, sessions.c.id == artifact_uses.c.session_id)
    .join(project_members, SHARED_WITH)
    .where(
        artifacts.c.ref == bindparam("ref"),
        artifact_uses.c.owner == artifacts.c.owner,
        sessions.c.owner == artifacts.c.owner,
    )
    .order_by(artifacts.c.owner)
    .limit(1)
)


def may_write(connection: Connection, session_id: str, user_id: str) -> bool:
    """Whether a member may write in a session that is not theirs, until this transaction ends."""
    if WRITER.one(connection, session_id=session_id, user_id=user_id) is None:
        return False
    return SHARED.value(connection, session_id=session_id) == "write"
