"""The audit: who did what, when, from where, with which result; no content.

Entries are added, never changed. Triggers in the database refuse any other statement than these two: the
removal of what is older than a time that was written down before (`audit_removals`), and the pseudonym that
takes the place of a person who is erased.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

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

from gateway.storage.database import Prepared, Store, query, transaction
from gateway.storage.holds import user_is_held
from gateway.storage.row_codec import Rows
from gateway.storage.schema import audit, audit_removals

ERASED = "erased:"
"""What a pseudonym begins with. No user's id has a colon."""


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """One thing that was done or refused `at` a time (Unix ms). `actor` is the user's id, `cli:<user of the
    system>`, or None: nobody knows who. `subject_kind` and `subject_id` name what it was done to. `result` is
    done, `refused:<code>` or `failed:<code>`. `times` counts equal refusals that came soon after another, or
    what ended with somebody's access."""

    at: int
    tenant: str
    actor: str | None
    key_id: str | None
    address: str | None
    action: str
    subject_kind: str | None
    subject_id: str | None
    result: str
    request_id: str | None
    times: int = 1


class StoredEntry(NamedTuple):
    """An entry, and its number: the order in which they were added."""

    number: int
    entry: AuditEntry


class AuditFilter(NamedTuple):
    """What a reader wants; None: any. `since` and `until` are Unix ms, the latter not included; `action` is a
    whole one, or the subject of several (`session` for `session.delete` and all others)."""

    actor: str | None = None
    action: str | None = None
    since: int | None = None
    until: int | None = None


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


def _newest(
    connection: Connection, chosen: Sequence[ColumnElement[bool]], before: int | None, limit: int
) -> Sequence[StoredEntry]:
    conditions = [*chosen, _a.number < before] if before is not None else chosen
    found = select(_a.number, *ENTRIES.columns).where(*conditions).order_by(_a.number.desc()).limit(limit)
    return [StoredEntry(number, ENTRIES.read(row)) for number, *row in connection.execute(found)]


class AuditLog(Store):
    """The entries that were added, the newest first."""

    @transaction
    def add(self, connection: Connection, entries: Sequence[AuditEntry]) -> None:
        """Adds them, all or none."""
        ADD.many(connection, map(ENTRIES.values, entries))

    @query
    def list(
        self, connection: Connection, tenant: str, wanted: AuditFilter, *, before: int | None, limit: int
    ) -> Sequence[StoredEntry]:
        """The newest first, those with a number below `before`."""
        chosen = [_a.tenant == tenant]
        if wanted.actor is not None:
            chosen.append(_a.actor == wanted.actor)
        if wanted.action is not None:
            chosen.append(
                _a.action == wanted.action
                if "." in wanted.action
                else or_(
                    _a.action == wanted.action, _a.action.startswith(f"{wanted.action}.", autoescape=True)
                )
            )
        if wanted.since is not None:
            chosen.append(_a.at >= wanted.since)
        if wanted.until is not None:
            chosen.append(_a.at < wanted.until)
        return _newest(connection, chosen, before, limit)

    @query
    def about(
        self, connection: Connection, user_id: str, *, before: int | None, limit: int
    ) -> Sequence[StoredEntry]:
        """What that user did, and what was done to them as a person, as `list`."""
        to_them = and_(_a.subject_kind == PERSON, _a.subject_id == user_id)
        return _newest(connection, [or_(_a.actor == user_id, to_them)], before, limit)

    @transaction
    def pseudonymise(self, connection: Connection, user_id: str, pseudonym: str) -> int:
        """Puts `pseudonym` in the place of a user, without address and key; returns in how many entries."""
        values = {"user_id": user_id, "pseudonym": pseudonym}
        return (
            RENAME_ACTOR.run(connection, **values).rowcount
            + RENAME_SUBJECT.run(connection, **values).rowcount
        )

    @query
    def count(self, connection: Connection, actor: str) -> int:
        """How many entries there are of what somebody did, or was done to them as a person."""
        return COUNT.value(connection, user_id=actor)

    @transaction
    def sweep(self, connection: Connection, *, before: int, now: int, limit: int) -> int:
        """Removes at most `limit` entries older than `before` (Unix ms), but those of users that are held;
        returns how many."""
        old = OLD.all(connection, before=before, limit=limit)
        if old:
            FORGET_BEFORE.run(connection, now=now, before=before)
            REMOVE.many(connection, ({"of": number} for (number,) in old))
        return len(old)
