"""Which replica runs which turn, in SQL of every engine."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from sqlalchemy import Connection, bindparam, null, or_, select, true, update

from gateway.storage.database import Prepared
from gateway.storage.replicas import Beat
from gateway.storage.schema import WAITING, heads, outbox, turns
from gateway.storage.turns import Accepted, OwnedTurn
from gateway.storage.turns.beginning import COUNT_RECOVERY
from gateway.storage.turns.heads import HAS_OWNER, orphan_taken
from gateway.storage.turns.rows import accepted_of, count_waiting

MAX_SESSIONS = 200
"""Sessions of one kind that a beat names; others come with the next."""

_MINE = heads.c.replica == bindparam("replica")

ORPHANS_OF_ALL_OTHERS = Prepared(
    select(heads.c.session_id, heads.c.turn_id, heads.c.replica)
    .where(HAS_OWNER, or_(heads.c.replica.is_(None), heads.c.replica != bindparam("replica")))
    .limit(bindparam("slots"))
)
OWNED = Prepared(select(heads.c.session_id, heads.c.turn_id, heads.c.epoch).where(HAS_OWNER, _MINE))
CANCELLED = Prepared(
    select(turns.c.id)
    .join_from(heads, turns, turns.c.id == heads.c.turn_id)
    .where(HAS_OWNER, _MINE, turns.c.cancel_requested == true())
)
IDLE_WITH_WAITING = Prepared(
    select(turns.c.session_id)
    .join_from(turns, heads, heads.c.session_id == turns.c.session_id)
    .where(turns.c.status == WAITING, heads.c.turn_id.is_(None))
    .distinct()
    .limit(MAX_SESSIONS)
)
IDLE_WITH_OUTBOX = Prepared(
    select(outbox.c.session_id)
    .join_from(outbox, heads, heads.c.session_id == outbox.c.session_id)
    .where(or_(heads.c.turn_id.is_(None), heads.c.parked_until.is_not(None)))
    .distinct()
    .limit(MAX_SESSIONS)
)
RELEASE = Prepared(
    update(heads)
    .where(
        heads.c.session_id == bindparam("session_id"),
        heads.c.turn_id == bindparam("turn_id"),
        heads.c.epoch == bindparam("epoch"),
        heads.c.parked_until.is_(None),
    )
    .values(replica=null())
)
RELEASE_ALL = Prepared(update(heads).where(HAS_OWNER, _MINE).values(replica=null()))


def take_orphans(
    connection: Connection, found: Iterable[tuple[str, str, str | None]], replica: str
) -> list[Accepted]:
    """Takes turns over, each given as its session, its id and the replica that had it (None: it was
    released)."""
    taken: list[Accepted] = []
    for session_id, turn_id, former in found:
        if orphan_taken(connection, session_id, turn_id, replica):
            if former is not None:
                COUNT_RECOVERY.run(connection, turn_id=turn_id)
            taken.append(replace(accepted_of(connection, turn_id), recovered=former is not None))
    return taken


def look(connection: Connection, replica: str, taken: Sequence[Accepted] = ()) -> Beat:
    """What there is to do for a replica."""
    return Beat(
        taken,
        [OwnedTurn(*row) for row in OWNED.all(connection, replica=replica)],
        [turn_id for (turn_id,) in CANCELLED.all(connection, replica=replica)],
        [session_id for (session_id,) in IDLE_WITH_WAITING.all(connection)],
        [session_id for (session_id,) in IDLE_WITH_OUTBOX.all(connection)],
        count_waiting(connection),
    )


def release(connection: Connection, turn: OwnedTurn) -> None:
    RELEASE.run(connection, session_id=turn.session_id, turn_id=turn.turn_id, epoch=turn.epoch)


def release_all(connection: Connection, replica: str) -> None:
    RELEASE_ALL.run(connection, replica=replica)
