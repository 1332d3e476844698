"""Expiry and deletion of artifacts, in SQL: functions that are parts of transactions. The blob of a removed
artifact may be an orphan."""

from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, bindparam, delete, null, or_, select, update

from gateway.storage.artifacts.totals import count_out
from gateway.storage.artifacts.uses import IS_OF, forget
from gateway.storage.database import Prepared
from gateway.storage.holds import user_is_held
from gateway.storage.orphans import suspect
from gateway.storage.schema import artifact_uses, artifacts, sessions

PUT_OFF = 86_400_000
"""Milliseconds until an artifact is looked at again whose time is over and that a session uses: no round
walks over the same ones as the one before."""

_OWNER = artifacts.c.owner == bindparam("owner")
_REF = artifacts.c.ref == bindparam("ref")
_MADE_HERE = artifacts.c.session_id == bindparam("session_id")
_IS_DUE = artifacts.c.expires_at <= bindparam("now")
_is_used = or_(select(artifact_uses.c.ref).where(IS_OF).exists(), user_is_held(artifacts.c.owner))
_is_used_elsewhere = (
    select(artifact_uses.c.ref)
    .join(sessions, sessions.c.id == artifact_uses.c.session_id)
    .where(IS_OF, artifact_uses.c.session_id != bindparam("session_id"))
    .exists()
)

REMOVE = Prepared(delete(artifacts).where(_OWNER, _REF))
DUE = Prepared(
    select(artifacts.c.owner, artifacts.c.ref)
    .where(_IS_DUE)
    .order_by(artifacts.c.expires_at)
    .limit(bindparam("limit"))
)
EXPIRED = Prepared(select(artifacts.c.path, artifacts.c.size).where(_OWNER, _REF, _IS_DUE, ~_is_used))
KEEP_ON = Prepared(
    update(artifacts).where(_OWNER, _REF, _IS_DUE, _is_used).values(expires_at=bindparam("until"))
)
MADE_HERE = Prepared(
    select(artifacts.c.owner, artifacts.c.ref, artifacts.c.path, artifacts.c.size, _is_used_elsewhere)
    .where(_MADE_HERE)
    .limit(bindparam("most"))
)
LET_GO = Prepared(update(artifacts).where(_OWNER, _REF).values(session_id=null()))


def end(connection: Connection, owner: str, ref: str, blob: tuple[str, int], at: int) -> None:
    """Removes an artifact, also while it is used; `blob` is its path and size."""
    path, size = blob
    suspect(connection, [path], at)
    forget(connection, owner, ref)
    REMOVE.run(connection, owner=owner, ref=ref)
    count_out(connection, owner, path, size)


def expire(connection: Connection, due: Iterable[Sequence[str]], now: int) -> int:
    """Removes those of `due`, pairs of owner and reference, that are due still and that no session uses; how
    many that were. The others are put off."""
    removed = 0
    for owner, ref in due:
        row = EXPIRED.one(connection, owner=owner, ref=ref, now=now)
        if row is not None:
            end(connection, owner, ref, (row[0], row[1]), now)
            removed += 1
        else:
            KEEP_ON.run(connection, owner=owner, ref=ref, now=now, until=now + PUT_OFF)
    return removed


def drop_artifacts(connection: Connection, session_id: str, most: int, at: int) -> tuple[int, set[str]]:
    """Of at most `most` artifacts that were made in a session which is deleted: removes those that no other
    session uses, the others belong to no session from then on. Returns how many it was about, and the blobs
    of those that were removed, which may be orphans."""
    made = MADE_HERE.all(connection, session_id=session_id, most=most)
    candidates: set[str] = set()
    for owner, ref, path, size, is_used in made:
        if is_used:
            LET_GO.run(connection, owner=owner, ref=ref)
        else:
            end(connection, owner, ref, (path, size), at)
            candidates.add(path)
    return len(made), candidates
