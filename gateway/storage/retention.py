"""Retention: after how many days without use sessions are archived, and deleted.

What holds for a session is decided value by value: its own, else its tenant's, else the settings'. A tenant's
that is fixed goes before a session's own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, bindparam, delete, func, not_, or_, select, update

from gateway.storage.busy_sessions import BUSY
from gateway.storage.database import Prepared, Store, query, transaction
from gateway.storage.holds import session_is_held, user_is_held
from gateway.storage.refusals import no_session
from gateway.storage.row_codec import FLAG, Rows
from gateway.storage.schema import heads, retention_rules, session_archives, sessions
from gateway.storage.turns.heads import OF_SESSION

FOR_GOOD = 0
"""In place of days: never."""


@dataclass(frozen=True, slots=True)
class RetentionRule:
    """A tenant's: days, FOR_GOOD, or None: as the settings say. While it is `fixed` sessions have none of
    their own."""

    tenant: str
    archive_days: int | None
    delete_days: int | None
    fixed: bool
    changed_by: str
    changed_at: int


class SessionDays(NamedTuple):
    """A session's own: days, FOR_GOOD, or None: its tenant's hold."""

    archive: int | None
    delete: int | None


@dataclass(frozen=True, slots=True)
class RetainedSession:
    """A session as retention looks at it: last used at `updated_at`, with its own days. `is_archived`: there
    are no rows to move; `is_held`: there is a legal hold on it, or its owner; `is_temporary`: it ends
    soon."""

    id: str
    owner: str
    updated_at: int
    archive_days: int | None
    delete_days: int | None
    is_archived: bool
    is_held: bool
    is_temporary: bool = False


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


def set_session(connection: Connection, session_id: str, owner: str, days: SessionDays) -> None:
    """Part of a transaction: a session's own days. Raises errors.NotFound (session_not_found)."""
    values = {"session_id": session_id, "of": owner, "archive": days.archive, "erase": days.delete}
    if SET.run(connection, **values).rowcount != 1:
        raise no_session(session_id)


class Retention(Store):
    """The tenants' rules, and the sessions for which they may be due."""

    @query
    def rules(self, connection: Connection) -> Sequence[RetentionRule]:
        """The rules of all tenants that have one, by tenant."""
        return [RULES.read(row) for row in ALL.all(connection)]

    @transaction
    def put(self, connection: Connection, rule: RetentionRule) -> None:
        """Stores it in place of the tenant's former one."""
        REMOVE.run(connection, of=rule.tenant)
        RULES.add(connection, rule)

    @query
    def idle(
        self, connection: Connection, *, before: int, after: str, limit: int
    ) -> Sequence[RetainedSession]:
        """Sessions without a turn in flight that were used last before that time (Unix ms), in the order of
        their ids, beginning after that one."""
        found = IDLE.all(connection, before=before, after=after, most=limit)
        return [
            RetainedSession(id_, owner, used, archive, erase, bool(archived), bool(held), bool(temporary))
            for id_, owner, used, archive, erase, archived, held, temporary in found
        ]
