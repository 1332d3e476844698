"""Whose session it is, and what somebody may do with it: every operation on a session asks here first.

    own          everything
    shared       to the members of its project: read; where it is shared for that, to all but readers: write;
                 to its owners also another title, unsharing, deletion
    any other    as absent as one that never was

The owner that comes out is under whose name storage is asked for the rest.
"""

from gateway.auth import Principal
from gateway.errors import Forbidden
from gateway.storage.projects import Projects
from gateway.storage.refusals import no_session
from gateway.storage.sessions.access import Need


async def owner_of(projects: Projects, who: Principal, session_id: str, need: Need = "read") -> str:
    """The owner of a session with which the caller may do what they `need`.

    Raises:
        errors.NotFound: (session_not_found) there is none, or it is nothing to them.
        errors.Forbidden: (session_read_only) they may see it, and no more.
    """
    found = await projects.access(session_id, who.user_id)
    if found is None:
        raise no_session(session_id)
    if not found.may(need):
        raise read_only()
    return found.owner


def read_only() -> Forbidden:
    return Forbidden(
        "This chat belongs to someone else. Ask them for access.",
        code="session_read_only",
    )


async def may_read(projects: Projects, user_id: str, session_id: str) -> bool:
    """Whether that user still may."""
    return await projects.access(session_id, user_id) is not None
