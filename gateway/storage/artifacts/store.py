"""Artifacts of all users: their rows, which sessions use them, and what they count."""

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
from gateway.storage.artifacts import ArtifactRow, Kind, SpaceUsed, Stock, blob_paths, removal, totals, uses
from gateway.storage.artifacts.rows import ARTIFACTS
from gateway.storage.artifacts.uses import IS_OF, USED
from gateway.storage.database import Prepared, Store, query, snapshot, transaction
from gateway.storage.holds import check_not_held
from gateway.storage.orphans import claim, suspect
from gateway.storage.refusals import no_artifact, no_session
from gateway.storage.schema import artifact_uses, artifacts, sessions
from gateway.storage.webhooks.enqueue import enqueue

BATCH = 50
"""Artifacts whose time is over that go in one transaction: some 5 ms, for which every commit waits."""

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


def take_blob(connection: Connection, owner: str, path: str) -> None:
    """Before an artifact of the blob is added. Raises errors.Conflict (content_removed)."""
    if not claim(connection, path) and HAS.one(connection, owner=owner, path=path) is None:
        raise Conflict(
            "The content was removed while it was stored. Store it again.",
            code="content_removed",
            retryable=True,
        )


def check_tenant(connection: Connection, owner: str, quota: int | None) -> None:
    """After artifacts of one of its users were added. Raises errors.ArtifactsFull: those of all its users
    count more than the quota."""
    if quota is not None and (used := totals.used_by_tenant(connection, owner)) > quota:
        raise ArtifactsFull(
            f"With this the artifacts of all users of your tenant would take {used} bytes; they may take "
            f"{quota}. Delete some, or ask an operator for more room (GATEWAY_ARTIFACT_TENANT_QUOTA).",
            details={"quota": quota, "used": used},
        )


def insert(connection: Connection, row: ArtifactRow) -> None:
    """Adds the row alone, and to what its owner's take."""
    totals.count_in(connection, row.owner, row.path, row.size)
    ARTIFACTS.add(connection, row)


