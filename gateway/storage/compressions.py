"""The versions of sessions' compressed histories, in SQL."""

from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import (
    Connection,
    and_,
    bindparam,
    case,
    func,
    insert,
    literal_column,
    null,
    select,
    update,
)

from gateway.errors import Conflict, NotFound
from gateway.messages import Usage
from gateway.storage.artifact_ends import SETTLE
from gateway.storage.base import GENERATION_OPEN
from gateway.storage.database import Database, Prepared
from gateway.storage.heads import OF_SESSION as HEAD_OF
from gateway.storage.records import CompressionRow
from gateway.storage.refusals import no_session
from gateway.storage.schema import compressions, heads, sessions

COLUMNS = tuple(compressions.c)
"""In the order that `version_of` takes them."""

OF_SESSION = compressions.c.session_id == bindparam("session_id")
ID = sessions.c.id == bindparam("session_id")


VERSIONS = Prepared(select(*COLUMNS).where(OF_SESSION).order_by(compressions.c.version))
ONE = Prepared(select(*COLUMNS).where(OF_SESSION, compressions.c.version == bindparam("version")))
NEWEST = Prepared(select(func.coalesce(func.max(compressions.c.version), 0)).where(OF_SESSION))
IN_FORCE = Prepared(select(sessions.c.compression).where(ID).with_for_update())
POINTER = Prepared(select(sessions.c.compression).where(ID))
FAILURES = Prepared(select(sessions.c.failed_compressions).where(ID))
_position = select(heads.c.position).where(HEAD_OF).scalar_subquery()
_open = select(heads.c.turn_id).where(HEAD_OF).scalar_subquery()
_goes_on = and_(_open.is_not(None), bindparam("by_turn") == literal_column("0"))
PUT_IN_FORCE = Prepared(
    update(sessions)
    .where(ID)
    .values(
        compression=bindparam("version"),
        generation_from=case((_goes_on, GENERATION_OPEN), else_=_position),
        prefix_hash=null(),
    )
)
FORGET_FAILURES = Prepared(update(sessions).where(ID).values(failed_compressions=0))
COUNT_FAILURE = Prepared(
    update(sessions).where(ID).values(failed_compressions=sessions.c.failed_compressions + 1)
)


class SqlCompressions:
    """The `Compressions` protocol."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def list(self, session_id: str) -> Sequence[CompressionRow]:
        """See `Compressions.list`."""
        rows = await self._database.read(
            lambda connection: VERSIONS.run(connection, session_id=session_id).fetchall(), snapshot=False
        )
        return [version_of(row) for row in rows]

    async def get(self, session_id: str, version: int) -> CompressionRow:
        """See `Compressions.get`."""
        row = await self._database.read(
            lambda connection: ONE.one(connection, session_id=session_id, version=version), snapshot=False
        )
        if row is None:
            raise _no_version(session_id, version)
        return version_of(row)

    async def in_force(self, session_id: str) -> int | None:
        """See `Compressions.in_force`."""
        row = await self._database.read(
            lambda connection: POINTER.one(connection, session_id=session_id), snapshot=False
        )
        return row[0] if row is not None else None

    async def next_version(self, session_id: str) -> int:
        """See `Compressions.next_version`."""
        row = await self._database.read(
            lambda connection: NEWEST.one(connection, session_id=session_id), snapshot=False
        )
        assert row is not None
        return int(row[0]) + 1

    async def add(self, row: CompressionRow) -> None:
        """See `Compressions.add`."""
        await self._database.write(lambda connection: add(connection, row))

    async def activate(self, session_id: str, version: int | None) -> None:
        """See `Compressions.activate`. The version that is in force already stays, and its prompt generation
        too."""
        await self._database.write(lambda connection: activate(connection, session_id, version))

    async def failed(self, session_id: str) -> int:
        """See `Compressions.failed`. 0 when the session is gone."""

        def count(connection: Connection) -> int:
            COUNT_FAILURE.run(connection, session_id=session_id)
            row = FAILURES.one(connection, session_id=session_id)
            return int(row[0]) if row is not None else 0

        return await self._database.write(count)


def add(connection: Connection, row: CompressionRow) -> None:
    session = IN_FORCE.one(connection, session_id=row.session_id)
    if session is None:
        raise no_session(row.session_id)
    if session[0] != row.parent or ONE.one(connection, session_id=row.session_id, version=row.version):
        raise Conflict(
            f"Session {row.session_id} was compressed or given another version meanwhile.",
            code="compression_conflict",
            details={"in_force": session[0], "parent": row.parent, "version": row.version},
        )
    insert_version(connection, row)
    put_in_force(connection, row.session_id, row.version, by_turn=row.trigger != "manual")
    FORGET_FAILURES.run(connection, session_id=row.session_id)


def insert_version(connection: Connection, row: CompressionRow) -> None:
    """Adds the row and changes nothing else: which version is in force stays as it is."""
    SETTLE.run(connection, path=row.archive_path)
    connection.execute(
        insert(compressions).values(
            session_id=row.session_id,
            version=row.version,
            parent=row.parent,
            from_position=row.from_position,
            to_position=row.to_position,
            kept_position=row.kept_position,
            archive_path=row.archive_path,
            archive_size=row.archive_size,
            sha256=row.sha256,
            summary=orjson.dumps(row.summary).decode(),
            source=row.source,
            model=row.model,
            prompt_digest=row.prompt_digest,
            tokens_before=row.tokens_before,
            tokens_after=row.tokens_after,
            trigger=row.trigger,
            usage=row.usage.model_dump_json() if row.usage else None,
            cost=row.cost,
            created_at=row.created_at,
        )
    )


def activate(connection: Connection, session_id: str, version: int | None) -> None:
    if version is not None and ONE.one(connection, session_id=session_id, version=version) is None:
        raise _no_version(session_id, version)
    session = IN_FORCE.one(connection, session_id=session_id)
    if session is None:
        raise no_session(session_id)
    if session[0] != version:
        put_in_force(connection, session_id, version, by_turn=False)


def put_in_force(connection: Connection, session_id: str, version: int | None, *, by_turn: bool) -> None:
    """Moves the pointer and begins a prompt generation; unless the running turn itself asked for it
    (`by_turn`), that turn goes on with the old view, and the generation stays open."""
    PUT_IN_FORCE.run(connection, session_id=session_id, version=version, by_turn=int(by_turn))


def version_of(row: Sequence[Any]) -> CompressionRow:
    """A row of COLUMNS."""
    values = list(row)
    values[9] = orjson.loads(values[9])
    values[16] = Usage.model_validate_json(values[16]) if values[16] else None
    return CompressionRow(*values)


def _no_version(session_id: str, version: int) -> NotFound:
    return NotFound(f"Session {session_id} has no version {version}.", code="version_not_found")
