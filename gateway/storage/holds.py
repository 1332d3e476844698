"""Legal holds: what a user has, or one session, stays until the hold is lifted.

The transactions that would remove something, or overwrite what stands nowhere else, look for one
(`check_not_held`), whoever asks for it: its owner, an admin, retention, an erasure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sqlalchemy import (
    ColumnElement,
    Connection,
    Text,
    and_,
    bindparam,
    delete,
    literal_column,
    or_,
    select,
    true,
)

from gateway.errors import Conflict, NotFound
from gateway.storage.database import Prepared, Store, query, transaction
from gateway.storage.refusals import no_session
from gateway.storage.row_codec import Rows
from gateway.storage.schema import artifact_uses, holds, sessions

HoldKind = Literal["user", "session"]


@dataclass(frozen=True, slots=True)
class Hold:
    """A hold on `subject_id`, a user or a session of the user `owner`, since `placed_at` (Unix ms). `reason`
    is for admins."""

    id: str
    kind: HoldKind
    subject_id: str
    owner: str
    tenant: str
    reason: str
    placed_by: str
    placed_at: int


_h = holds.c
HOLDS = Rows(Hold, holds)
_USER, _SESSION = literal_column("'user'", Text), literal_column("'session'", Text)
_ID = _h.id == bindparam("hold_id")
ONE = Prepared(select(*HOLDS.columns).where(_ID))
SAME = Prepared(select(_h.id).where(_h.kind == bindparam("kind"), _h.subject_id == bindparam("subject_id")))
LIFT = Prepared(delete(holds).where(_ID))
OWNER_OF = Prepared(select(sessions.c.owner).where(sessions.c.id == bindparam("session_id")))
_ON_USER = and_(_h.kind == _USER, _h.subject_id == bindparam("owner"))
ON_ANYTHING = Prepared(select(_h.id).where(_h.owner == bindparam("owner")).limit(1))
ON_USER = Prepared(select(_h.id).where(_ON_USER))
ON_SESSION = Prepared(
    select(_h.id).where(or_(_ON_USER, and_(_h.kind == _SESSION, _h.subject_id == bindparam("session_id"))))
)
_OF_A_SESSION = (
    select(artifact_uses.c.ref)
    .where(
        artifact_uses.c.owner == bindparam("owner"),
        artifact_uses.c.ref == bindparam("ref"),
        artifact_uses.c.session_id == _h.subject_id,
    )
    .exists()
)
ON_ARTIFACT = Prepared(select(_h.id).where(or_(_ON_USER, and_(_h.kind == _SESSION, _OF_A_SESSION))))


def user_is_held(owner: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether there is a hold on the user that a column names."""
    return select(_h.id).where(_h.kind == _USER, _h.subject_id == owner).exists()


def session_is_held(session_id: ColumnElement[str]) -> ColumnElement[bool]:
    """Whether there is a hold on the session that a column names."""
    return select(_h.id).where(_h.kind == _SESSION, _h.subject_id == session_id).exists()


def check_not_held(
    connection: Connection, owner: str, session_id: str | None = None, *, ref: str | None = None
) -> None:
    """Part of a transaction that removes or overwrites something of `owner`: of a session, an artifact, or
    neither. Raises errors.Conflict (legal_hold)."""
    if session_id is not None:
        found = ON_SESSION.one(connection, owner=owner, session_id=session_id)
    elif ref is not None:
        found = ON_ARTIFACT.one(connection, owner=owner, ref=ref)
    else:
        found = ON_USER.one(connection, owner=owner)
    if found is not None:
        raise is_held()


def is_held() -> Conflict:
    """The refusal of a removal, or of a change that would leave no trace of what was. It does not say why,
    and on what: that is for admins."""
    return Conflict(
        "This is under a legal hold: nothing of it is deleted or overwritten until an admin lifts the hold.",
        code="legal_hold",
    )


def is_anything_held(connection: Connection, owner: str) -> bool:
    """Part of a transaction: whether there is a hold on the user, or on one of their sessions."""
    return ON_ANYTHING.one(connection, owner=owner) is not None


class Holds(Store):
    """The holds that there are, and whether one is in the way."""

    @transaction
    def place(self, connection: Connection, hold: Hold) -> None:
        """Adds a hold. Raises errors.Conflict (hold_exists): there is one on this subject."""
        if SAME.one(connection, kind=hold.kind, subject_id=hold.subject_id) is not None:
            raise Conflict(
                f"There is a hold on the {hold.kind} {hold.subject_id} already.", code="hold_exists"
            )
        HOLDS.add(connection, hold)

    @query
    def owner_of(self, connection: Connection, session_id: str) -> str:
        """The user whose session it is, for an admin. Raises errors.NotFound (session_not_found)."""
        owner = OWNER_OF.value(connection, session_id=session_id)
        if owner is None:
            raise no_session(session_id)
        return owner

    @query
    def get(self, connection: Connection, hold_id: str) -> Hold:
        """The hold of that id. Raises errors.NotFound (hold_not_found)."""
        row = ONE.one(connection, hold_id=hold_id)
        if row is None:
            raise _not_found(hold_id)
        return HOLDS.read(row)

    @query
    def list(
        self, connection: Connection, *, tenant: str | None = None, owner: str | None = None
    ) -> Sequence[Hold]:
        """Those of a tenant's users, of one user, or all: the oldest first."""
        chosen = true()
        if owner is not None:
            chosen = _h.owner == owner
        elif tenant is not None:
            chosen = _h.tenant == tenant
        found = select(*HOLDS.columns).where(chosen).order_by(_h.placed_at, _h.id)
        return [HOLDS.read(row) for row in connection.execute(found)]

    @transaction
    def lift(self, connection: Connection, hold_id: str) -> None:
        """Ends it. Raises errors.NotFound (hold_not_found)."""
        if LIFT.run(connection, hold_id=hold_id).rowcount != 1:
            raise _not_found(hold_id)

    @query
    def check(self, connection: Connection, owner: str, session_id: str | None = None) -> None:
        """Raises errors.Conflict (legal_hold): there is one on the user, or on that session."""
        check_not_held(connection, owner, session_id)


def _not_found(hold_id: str) -> NotFound:
    return NotFound(f"There is no hold {hold_id}.", code="hold_not_found")
