"""The newest summary of each session, in SQL."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    ScalarSelect,
    and_,
    bindparam,
    delete,
    func,
    not_,
    or_,
    select,
)

from gateway.errors import NotFound
from gateway.storage.archives import SummaryRow
from gateway.storage.archives.rows import SUMMARIES
from gateway.storage.database import Prepared, Store, reads, writes
from gateway.storage.schema import heads, sessions, summaries
from gateway.storage.sessions.busy import BUSY
from gateway.storage.turns.heads import OF_SESSION as HEAD_OF

ALL = select(*SUMMARIES.columns).join_from(summaries, sessions)

_ID = bindparam("session_id")
OF_SESSION = Prepared(ALL.where(summaries.c.session_id == _ID, summaries.c.owner == bindparam("owner")))
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


def get(connection: Connection, session_id: str, owner: str) -> SummaryRow:
    row = OF_SESSION.one(connection, session_id=session_id, owner=owner)
    if row is None:
        raise NotFound(f"There is no summary of session {session_id}.", code="summary_not_found")
    return SUMMARIES.read(row)


def newest(
    connection: Connection,
    owner: str,
    *,
    project_id: str | None = None,
    role_id: str | None = None,
    limit: int,
    except_for: str | None = None,
) -> Sequence[SummaryRow]:
    wanted = ((summaries.c.project_id, project_id), (sessions.c.role_id, role_id))
    place = [column == value for column, value in wanted if value is not None]
    return _newest(connection, owner, place, limit, except_for)


def carried(
    connection: Connection, session_id: str, owner: str, *, limit: int, any_role: bool = False
) -> Sequence[SummaryRow]:
    here = sessions.alias()

    def here_in(column: ColumnElement[str]) -> ScalarSelect[Any]:
        return select(column).where(here.c.id == session_id).scalar_subquery()

    same_role = sessions.c.role_id.is_not_distinct_from(here_in(here.c.role_id))
    place = [
        summaries.c.project_id.is_not_distinct_from(here_in(here.c.project_id)),
        or_(same_role, summaries.c.project_id.is_not(None)) if any_role else same_role,
    ]
    return _newest(connection, owner, place, limit, session_id)


def due(connection: Connection, *, idle_before: int, limit: int) -> Sequence[tuple[str, str, str | None]]:
    """Those that wait longest come first."""
    return [(row[0], row[1], row[2]) for row in DUE.all(connection, idle_before=idle_before, most=limit)]


def _newest(
    connection: Connection,
    owner: str,
    place: Sequence[ColumnElement[bool]],
    limit: int,
    except_for: str | None,
) -> Sequence[SummaryRow]:
    others = () if except_for is None else (summaries.c.session_id != except_for,)
    statement = (
        ALL.where(and_(summaries.c.owner == owner, *place, *others))
        .order_by(summaries.c.created_at.desc(), summaries.c.session_id.desc())
        .limit(limit)
    )
    return [SUMMARIES.read(row) for row in connection.execute(statement)]


def save(connection: Connection, row: SummaryRow) -> None:
    """Puts the summary in place of the session's former one, unless that knows more; nothing when there is no
    such session."""
    known = KNOWN.value(connection, session_id=row.session_id)
    if known is None or known > row.to_position:
        return
    REMOVE.run(connection, session_id=row.session_id)
    SUMMARIES.add(connection, row)


class SqlSummaries(Store):
    """The `Summaries` protocol."""

    save = writes(save)
    get = reads(get, snapshot=False)
    list = reads(newest, snapshot=False)
    carried = reads(carried, snapshot=False)
    due = reads(due, snapshot=False)
