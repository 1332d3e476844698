"""The newest summary of each session, in SQL."""

from collections.abc import Sequence
from typing import Any

import orjson
from sqlalchemy import (
    ColumnElement,
    Connection,
    ScalarSelect,
    and_,
    bindparam,
    delete,
    func,
    insert,
    not_,
    select,
)

from gateway.errors import NotFound
from gateway.messages import Usage
from gateway.storage.busy import BUSY
from gateway.storage.database import Database, Prepared
from gateway.storage.heads import OF_SESSION as HEAD_OF
from gateway.storage.records import SummaryRow
from gateway.storage.schema import heads, sessions, summaries

SUMMARIES = select(*summaries.c, sessions.c.title).join_from(summaries, sessions)
"""In the order that `summary_of` takes them."""

_ID = bindparam("session_id")
ANY = Prepared(select(summaries.c.session_id).limit(1))
OF_SESSION = Prepared(SUMMARIES.where(summaries.c.session_id == _ID, summaries.c.owner == bindparam("owner")))
REMOVE = Prepared(delete(summaries).where(summaries.c.session_id == _ID))
KNOWN = Prepared(
    select(func.coalesce(summaries.c.to_position, 0))
    .select_from(sessions)
    .outerjoin(summaries, summaries.c.session_id == sessions.c.id)
    .where(sessions.c.id == _ID)
)

DUE = Prepared(
    select(sessions.c.id, sessions.c.owner, sessions.c.project_id)
    .join(summaries, summaries.c.session_id == sessions.c.id, isouter=True)
    .join(heads, HEAD_OF)
    .where(
        sessions.c.updated_at < bindparam("idle_before"),
        heads.c.position > func.coalesce(summaries.c.to_position, 0),
        not_(BUSY),
    )
    .order_by(sessions.c.updated_at)
    .limit(bindparam("most"))
)


class SqlSummaries:
    """The `Summaries` protocol."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._any: bool | None = None  # whether a summary was ever made; None: not asked yet

    async def save(self, row: SummaryRow) -> None:
        """See `Summaries.save`."""
        self.noticed()
        await self._database.write(lambda connection: save(connection, row))

    def noticed(self) -> None:
        """A summary was saved by another way than `save`."""
        self._any = True

    async def get(self, session_id: str, owner: str) -> SummaryRow:
        """See `Summaries.get`."""
        row = await self._database.read(
            lambda connection: OF_SESSION.one(connection, session_id=session_id, owner=owner), snapshot=False
        )
        if row is None:
            raise NotFound(f"There is no summary of session {session_id}.", code="summary_not_found")
        return summary_of(row)

    async def list(
        self,
        owner: str,
        *,
        project_id: str | None = None,
        role_id: str | None = None,
        limit: int,
        except_for: str | None = None,
    ) -> Sequence[SummaryRow]:
        """See `Summaries.list`."""
        place: list[ColumnElement[bool]] = []
        if project_id is not None:
            place.append(summaries.c.project_id == project_id)
        if role_id is not None:
            place.append(sessions.c.role_id == role_id)
        return await self._newest(owner, place, limit, except_for)

    async def carried(self, session_id: str, owner: str, *, limit: int) -> Sequence[SummaryRow]:
        """See `Summaries.carried`."""
        if self._any is None:
            found = await self._database.read(ANY.one, snapshot=False)
            self._any = self._any or found is not None  # one may have been saved meanwhile
        if not self._any:
            return ()
        here = sessions.alias()

        def here_in(column: ColumnElement[str]) -> ScalarSelect[Any]:
            return select(column).where(here.c.id == session_id).scalar_subquery()

        place = (
            summaries.c.project_id.is_not_distinct_from(here_in(here.c.project_id)),
            sessions.c.role_id.is_not_distinct_from(here_in(here.c.role_id)),
        )
        return await self._newest(owner, place, limit, session_id)

    async def due(self, *, idle_before: int, limit: int) -> Sequence[tuple[str, str, str | None]]:
        """See `Summaries.due`. Those that wait longest come first."""
        rows = await self._database.read(
            lambda connection: DUE.run(connection, idle_before=idle_before, most=limit).fetchall(),
            snapshot=False,
        )
        return [(row[0], row[1], row[2]) for row in rows]

    async def _newest(
        self, owner: str, place: Sequence[ColumnElement[bool]], limit: int, except_for: str | None
    ) -> Sequence[SummaryRow]:
        others = () if except_for is None else (summaries.c.session_id != except_for,)
        statement = (
            SUMMARIES.where(and_(summaries.c.owner == owner, *place, *others))
            .order_by(summaries.c.created_at.desc(), summaries.c.session_id.desc())
            .limit(limit)
        )
        return await self._database.read(
            lambda connection: [summary_of(row) for row in connection.execute(statement)], snapshot=False
        )


def save(connection: Connection, row: SummaryRow) -> None:
    """Puts the summary in place of the session's former one, unless that knows more; nothing when there is no
    such session."""
    known = KNOWN.one(connection, session_id=row.session_id)
    if known is None or known[0] > row.to_position:
        return
    REMOVE.run(connection, session_id=row.session_id)
    connection.execute(
        insert(summaries).values(
            session_id=row.session_id,
            owner=row.owner,
            project_id=row.project_id,
            to_position=row.to_position,
            summary=orjson.dumps(row.summary).decode(),
            trigger=row.trigger,
            model=row.model,
            prompt_digest=row.prompt_digest,
            usage=row.usage.model_dump_json() if row.usage else None,
            cost=row.cost,
            created_at=row.created_at,
        )
    )


def summary_of(row: Sequence[Any]) -> SummaryRow:
    """A row of SUMMARIES."""
    session_id, owner, project_id, to_position, summary, trigger, model, digest, usage, cost, at, title = row
    return SummaryRow(
        session_id,
        owner,
        project_id,
        to_position,
        orjson.loads(summary),
        trigger,
        model,
        digest,
        Usage.model_validate_json(usage) if usage else None,
        cost,
        at,
        title,
    )
