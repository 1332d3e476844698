"""Artifacts, the sessions that use them, and blobs in doubt, in SQL."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import (
    ColumnElement,
    Connection,
    bindparam,
    exists,
    insert,
    or_,
    select,
    tuple_,
    update,
)

from gateway.errors import ArtifactsFull, NotFound
from gateway.storage.archives import NAMED
from gateway.storage.artifact_ends import DUE, SETTLE, doubt, end, expire
from gateway.storage.artifact_totals import count_in, counted, room, stock
from gateway.storage.artifact_uses import IS_OF, rows_used, use
from gateway.storage.artifacts import ArtifactRow, Chunk, Room, Stock
from gateway.storage.database import Database, Prepared
from gateway.storage.refusals import no_session
from gateway.storage.schema import artifact_uses, artifacts, doubtful_blobs, sessions

COLUMNS = tuple(artifacts.c.keys())

BATCH = 50
"""Artifacts whose time is over that go in one transaction: some 5 ms, for which every commit waits."""

_OWNER = artifacts.c.owner == bindparam("owner")
_REF = artifacts.c.ref == bindparam("ref")
# With a session go the artifacts that are its alone: nobody finds them any more while their rows are removed.
_used = exists().where(IS_OF, sessions.c.id == artifact_uses.c.session_id)
IS_THERE = or_(
    artifacts.c.session_id.is_(None), exists().where(sessions.c.id == artifacts.c.session_id), _used
)

ADD = Prepared(insert(artifacts).values({column.name: bindparam(column.name) for column in artifacts.c}))
ONE = Prepared(select(*artifacts.c).where(_OWNER, _REF, IS_THERE))
NEEDED = Prepared(select(artifacts.c.ref).where(artifacts.c.path == bindparam("path")).limit(1))
SESSION = Prepared(
    select(sessions.c.id).where(
        sessions.c.id == bindparam("session_id"), sessions.c.owner == bindparam("owner")
    )
)
SUMMARISE = Prepared(update(artifacts).where(_OWNER, _REF).values(summary=bindparam("summary")))
DOUBTED = Prepared(
    select(doubtful_blobs.c.path)
    .where(doubtful_blobs.c.since < bindparam("before"))
    .order_by(doubtful_blobs.c.since, doubtful_blobs.c.path)
    .limit(bindparam("limit"))
)


class SqlArtifacts:
    """The `Artifacts` protocol."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def doubt(self, path: str, at: int) -> None:
        """See `Artifacts.doubt`."""
        await self._database.write(lambda connection: doubt(connection, path, at))

    async def add(self, row: ArtifactRow, *, quota: int) -> None:
        """See `Artifacts.add`."""
        await self._database.write(lambda connection: add(connection, row, quota))

    async def get(self, owner: str, ref: str) -> ArtifactRow:
        """See `Artifacts.get`."""
        row = await self._database.read(
            lambda connection: ONE.one(connection, owner=owner, ref=ref), snapshot=False
        )
        if row is None:
            raise _no_artifact(ref)
        return artifact_of(row)

    async def find(
        self,
        owner: str,
        *,
        limit: int,
        before: tuple[int, str] | None = None,
        session_id: str | None = None,
        turn_id: str | None = None,
    ) -> Sequence[ArtifactRow]:
        """See `Artifacts.find`."""
        place = (artifacts.c.created_at, artifacts.c.ref)
        chosen: list[ColumnElement[bool]] = [artifacts.c.owner == owner, IS_THERE]
        if before is not None:
            chosen.append(tuple_(*place) < before)
        if turn_id is not None:
            chosen.append(artifacts.c.turn_id == turn_id)
        if session_id is not None:
            used = select(artifact_uses.c.ref).where(
                artifact_uses.c.session_id == session_id, artifact_uses.c.owner == owner
            )
            chosen.append(artifacts.c.ref.in_(used))
        statement = (
            select(*artifacts.c).where(*chosen).order_by(*(column.desc() for column in place)).limit(limit)
        )
        rows = await self._database.read(
            lambda connection: connection.execute(statement).all(), snapshot=False
        )
        return [artifact_of(row) for row in rows]

    async def those(self, owner: str, refs: Collection[str]) -> Mapping[str, ArtifactRow]:
        """See `Artifacts.those`."""

        def found(connection: Connection) -> list[tuple[Any, ...]]:
            rows = (ONE.one(connection, owner=owner, ref=ref) for ref in set(refs))
            return [row for row in rows if row is not None]

        rows = await self._database.read(found)
        return {row.ref: row for row in map(artifact_of, rows)}

    async def used(self, session_id: str, refs: Collection[str]) -> Mapping[str, ArtifactRow]:
        """See `Artifacts.used`."""
        rows = await self._database.read(lambda connection: rows_used(connection, session_id, refs))
        return {row.ref: row for row in map(artifact_of, rows)}

    async def use(self, owner: str, session_id: str, refs: Collection[str]) -> None:
        """See `Artifacts.use`."""
        if refs:
            await self._database.write(lambda connection: use(connection, owner, session_id, refs))

    async def summarise(self, owner: str, ref: str, summary: str) -> None:
        """See `Artifacts.summarise`."""
        await self._database.write(
            lambda connection: SUMMARISE.run(connection, owner=owner, ref=ref, summary=summary) and None
        )

    async def delete(self, owner: str, ref: str, at: int) -> None:
        """See `Artifacts.delete`."""
        await self._database.write(lambda connection: remove(connection, owner, ref, at))

    async def expire(self, now: int, limit: int) -> int:
        """See `Artifacts.expire`. A reader chooses: most rounds find nothing, and no transaction waits."""
        due = await self._database.read(
            lambda connection: DUE.run(connection, now=now, limit=limit).fetchall(), snapshot=False
        )
        if not due:
            return 0
        removed = 0
        for at in range(0, len(due), BATCH):
            some = due[at : at + BATCH]
            removed += await self._database.write(lambda connection, some=some: expire(connection, some, now))
        return removed

    async def doubted(self, before: int, limit: int) -> Sequence[str]:
        """See `Artifacts.doubted`."""
        rows = await self._database.read(
            lambda connection: DOUBTED.run(connection, before=before, limit=limit).fetchall(), snapshot=False
        )
        return [path for (path,) in rows]

    async def is_needed(self, path: str) -> bool:
        """See `Artifacts.is_needed`. The writer tells: what is on its way there is there first."""

        def work(connection: Connection) -> bool:
            return any(each.one(connection, path=path) is not None for each in (NEEDED, NAMED))

        return await self._database.write(work)

    async def settle(self, path: str) -> None:
        """See `Artifacts.settle`."""
        await self._database.write(lambda connection: SETTLE.run(connection, path=path) and None)

    async def room(self, owner: str) -> Room:
        """See `Artifacts.room`."""
        return await self._database.read(lambda connection: room(connection, owner), snapshot=False)

    async def stock(self) -> Stock:
        """See `Artifacts.stock`."""
        return await self._database.read(stock, snapshot=False)


