"""The newest summary of each session."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    ScalarSelect,
    bindparam,
    delete,
    exists,
    func,
    not_,
    or_,
    select,
)

from gateway.errors import NotFound
from gateway.storage.archives import SummaryRow
from gateway.storage.archives.rows import SUMMARIES
from gateway.storage.busy_sessions import BUSY
from gateway.storage.database import Prepared, Store, query, transaction
from gateway.storage.schema import heads, sessions, summaries
from gateway.storage.turns.heads import OF_SESSION as HEAD_OF

ALL = select(*SUMMARIES.columns).join_from(summaries, sessions)
_here = sessions.alias()
_ID = bindparam("session_id")
_NEWEST_FIRST = (summaries.c.created_at.desc(), summaries.c.session_id.desc())


def _of_this_session(column: ColumnElement[str | None]) -> ScalarSelect[Any]:
    return select(column).where(_here.c.id == _ID).scalar_subquery()


def _carried(*, any_role: bool) -> Prepared:
    """The newest summaries of other sessions of its project and role. Each new session asks for them: SQL is
    not made of a statement anew."""
    same_role = sessions.c.role_id.is_not_distinct_from(_of_this_session(_here.c.role_id))
    statement = ALL.where(
        summaries.c.owner == bindparam("owner"),
        summaries.c.session_id != _ID,
        sessions.c.is_temporary.is_not(True),
        summaries.c.project_id.is_not_distinct_from(_of_this_session(_here.c.project_id)),
        or_(same_role, summaries.c.project_id.is_not(None)) if any_role else same_role,
    )
    return Prepared(statement.order_by(*_NEWEST_FIRST).limit(bindparam("most")))


OF_SESSION = Prepared(ALL.where(summaries.c.session_id == _ID, summaries.c.owner == bindparam("owner")))
ANY = Prepared(select(exists().where(summaries.c.owner == bindparam("owner"))))
REMOVE = Prepared(delete(summaries).where(summaries.c.session_id == _ID))
KNOWN = Prepared(
    select(func.coalesce(summaries.c.to_position, 0))
    .select_from(sessions)
    .outerjoin(summaries, summaries.c.session_id == sessions.c.id)
    .where(sessions.c.id == _ID)
)

CARRIED = _carried(any_role=False)
CARRIED_OF_ANY_ROLE = _carried(any_role=True)
DUE = Prepared(
    select(sessions.c.id, sessions.c.owner, sessions.c.project_id)
    .join(summaries, summaries.c.session_id == sessions.c.id, isouter=True)
    .join(heads, HEAD_OF)
    .where(
        sessions.c.updated_at < bindparam("idle_before"),
        heads.c.position > func.coalesce(summaries.c.to_position, 0),
        sessions.c.is_temporary.is_not(True),
        not_(BUSY),
    )
    .order_by(sessions.c.updated_at)
    .limit(bindparam("most"))
)


def has_any(connection: Connection, owner: str) -> bool:
    """Whether the owner has a summary of any session."""
    return bool(ANY.value(connection, owner=owner))


def save(connection: Connection, row: SummaryRow) -> None:
    """Part of a transaction: see `Summaries.save`."""
    known = KNOWN.value(connection, session_id=row.session_id)
    if known is None or known > row.to_position:
        return
    REMOVE.run(connection, session_id=row.session_id)
    SUMMARIES.add(connection, row)


class Summaries(Store):
    """The newest summary of each session."""

    @transaction
    def save(self, connection: Connection, row: SummaryRow) -> None:
        """Replaces the session's summary, unless that knows more messages. Nothing happens when the session
        is gone."""
        save(connection, row)

    @query
    def get(self, connection: Connection, session_id: str, owner: str) -> SummaryRow:
        """Raises errors.NotFound (code summary_not_found)."""
        row = OF_SESSION.one(connection, session_id=session_id, owner=owner)
        if row is None:
            raise NotFound(f"There is no summary of session {session_id}.", code="summary_not_found")
        return SUMMARIES.read(row)

    @query
    def list(
        self,
        connection: Connection,
        owner: str,
        *,
        project_id: str | None = None,
        role_id: str | None = None,
        limit: int,
        except_for: str | None = None,
    ) -> Sequence[SummaryRow]:
        """The owner's newest summaries, newest first; only of sessions in that project and in that role, as
        far as they are given. `except_for` is a session that is left out."""
        wanted = ((summaries.c.project_id, project_id), (sessions.c.role_id, role_id))
        place = [column == value for column, value in wanted if value is not None]
        others = () if except_for is None else (summaries.c.session_id != except_for,)
        statement = ALL.where(summaries.c.owner == owner, *place, *others).order_by(*_NEWEST_FIRST)
        return [SUMMARIES.read(row) for row in connection.execute(statement.limit(limit))]

    @query
    def carried(
        self, connection: Connection, session_id: str, owner: str, *, limit: int, any_role: bool = False
    ) -> Sequence[SummaryRow]:
        """What a new session is shown: the newest summaries of the owner's other sessions of exactly its
        project and its role (or, like it, of none); within a project with `any_role` of every role. Costs
        nothing while no summary was ever made."""
        statement = CARRIED_OF_ANY_ROLE if any_role else CARRIED
        return [
            SUMMARIES.read(row)
            for row in statement.all(connection, session_id=session_id, owner=owner, most=limit)
        ]

    @query
    def due(
        self, connection: Connection, *, idle_before: int, limit: int
    ) -> Sequence[tuple[str, str, str | None]]:
        """Sessions (id, owner, project) without a turn in flight whose last use was before that time and
        which have messages that their summary, if any, does not know: those that wait longest come first."""
        return [(row[0], row[1], row[2]) for row in DUE.all(connection, idle_before=idle_before, most=limit)]
