"""Retention, in SQL."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, not_, or_, select, update

from gateway.storage.database import Prepared, Store, reads, writes
from gateway.storage.holds import session_is_held, user_is_held
from gateway.storage.refusals import no_session
from gateway.storage.retention import RetainedSession, RetentionRule, SessionDays
from gateway.storage.row_codec import FLAG, Rows
from gateway.storage.schema import heads, retention_rules, session_archives, sessions
from gateway.storage.sessions.busy import BUSY
from gateway.storage.turns.heads import OF_SESSION

_s = sessions.c
RULES = Rows(RetentionRule, retention_rules, fixed=FLAG)
ALL = Prepared(select(*RULES.columns).order_by(retention_rules.c.tenant))
REMOVE = Prepared(delete(retention_rules).where(retention_rules.c.tenant == bindparam("of")))
SET = Prepared(
    update(sessions)
    .where(_s.id == bindparam("session_id"), _s.owner == bindparam("of"))
    .values(archive_days=bindparam("archive"), delete_days=bindparam("erase"))
)
_archived = (
    select(func.coalesce(func.max(session_archives.c.to_seq), 0))
    .where(session_archives.c.session_id == _s.id)
    .scalar_subquery()
)
_is_archived: ColumnElement[bool] = heads.c.head <= _archived
_is_held = or_(user_is_held(_s.owner), session_is_held(_s.id))
IDLE = Prepared(
    select(
        *(_s.id, _s.owner, _s.updated_at, _s.archive_days, _s.delete_days),
        *(_is_archived, _is_held, _s.is_temporary),
    )
    .join_from(sessions, heads, OF_SESSION)
    .where(_s.id > bindparam("after"), _s.updated_at < bindparam("before"), not_(BUSY))
    .order_by(_s.id)
    .limit(bindparam("most"))
)


def rules(connection: Connection) -> Sequence[RetentionRule]:
    return [RULES.read(row) for row in ALL.all(connection)]


def put(connection: Connection, rule: RetentionRule) -> None:
    REMOVE.run(connection, of=rule.tenant)
    RULES.add(connection, rule)


def set_session(connection: Connection, session_id: str, owner: str, days: SessionDays) -> None:
    values = {"session_id": session_id, "of": owner, "archive": days.archive, "erase": days.delete}
    if SET.run(connection, **values).rowcount != 1:
        raise no_session(session_id)


def idle(connection: Connection, *, before: int, after: str, limit: int) -> Sequence[RetainedSession]:
    found = IDLE.all(connection, before=before, after=after, most=limit)
    return [
        RetainedSession(id_, owner, used, archive, erase, bool(archived), bool(held), bool(temporary))
        for id_, owner, used, archive, erase, archived, held, temporary in found
    ]


class SqlRetention(Store):
    """The `Retention` protocol."""

    rules = reads(rules, snapshot=False)
    put = writes(put)
    idle = reads(idle, snapshot=False)
