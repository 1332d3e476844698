"""The audit in tables."""

from collections.abc import Sequence

from sqlalchemy import (
    ColumnElement,
    Connection,
    Text,
    and_,
    bindparam,
    delete,
    func,
    insert,
    literal_column,
    not_,
    null,
    or_,
    select,
    update,
)

from gateway.storage.audit import AuditEntry, AuditFilter, StoredEntry
from gateway.storage.database import Prepared, Store, reads, writes
from gateway.storage.holds import user_is_held
from gateway.storage.row_codec import Rows
from gateway.storage.schema import audit, audit_removals

PERSON = "person"
"""The subject of what is done to a user."""

_a = audit.c
ENTRIES = Rows(AuditEntry, audit)
ADD = Prepared(insert(audit).values({name: bindparam(name) for name in AuditEntry.__dataclass_fields__}))
_USER = bindparam("user_id")
_PERSON = and_(_a.subject_kind == literal_column("'person'", Text), _a.subject_id == _USER)
COUNT = Prepared(select(func.count()).where(or_(_a.actor == _USER, _PERSON)))
RENAME_ACTOR = Prepared(
    update(audit).where(_a.actor == _USER).values(actor=bindparam("pseudonym"), address=null(), key_id=null())
)
RENAME_SUBJECT = Prepared(update(audit).where(_PERSON).values(subject_id=bindparam("pseudonym")))
FORGET_BEFORE = Prepared(
    insert(audit_removals).values(at=bindparam("now"), removed_before=bindparam("before"))
)
OLD = Prepared(
    select(_a.number)
    .where(_a.at < bindparam("before"), not_(user_is_held(_a.actor)))
    .order_by(_a.at)
    .limit(bindparam("limit"))
)
REMOVE = Prepared(delete(audit).where(_a.number == bindparam("of")))


def add(connection: Connection, entries: Sequence[AuditEntry]) -> None:
    ADD.many(connection, map(ENTRIES.values, entries))


def list_(
    connection: Connection, tenant: str, wanted: AuditFilter, *, before: int | None, limit: int
) -> Sequence[StoredEntry]:
    chosen = [_a.tenant == tenant]
    if wanted.actor is not None:
        chosen.append(_a.actor == wanted.actor)
    if wanted.action is not None:
        chosen.append(
            _a.action == wanted.action
            if "." in wanted.action
            else or_(_a.action == wanted.action, _a.action.startswith(f"{wanted.action}.", autoescape=True))
        )
    if wanted.since is not None:
        chosen.append(_a.at >= wanted.since)
    if wanted.until is not None:
        chosen.append(_a.at < wanted.until)
    return _newest(connection, chosen, before, limit)


def about(connection: Connection, user_id: str, *, before: int | None, limit: int) -> Sequence[StoredEntry]:
    to_them = and_(_a.subject_kind == PERSON, _a.subject_id == user_id)
    return _newest(connection, [or_(_a.actor == user_id, to_them)], before, limit)


def pseudonymise(connection: Connection, user_id: str, pseudonym: str) -> int:
    values = {"user_id": user_id, "pseudonym": pseudonym}
    return RENAME_ACTOR.run(connection, **values).rowcount + RENAME_SUBJECT.run(connection, **values).rowcount


def count(connection: Connection, actor: str) -> int:
    return COUNT.value(connection, user_id=actor)


def sweep(connection: Connection, *, before: int, now: int, limit: int) -> int:
    old = OLD.all(connection, before=before, limit=limit)
    if old:
        FORGET_BEFORE.run(connection, now=now, before=before)
        REMOVE.many(connection, ({"of": number} for (number,) in old))
    return len(old)


def _newest(
    connection: Connection, chosen: Sequence[ColumnElement[bool]], before: int | None, limit: int
) -> Sequence[StoredEntry]:
    conditions = [*chosen, _a.number < before] if before is not None else chosen
    found = select(_a.number, *ENTRIES.columns).where(*conditions).order_by(_a.number.desc()).limit(limit)
    return [StoredEntry(number, ENTRIES.read(row)) for number, *row in connection.execute(found)]


class SqlAuditLog(Store):
    """The `AuditLog` protocol."""

    add = writes(add)
    list = reads(list_, snapshot=False)
    about = reads(about, snapshot=False)
    pseudonymise = writes(pseudonymise)
    count = reads(count, snapshot=False)
    sweep = writes(sweep)