class Artifacts(Store):
    """The rows of artifacts, and which sessions use them. Every method raises errors.StorageError when the
    database cannot do its work, and nothing half-done is left behind."""

    @query
    def get(self, connection: Connection, owner: str, ref: str) -> ArtifactRow:
        """Raises errors.NotFound (artifact_not_found)."""
        return _row(connection, owner, ref)

    @query
    def find(
        self,
        connection: Connection,
        owner: str,
        *,
        limit: int,
        before: tuple[int, str] | None = None,
        session_id: str | None = None,
        turn_id: str | None = None,
        kind: Kind | None = None,
    ) -> Sequence[ArtifactRow]:
        """The newest first by (created_at, ref), strictly before that pair: all of the owner's, those that a
        session uses, those that a turn made, or those of a kind."""
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

    @query
    def path_of(self, connection: Connection, owner: str, sha256: str) -> str | None:
        """The blob of the owner's artifacts with that content, if there are any."""
        first, last = blob_paths(owner, sha256)
        return PATH_OF.value(connection, owner=owner, first=first, last=last)

    @snapshot
    def those(self, connection: Connection, owner: str, refs: Collection[str]) -> Mapping[str, ArtifactRow]:
        """Those of `refs` that are there."""
        rows = (ONE.one(connection, owner=owner, ref=ref) for ref in set(refs))
        return {row.ref: row for row in map(ARTIFACTS.read, filter(None, rows))}

    @snapshot
    def used(
        self, connection: Connection, session_id: str, refs: Collection[str]
    ) -> Mapping[str, ArtifactRow]:
        """Those of `refs` that the session uses, whose owner was checked before."""
        rows = (USED.one(connection, session_id=session_id, ref=ref) for ref in set(refs))
        return {row.ref: row for row in map(ARTIFACTS.read, filter(None, rows))}

    @snapshot
    def used_in(self, connection: Connection, owner: str, refs: Collection[str]) -> Mapping[str, str]:
        """The last used of the owner's sessions that use each of `refs`; without those that none uses."""
        found = ((ref, uses.NEWEST.value(connection, owner=owner, ref=ref)) for ref in set(refs))
        return {ref: session_id for ref, session_id in found if session_id is not None}

    @query
    def space_used(self, connection: Connection, owner: str) -> SpaceUsed:
        """The space of the owner's artifacts."""
        return totals.space_used(connection, owner)

    @query
    def stock(self, connection: Connection) -> Stock:
        """The totals of all users."""
        row = totals.STOCK.one(connection)
        assert row is not None
        return Stock(*row)

    async def add(
        self,
        row: ArtifactRow,
        *,
        quota: int,
        tenant_quota: int | None = None,
        instead_of: str | None = None,
    ) -> None:
        """Stores it; from then on its session, if it has one, uses it, and its blob is no orphan (see
        `Orphans`): it was a candidate, or another artifact has it. Those of its owner that have the blob
        `instead_of` have this one then, as that is damaged.

        Raises:
            errors.Conflict: (content_removed) neither was it; the blob may be gone.
            errors.ArtifactsFull: the owner's artifacts would count more than `quota` bytes, or those of all
                users of their tenant more than `tenant_quota`; details: quota, used. Content that the owner
                has already counts MIN_COUNTED.
            errors.NotFound: (session_not_found) the owner has no such session.
        """

        def work(connection: Connection) -> None:
            take_blob(connection, row.owner, row.path)
            if instead_of is not None:
                suspect(connection, [instead_of], row.created_at)
                MOVE.run(connection, owner=row.owner, path=instead_of, to=row.path)
            if row.session_id is not None:
                found = SESSION.one(connection, session_id=row.session_id, owner=row.owner)
                if found is None:
                    raise no_session(row.session_id)
            used = totals.space_used(connection, row.owner).used
            more = totals.counted(connection, row.owner, row.path, row.size)
            if used + more > quota:
                raise ArtifactsFull(
                    f"Artifacts take {used} of {quota} bytes: no room is left for {row.size} more. "
                    "Delete some.",
                    details={"quota": quota, "used": used},
                )
            insert(connection, row)
            check_tenant(connection, row.owner, tenant_quota)
            if used < NEAR * quota <= used + more:
                told = {"limit": "artifact_quota", "used": used + more, "most": quota}
                enqueue(connection, row.owner, "limit.near", row.created_at, told)
            if row.session_id is not None:
                uses.use(connection, row.owner, row.session_id, [row.ref])

        await self.database.write(work, over=totals.room_of(row.owner, tenant_quota))

    async def use(self, owner: str, session_id: str, refs: Collection[str]) -> None:
        """The session refers to these from now on, as far as they and the session are there."""
        if refs:
            await self.database.write(lambda connection: uses.use(connection, owner, session_id, refs))

    @transaction
    def summarise(self, connection: Connection, owner: str, ref: str, summary: str) -> None:
        """Stores what a model made of it; nothing happens when it is gone."""
        SUMMARISE.run(connection, owner=owner, ref=ref, summary=summary)

    @transaction
    def delete(self, connection: Connection, owner: str, ref: str, at: int) -> None:
        """Removes it, also while it is used; its blob may be an orphan. Raises errors.NotFound,
        errors.Conflict (legal_hold): its owner is held, or a session that uses it."""
        found = _row(connection, owner, ref)
        check_not_held(connection, owner, ref=ref)
        removal.end(connection, owner, ref, (found.path, found.size), at)

    async def expire(self, now: int, limit: int) -> int:
        """Of those whose time is over, at most `limit` at once: removes those that no session uses, and
        returns how many. Their blobs may be orphans; the others get another day. A reader chooses: most
        rounds find nothing, and no transaction waits."""
        due = await self.database.read(
            lambda connection: removal.DUE.all(connection, now=now, limit=limit), snapshot=False
        )
        removed = 0
        for at in range(0, len(due), BATCH):
            some = due[at : at + BATCH]
            removed += await self.database.write(
                lambda connection, some=some: removal.expire(connection, some, now)
            )
        return removed


def _row(connection: Connection, owner: str, ref: str) -> ArtifactRow:
    row = ONE.one(connection, owner=owner, ref=ref)
    if row is None:
        raise no_artifact(ref)
    return ARTIFACTS.read(row)
