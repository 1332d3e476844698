"""The rows of artifacts, in SQL: functions that are parts of transactions."""

from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import (
    ColumnElement,
    Connection,
    bindparam,
    exists,
    or_,
    select,
    tuple_,
    update,
)

from gateway.errors import ArtifactsFull, Conflict
from gateway.storage.artifacts import ArtifactRow, Kind, blob_paths
from gateway.storage.artifacts.removal import end
from gateway.storage.artifacts.rows import ARTIFACTS
from gateway.storage.artifacts.totals import count_in, counted, space_used, used_by_tenant
from gateway.storage.artifacts.uses import IS_OF, USED, use
from gateway.storage.database import Prepared
from gateway.storage.holds import check_not_held
from gateway.storage.orphans import claim, suspect
from gateway.storage.refusals import no_artifact, no_session
from gateway.storage.schema import artifact_uses, artifacts, sessions
from gateway.storage.webhooks.enqueue import enqueue

_OWNER = artifacts.c.owner == bindparam("owner")
_REF = artifacts.c.ref == bindparam("ref")
# With a session go the artifacts that are its alone: they cannot be found while their rows are removed.
_used = exists().where(IS_OF, sessions.c.id == artifact_uses.c.session_id)
IS_THERE = or_(
    artifacts.c.session_id.is_(None), exists().where(sessions.c.id == artifacts.c.session_id), _used
)

NEAR = 0.8
"""Share of the quota from which on it is nearly used up."""

ONE = Prepared(select(*ARTIFACTS.columns).where(_OWNER, _REF, IS_THERE))
SESSION = Prepared(
    select(sessions.c.id).where(
        sessions.c.id == bindparam("session_id"), sessions.c.owner == bindparam("owner")
    )
)
_HAS = (artifacts.c.owner == bindparam("owner"), artifacts.c.path == bindparam("path"))
PATH_OF = Prepared(
    select(artifacts.c.path)
    # Not BETWEEN: with the order of bytes, which a text has on PostgreSQL, that is no syntax there.
    .where(_HAS[0], artifacts.c.path >= bindparam("first"), artifacts.c.path <= bindparam("last"))
    .limit(1)
)
# Locked, so that it is not removed before this transaction ends.
HAS = Prepared(select(artifacts.c.ref).where(*_HAS).limit(1).with_for_update(read=True, key_share=True))
MOVE = Prepared(update(artifacts).where(*_HAS).values(path=bindparam("to")))
SUMMARISE = Prepared(update(artifacts).where(_OWNER, _REF).values(summary=bindparam("summary")))


def get(connection: Connection, owner: str, ref: str) -> ArtifactRow:
    row = ONE.one(connection, owner=owner, ref=ref)
    if row is None:
        raise no_artifact(ref)
    return ARTIFACTS.read(row)


def find(
    connection: Connection,
    owner: str,
    *,
    limit: int,
    before: tuple[int, str] | None = None,
    session_id: str | None = None,
    turn_id: str | None = None,
    kind: Kind | None = None,
) -> Sequence[ArtifactRow]:
    place = (artifacts.c.created_at, artifacts.c.ref)
    chosen: list[ColumnElement[bool]] = [artifacts.c.owner == owner, IS_THERE]
    if before is not None:
        chosen.append(tuple_(*place) < before)
    if turn_id is not None:
        chosen.append(artifacts.c.turn_id == turn_id)
    if kind is not None:
        chosen.append(artifacts.c.kind == kind)
    if session_id is not None:
        used = select(artifact_uses.c.ref).where(
            artifact_uses.c.session_id == session_id, artifact_uses.c.owner == owner
        )
        chosen.append(artifacts.c.ref.in_(used))
    newest = (column.desc() for column in place)
    return [
        ARTIFACTS.read(row)
        for row in connection.execute(
            select(*ARTIFACTS.columns).where(*chosen).order_by(*newest).limit(limit)
        )
    ]


def those(connection: Connection, owner: str, refs: Collection[str]) -> Mapping[str, ArtifactRow]:
    rows = (ONE.one(connection, owner=owner, ref=ref) for ref in set(refs))
    return {row.ref: row for row in map(ARTIFACTS.read, filter(None, rows))}


def used(connection: Connection, session_id: str, refs: Collection[str]) -> Mapping[str, ArtifactRow]:
    rows = (USED.one(connection, session_id=session_id, ref=ref) for ref in set(refs))
    return {row.ref: row for row in map(ARTIFACTS.read, filter(None, rows))}


def path_of(connection: Connection, owner: str, sha256: str) -> str | None:
    first, last = blob_paths(owner, sha256)
    return PATH_OF.value(connection, owner=owner, first=first, last=last)


def summarise(connection: Connection, owner: str, ref: str, summary: str) -> None:
    SUMMARISE.run(connection, owner=owner, ref=ref, summary=summary)


def add(
    connection: Connection,
    row: ArtifactRow,
    *,
    quota: int,
    tenant_quota: int | None = None,
    instead_of: str | None = None,
) -> None:
    take_blob(connection, row.owner, row.path)
    if instead_of is not None:
        suspect(connection, [instead_of], row.created_at)
        MOVE.run(connection, owner=row.owner, path=instead_of, to=row.path)
    if row.session_id is not None:
        found = SESSION.one(connection, session_id=row.session_id, owner=row.owner)
        if found is None:
            raise no_session(row.session_id)
    used = space_used(connection, row.owner).used
    more = counted(connection, row.owner, row.path, row.size)
    if used + more > quota:
        raise ArtifactsFull(
            f"Artifacts take {used} of {quota} bytes: no room is left for {row.size} more. Delete some.",
            details={"quota": quota, "used": used},
        )
    insert(connection, row)
    check_tenant(connection, row.owner, tenant_quota)
    if used < NEAR * quota <= used + more:
        told = {"limit": "artifact_quota", "used": used + more, "most": quota}
        enqueue(connection, row.owner, "limit.near", row.created_at, told)
    if row.session_id is not None:
        use(connection, row.owner, row.session_id, [row.ref])


def check_tenant(connection: Connection, owner: str, quota: int | None) -> None:
    """After artifacts of one of its users were added. Raises errors.ArtifactsFull: those of all its users
    count more than the quota."""
    if quota is not None and (used := used_by_tenant(connection, owner)) > quota:
        raise ArtifactsFull(
            f"With this the artifacts of all users of your tenant would take {used} bytes; they may take "
            f"{quota}. Delete some, or ask an operator for more room (GATEWAY_ARTIFACT_TENANT_QUOTA).",
            details={"quota": quota, "used": used},
        )


def take_blob(connection: Connection, owner: str, path: str) -> None:
    """Before an artifact of the blob is added. Raises errors.Conflict (content_removed)."""
    if not claim(connection, path) and HAS.one(connection, owner=owner, path=path) is None:
        raise Conflict(
            "The content was removed while it was stored. Store it again.",
            code="content_removed",
            retryable=True,
        )


def delete(connection: Connection, owner: str, ref: str, at: int) -> None:
    found = get(connection, owner, ref)
    check_not_held(connection, owner, ref=ref)
    end(connection, owner, ref, (found.path, found.size), at)


def insert(connection: Connection, row: ArtifactRow) -> None:
    """Adds the row alone, and to what its owner's take."""
    count_in(connection, row.owner, row.path, row.size)
    ARTIFACTS.add(connection, row)