def add(connection: Connection, row: ArtifactRow, quota: int) -> None:
    """What `Artifacts.add` does, as a part of a transaction."""
    if row.session_id is not None:
        found = SESSION.one(connection, session_id=row.session_id, owner=row.owner)
        if found is None:
            raise no_session(row.session_id)
    used = room(connection, row.owner).used
    if used + counted(connection, row.owner, row.path, row.size) > quota:
        raise ArtifactsFull(
            f"Artifacts take {used} of {quota} bytes: no room is left for {row.size} more. Delete some.",
            details={"quota": quota, "used": used},
        )
    insert_artifact(connection, _columns_of(row))
    if row.session_id is not None:
        use(connection, row.owner, row.session_id, [row.ref])
    SETTLE.run(connection, path=row.path)


def remove(connection: Connection, owner: str, ref: str, at: int) -> None:
    """What `Artifacts.delete` does, as a part of a transaction."""
    row = ONE.one(connection, owner=owner, ref=ref)
    if row is None:
        raise _no_artifact(ref)
    found = artifact_of(row)
    end(connection, owner, ref, (found.path, found.size), at)


def insert_artifact(connection: Connection, columns: Mapping[str, Any]) -> None:
    """Adds the row alone, and to what its owner's take."""
    count_in(connection, columns["owner"], columns["path"], columns["size"])
    ADD.run(connection, **columns)


def artifact_of(row: Sequence[Any]) -> ArtifactRow:
    """A row of the table, in the order of its columns."""
    named: dict[str, Any] = dict(zip(COLUMNS, row, strict=True))
    named["chunks"] = tuple(Chunk(*each) for each in orjson.loads(named["chunks"]))
    named["metadata"] = orjson.loads(named["metadata"])
    return ArtifactRow(**named)


def _columns_of(row: ArtifactRow) -> dict[str, Any]:
    columns = {name: getattr(row, name) for name in COLUMNS}
    return columns | {
        "chunks": _json([[*each] for each in row.chunks]),
        "metadata": _json(dict(row.metadata)),
    }


def _json(value: object) -> str:
    return orjson.dumps(value).decode()


def _no_artifact(ref: str) -> NotFound:
    return NotFound(f"There is no artifact {ref}.", code="artifact_not_found")
