"""Positions of turns and branches among the messages of their session, in SQL."""

from typing import Any, NamedTuple

from sqlalchemy import Connection, and_, bindparam, func, literal_column, select, update

from gateway.errors import Conflict, NotFound
from gateway.storage.branches import ROOT, Branch, Ranges, no_branch
from gateway.storage.database import Prepared
from gateway.storage.refusals import no_session
from gateway.storage.row_codec import pairs_of
from gateway.storage.schema import branches, heads, messages, sessions, turns
from gateway.storage.turns.heads import OF_SESSION as HEAD_OF

IN_PROMPT: tuple[str, ...] = (
    "compression",
    "generation_from",
    "prefix_hash",
    "told_memories",
    "instructions",
)
"""What each branch has of its own, and a session has of its active one."""

ID = bindparam("session_id")
BEGAN = turns.c.after_position
RAN = and_(turns.c.session_id == ID, BEGAN.is_not(None))
OF_BRANCH = and_(branches.c.session_id == ID, branches.c.branch == bindparam("branch"))

STATE = Prepared(
    select(sessions.c.branch, heads.c.position, heads.c.head, sessions.c.created_at)
    .add_columns(*(sessions.c[name] for name in IN_PROMPT))
    .join_from(sessions, heads, HEAD_OF)
    .where(sessions.c.id == ID)
)
STORED = Prepared(select(branches.c.ranges, *(branches.c[name] for name in IN_PROMPT)).where(OF_BRANCH))
PLACE = Prepared(
    select(turns.c.branch, BEGAN, turns.c.created_at, turns.c.parent).where(
        turns.c.session_id == ID, turns.c.id == bindparam("turn_id")
    )
)
LAST_BEFORE = Prepared(select(turns.c.id).where(RAN, bindparam("at") > BEGAN).order_by(BEGAN.desc()).limit(1))
# Turns of a version that knew no branches, and those that never began.
UNPLACED = Prepared(
    select(turns.c.id)
    .where(turns.c.session_id == ID, turns.c.status == literal_column("'done'"), BEGAN.is_(None))
    .limit(literal_column("1"))
)
_messages_of_turn = (
    select(messages.c.turn_id, (func.min(messages.c.position) - 1).label("begins"))
    .where(messages.c.session_id == ID)
    .group_by(messages.c.turn_id)
    .subquery()
)
PLACE_OLDER = Prepared(
    update(turns)
    .where(turns.c.id == _messages_of_turn.c.turn_id, turns.c.session_id == ID, BEGAN.is_(None))
    .values(after_position=_messages_of_turn.c.begins)
)


class State(NamedTuple):
    """A session and its active branch (None: it has one only), with what that has of its own."""

    branch: int | None
    position: int
    head: int
    created_at: int
    own: dict[str, Any]


class TurnPosition(NamedTuple):
    """A turn that has begun: its messages come after `begins`. `parent` is None where it is the turn that ran
    before."""

    branch: int
    begins: int
    created_at: int
    parent: str | None


def state_of(connection: Connection, session_id: str) -> State:
    """Raises errors.NotFound."""
    row = STATE.one(connection, session_id=session_id)
    if row is None:
        raise no_session(session_id)
    branch, position, head, created_at, *own = row
    return State(branch, position, head, created_at, dict(zip(IN_PROMPT, own, strict=True)))


def place_of(connection: Connection, session_id: str, turn_id: str) -> TurnPosition:
    """Raises as `parent_of`."""
    if UNPLACED.one(connection, session_id=session_id) is not None:
        PLACE_OLDER.run(connection, session_id=session_id)
    found = PLACE.one(connection, session_id=session_id, turn_id=turn_id)
    if found is None:
        raise NotFound(f"There is no turn {turn_id} in session {session_id}.", code="turn_not_found")
    if found[1] is None:
        raise Conflict(
            f"Nothing can follow turn {turn_id}: it has not begun, or was cancelled before it did, or was "
            "archived by a version of the gateway that knew no branches.",
            code="no_branch_point",
        )
    return TurnPosition(*found)


def parent_of(connection: Connection, session_id: str, turn_id: str) -> str:
    """The id of the turn after which that one was asked, or ROOT. Raises errors.NotFound (turn_not_found) and
    errors.Conflict (no_branch_point)."""
    place = place_of(connection, session_id, turn_id)
    if place.parent is not None:
        return place.parent
    if place.begins == 0:
        return ROOT
    before = turn_before(connection, session_id, place.begins)
    if before is None:
        raise Conflict(
            f"The turn before {turn_id} was archived by a version of the gateway that knew no branches.",
            code="no_branch_point",
        )
    return before


def turn_before(connection: Connection, session_id: str, position: int) -> str | None:
    """The turn that ran last of those whose messages come before what follows that position."""
    return LAST_BEFORE.value(connection, session_id=session_id, at=position)


def ranges_of(connection: Connection, session_id: str, branch: int) -> Ranges:
    """Raises errors.NotFound (branch_not_found)."""
    ranges = STORED.value(connection, session_id=session_id, branch=branch)
    if ranges is None:
        raise no_branch(session_id, branch)
    return pairs_of(ranges)


def branch_of(connection: Connection, session_id: str, branch: int | None = None) -> Branch | None:
    """That branch, or (None) the active one; None if the session has a single branch or does not exist.
    Raises errors.NotFound (branch_not_found)."""
    row = STATE.one(connection, session_id=session_id)
    if row is None:
        return None
    active, last, *_ = row
    number = active if branch is None else branch
    if active is None and not number:
        return None
    return Branch(number, ranges_of(connection, session_id, number), last)
