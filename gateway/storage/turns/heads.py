"""The narrow row of a session that fences its writers: begun, handed on and suspended here, moved by appends.

A change of the turn's lease holder raises `epoch`: one comparison of head, turn and epoch refuses all others.
"""

from sqlalchemy import Connection, and_, bindparam, exists, insert, null, or_, select, update

from gateway.storage.database import Prepared
from gateway.storage.schema import heads, sessions

_SESSION = heads.c.session_id == bindparam("session_id")
_TURN = and_(_SESSION, heads.c.turn_id == bindparam("turn_id"))

OF_SESSION = heads.c.session_id == sessions.c.id
"""Joins a session with its head."""

ADD = Prepared(
    insert(heads).values(
        session_id=bindparam("session_id"), head=bindparam("head"), position=bindparam("position"), epoch=0
    )
)
# The row of a deleted session may be there for a moment longer (storage/sessions/purges.py).
HEAD = Prepared(
    select(heads.c.head, heads.c.turn_id, heads.c.parked_until, heads.c.replica, sessions.c.owner)
    .join_from(heads, sessions, OF_SESSION)
    .where(_SESSION)
    .with_for_update(of=heads)
)
BEGIN = Prepared(
    update(heads)
    .where(_SESSION, heads.c.turn_id.is_(None))
    .values(turn_id=bindparam("turn_id"), epoch=heads.c.epoch + 1, replica=bindparam("replica"))
)
_IS_FREE = or_(heads.c.replica.is_(None), heads.c.replica == bindparam("replica"))
_TO_REPLICA = {"epoch": heads.c.epoch + 1, "replica": bindparam("replica")}
TAKE = Prepared(update(heads).where(_TURN, heads.c.parked_until.is_(None), _IS_FREE).values(_TO_REPLICA))
TAKE_ORPHAN = Prepared(update(heads).where(_TURN, heads.c.parked_until.is_(None)).values(_TO_REPLICA))
WAKE = Prepared(
    update(heads)
    .where(_TURN, heads.c.parked_until.is_not(None))
    .values(epoch=heads.c.epoch + 1, replica=bindparam("replica"), parked_until=null())
)
PARK = Prepared(
    update(heads)
    .where(_TURN, heads.c.epoch == bindparam("epoch"), heads.c.parked_until.is_(None))
    .values(epoch=heads.c.epoch + 1, replica=null(), parked_until=bindparam("until"))
)
MOVE = Prepared(update(heads).where(_SESSION).values(head=bindparam("head")))
HAS_OWNER = and_(heads.c.turn_id.is_not(None), heads.c.parked_until.is_(None))
"""The open turn is not suspended: some replica has it, or has handed it over."""
OWNED = Prepared(select(heads.c.session_id, heads.c.turn_id, heads.c.epoch).where(HAS_OWNER))
SKIP = Prepared(
    update(heads)
    .where(_TURN, heads.c.epoch == bindparam("epoch"), heads.c.head < bindparam("skipped"))
    .values(head=bindparam("skipped"))
)
# As SKIP, where the head of the session that was made then has no owner.
SKIP_FREE = Prepared(
    update(heads)
    .where(_SESSION, or_(heads.c.turn_id.is_(None), heads.c.parked_until.is_not(None)))
    .where(heads.c.head < bindparam("skipped"))
    .where(exists().where(OF_SESSION, sessions.c.created_at == bindparam("made_at")))
    .values(head=bindparam("skipped"))
)
IS_OWNER = Prepared(select(heads.c.head).where(_TURN, heads.c.epoch == bindparam("epoch")))


def add_head(connection: Connection, session_id: str, *, head: int = 0, position: int = 0) -> None:
    """The row of a new session; `head` and `position` are those of what comes with it."""
    ADD.run(connection, session_id=session_id, head=head, position=position)


def begin_turn(connection: Connection, session_id: str, turn_id: str, replica: str) -> None:
    """The turn is the session's open one from now on, and `replica` its lease holder. Nothing else may be
    open."""
    moved = BEGIN.run(connection, session_id=session_id, turn_id=turn_id, replica=replica).rowcount
    assert moved == 1


def take_turn(connection: Connection, session_id: str, turn_id: str, replica: str) -> bool:
    """Gives a running turn that is this replica's, or has no lease holder, a new epoch; False when it is
    over, suspended or another replica's."""
    taken = TAKE.run(connection, session_id=session_id, turn_id=turn_id, replica=replica).rowcount
    return taken == 1


def orphan_taken(connection: Connection, session_id: str, turn_id: str, replica: str) -> bool:
    """Gives a running turn a new lease holder in place of any other; False when it is over or suspended."""
    taken = TAKE_ORPHAN.run(connection, session_id=session_id, turn_id=turn_id, replica=replica).rowcount
    return taken == 1


def wake_turn(connection: Connection, session_id: str, turn_id: str, replica: str) -> bool:
    """Gives a suspended turn a lease holder; False when it is not suspended."""
    woken = WAKE.run(connection, session_id=session_id, turn_id=turn_id, replica=replica).rowcount
    return woken == 1


def park_turn(connection: Connection, session_id: str, turn_id: str, epoch: int, until: int) -> bool:
    """Suspends a turn of `epoch` until then; False when it has another epoch."""
    parked = PARK.run(connection, session_id=session_id, turn_id=turn_id, epoch=epoch, until=until).rowcount
    return parked == 1
