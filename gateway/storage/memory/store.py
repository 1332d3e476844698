"""The `MemoryStore` protocol on a database that several processes use."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, Select, bindparam, func, or_, select, tuple_, update

from gateway.storage.database import Prepared
from gateway.storage.memories import (
    Change,
    Evidence,
    Filter,
    Forgotten,
    Link,
    Match,
    MemoryRow,
    MemoryType,
    MemoryVersion,
    Profile,
    ProfileKind,
    Status,
    Tombstone,
    Vector,
    Viewer,
)
from gateway.storage.memory import documents, forgotten, profiles, tombstones, writing
from gateway.storage.memory import vectors as embedded
from gateway.storage.memory.conditions import asked, seen, shelves
from gateway.storage.memory.engine import MemoryDatabase
from gateway.storage.memory.rows import COLUMNS, memory_from, memory_of, numbered
from gateway.storage.memory_schema import erasures, memories, memory_evidence, memory_links, memory_versions

MAX_HISTORY = 500
"""Versions, quotes or links of one memory that are read: the newest."""

EVERYTHING = Filter()

EVIDENCE = Prepared(
    select(memory_evidence.c.session_id, memory_evidence.c.position, memory_evidence.c.quote)
    .join(memories, memories.c.number == memory_evidence.c.memory)
    .where(
        memories.c.id == bindparam("id"),
        memory_evidence.c.user_id == bindparam("user_id"),
        memory_evidence.c.digest == memories.c.digest,
    )
    .order_by(memory_evidence.c.number.desc())
    .limit(MAX_HISTORY)
)
LINKS = Prepared(
    select(*memory_links.c)
    .where(or_(memory_links.c.from_id == bindparam("id"), memory_links.c.to_id == bindparam("id")))
    .order_by(*memory_links.c)
    .limit(MAX_HISTORY)
)
USE = Prepared(
    update(memories)
    .where(memories.c.id == bindparam("id"), memories.c.last_used < bindparam("at"))
    .values(last_used=bindparam("at"))
)
ERASURES = Prepared(select(*erasures.c).order_by(*erasures.c).limit(bindparam("limit")))

CENSUS = (
    select(memories.c.type, memories.c.status, memories.c.quarantined, func.count())
    .where(memories.c.deleted_at.is_(None))
    .group_by(memories.c.type, memories.c.status, memories.c.quarantined)
)


class SqlMemories:
    """The `MemoryStore` protocol."""

    def __init__(self, database: MemoryDatabase) -> None:
        self._database = database
        self._words = database.words

    async def write(self, changes: Sequence[Change], *, most: int) -> None:
        """See `MemoryStore.write`. Each memory is in `changes` once at most."""
        await self._database.write(lambda connection: writing.write(connection, self._words, changes, most))

    async def get(self, viewer: Viewer, *ids: str) -> Sequence[MemoryRow]:
        """See `MemoryStore.get`."""
        if not ids:
            return ()
        statement = select(*COLUMNS).where(memories.c.id.in_(ids), asked(EVERYTHING, viewer))

        def work(connection: Connection) -> Sequence[MemoryRow]:
            found = {row.id: row for row in map(memory_of, connection.execute(statement))}
            return [found[memory_id] for memory_id in dict.fromkeys(ids) if memory_id in found]

        return await self._database.read(work, snapshot=False)

    async def list(
        self,
        viewer: Viewer,
        which: Filter | None = None,
        *,
        limit: int,
        before: tuple[int, str] | None = None,
    ) -> Sequence[MemoryRow]:
        """See `MemoryStore.list`."""
        newest = tuple_(memories.c.updated_at, memories.c.id)
        page = select(memories.c.number).where(asked(which or EVERYTHING, viewer))
        if before is not None:
            page = page.where(newest < before)
        page = page.order_by(memories.c.updated_at.desc(), memories.c.id.desc()).limit(limit)
        return await self._numbered(page)

    async def weighed(
        self, viewer: Viewer, which: Filter | None = None, *, limit: int, lightest: bool = False
    ) -> Sequence[MemoryRow]:
        """See `MemoryStore.weighed`."""
        c = memories.c
        weight = (c.pinned, c.importance, c.last_used, c.number)
        order = [column.asc() if lightest else column.desc() for column in weight]
        some = select(c.number).where(asked(which or EVERYTHING, viewer)).order_by(*order).limit(limit)
        return await self._numbered(some)

    async def count(self, viewer: Viewer, which: Filter | None = None) -> tuple[int, int]:
        """See `MemoryStore.count`."""
        statement = select(func.count(), func.coalesce(func.sum(func.length(memories.c.content)), 0)).where(
            asked(which or EVERYTHING, viewer)
        )
        count, characters = await self._database.read(
            lambda connection: connection.execute(statement).one(), snapshot=False
        )
        return count, characters

    async def census(self) -> Mapping[tuple[MemoryType, Status, bool], int]:
        """See `MemoryStore.census`."""
        rows = await self._database.read(lambda connection: connection.execute(CENSUS).all(), snapshot=False)
        return {(kind, status, quarantined): count for kind, status, quarantined, count in rows}

    async def match(
        self, viewer: Viewer, words: Sequence[str], which: Filter, *, limit: int
    ) -> Sequence[Match]:
        """See `MemoryStore.match`."""

        def work(connection: Connection) -> Sequence[Match]:
            for found in self._words.found(connection, shelves(viewer, which), words):
                best = (
                    select(memories.c.number, found.c.score)
                    .join(found, found.c.number == memories.c.number)
                    .where(asked(which, viewer))
                    .order_by(found.c.score.desc(), memories.c.number.desc())
                    .limit(limit)
                )
                if scores := connection.execute(best).all():
                    rows = numbered(connection, [number for number, _ in scores])
                    return [Match(row, score) for row, (_, score) in zip(rows, scores, strict=True)]
            return ()

        return await self._database.read(work)

    async def versions(self, viewer: Viewer, memory_id: str) -> Sequence[MemoryVersion]:
        """See `MemoryStore.versions`. At most MAX_HISTORY, the newest."""
        c = memory_versions.c
        statement = (
            select(c.version, c.operation, c.actor, c.reason, c.turn_id, c.at, c.row)
            .join(memories, memories.c.number == c.memory)
            .where(memories.c.id == memory_id, seen(viewer))
            .order_by(c.version.desc())
            .limit(MAX_HISTORY)
        )

        def work(connection: Connection) -> Sequence[MemoryVersion]:
            rows = connection.execute(statement).all()
            return [
                MemoryVersion(version, operation, actor, reason, turn_id, at, memory_from(row))
                for version, operation, actor, reason, turn_id, at, row in reversed(rows)
            ]

        return await self._database.read(work, snapshot=False)

    async def evidence(self, viewer: Viewer, memory_id: str) -> Sequence[Evidence]:
        """See `MemoryStore.evidence`. At most MAX_HISTORY, the newest, the oldest of them first."""
        rows = await self._database.read(
            lambda connection: EVIDENCE.run(connection, id=memory_id, user_id=viewer.user_id).fetchall(),
            snapshot=False,
        )
        return [Evidence(*row) for row in reversed(rows)]

    async def links(self, memory_id: str) -> Sequence[Link]:
        """See `MemoryStore.links`. At most MAX_HISTORY."""
        rows = await self._database.read(
            lambda connection: LINKS.run(connection, id=memory_id).fetchall(), snapshot=False
        )
        return [Link(*row) for row in rows]

    async def use(self, ids: Sequence[str], at: int) -> None:
        """See `MemoryStore.use`."""

        def work(connection: Connection) -> None:
            for memory_id in ids:
                USE.run(connection, id=memory_id, at=at)

        await self._database.write(work)

    async def tombstones(
        self, viewer: Viewer, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[Tombstone]:
        """See `MemoryStore.tombstones`."""
        return await self._database.read(
            lambda connection: tombstones.of(connection, viewer, limit, before), snapshot=False
        )

    async def forgotten(self, viewer: Viewer, *, since: int, limit: int) -> Sequence[Forgotten]:
        """See `MemoryStore.forgotten`."""
        return await self._database.read(
            lambda connection: forgotten.of(connection, viewer, since, limit), snapshot=False
        )

    async def erase(
        self, viewer: Viewer, memory_id: str, *, owners: Collection[str] = (), version: int | None = None
    ) -> bool:
        """See `MemoryStore.erase`."""
        erased = await self._database.write(
            lambda connection: writing.erase(
                connection, self._words, viewer, memory_id, owners=owners, version=version
            )
        )
        if erased:
            await self._database.scrub()
        return erased

    async def erasures(self, *, limit: int) -> Sequence[tuple[str, str]]:
        """See `MemoryStore.erasures`."""
        rows = await self._database.read(
            lambda connection: ERASURES.run(connection, limit=limit).fetchall(), snapshot=False
        )
        return [(memory_id, owner) for memory_id, owner in rows]

    async def settle_erasure(self, memory_id: str, owner: str) -> None:
        """See `MemoryStore.settle_erasure`."""
        await self._database.write(
            lambda connection: writing.SETTLE.run(connection, memory_id=memory_id, owner=owner) and None
        )

    async def forget_session(self, user_id: str, session_id: str) -> int:
        """See `MemoryStore.forget_session`."""
        erased = await self._database.write(
            lambda connection: writing.forget_session(connection, self._words, user_id, session_id)
        )
        if erased:
            await self._database.scrub()
        return erased

    async def put_documents(self, rows: Sequence[tuple[MemoryRow, Sequence[str]]]) -> None:
        """See `MemoryStore.put_documents`. Raises errors.DuplicateMemory (`same`: id) when one has the id of
        a runtime memory."""
        await self._database.write(lambda connection: documents.put(connection, self._words, rows))

    async def vectors(self, viewer: Viewer, model: str) -> Sequence[Vector]:
        """See `MemoryStore.vectors`."""
        return await self._database.read(
            lambda connection: embedded.of(connection, viewer, model), snapshot=False
        )

    async def lacking(self, viewer: Viewer, model: str, *, limit: int) -> Sequence[MemoryRow]:
        """See `MemoryStore.lacking`."""
        return await self._database.read(
            lambda connection: embedded.lacking(connection, viewer, model, limit), snapshot=False
        )

    async def put_vectors(self, model: str, vectors: Sequence[Vector]) -> None:
        """See `MemoryStore.put_vectors`."""
        await self._database.write(lambda connection: embedded.put(connection, model, vectors))

    async def state(self) -> int:
        """See `MemoryStore.state`."""
        return self._database.state()

    async def profile(self, kind: ProfileKind, id: str) -> Profile | None:
        """See `MemoryStore.profile`."""
        return await self._database.read(
            lambda connection: profiles.get(connection, kind, id), snapshot=False
        )

    async def put_profile(self, profile: Profile) -> None:
        """See `MemoryStore.put_profile`."""
        await self._database.write(lambda connection: profiles.put(connection, profile))

    async def _numbered(self, numbers: Select[Any]) -> Sequence[MemoryRow]:
        """The memories with these numbers, in their order."""
        return await self._database.read(
            lambda connection: numbered(connection, connection.scalars(numbers).all())
        )
