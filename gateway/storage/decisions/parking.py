"""Turns that are suspended until a person or a client has answered. A suspended turn still counts as its
session's running one, but has no lease holder."""

from collections.abc import Collection, Sequence

from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    and_,
    bindparam,
    func,
    insert,
    or_,
    select,
    true,
    union_all,
)

from gateway.errors import TurnLost
from gateway.storage.database import Prepared
from gateway.storage.schema import approvals, client_calls, heads, turns
from gateway.storage.turns import Accepted, TurnRow
from gateway.storage.turns.heads import park_turn, wake_turn
from gateway.storage.turns.rows import SESSION_OF, accepted_of


def of_call(table: Table) -> ColumnElement[bool]:
    """The row of one call, in a table with one for each that is waited for."""
    return and_(*(table.c[name] == bindparam(name) for name in ("session_id", "turn_id", "tool_call_id")))


def insert_once(table: Table, names: Sequence[str]) -> Prepared:
    """Adds the row of a call, with a parameter for each of these columns. What is there stays as it is."""
    values = select(*(bindparam(name, type_=table.c[name].type) for name in names))
    is_there = select(table.c.turn_id).where(of_call(table)).exists()
    return Prepared(insert(table).from_select(names, values.where(~is_there)))


# Calls about which there is nothing left to wait for.
SETTLED = Prepared(
    union_all(
        *(
            select(table.c.tool_call_id).where(table.c.turn_id == bindparam("turn_id"), outcome.is_not(None))
            for table, outcome in ((approvals, approvals.c.decision), (client_calls, client_calls.c.status))
        )
    )
)
# Locked: a wish to stop is either seen here, or finds the turn suspended.
OPEN = Prepared(
    select(turns.c.cancel_requested, turns.c.status)
    .where(turns.c.id == bindparam("turn_id"))
    .with_for_update()
)
_parked = heads.c.parked_until.is_not(None)
OVERDUE = Prepared(
    select(turns.c.id)
    .join_from(heads, turns, turns.c.id == heads.c.turn_id)
    .where(_parked, or_(heads.c.parked_until <= bindparam("now"), turns.c.cancel_requested == true()))
    .order_by(heads.c.parked_until)
    .limit(bindparam("limit"))
)
COUNT_PARKED = Prepared(select(func.count()).select_from(heads).where(_parked))


def park(connection: Connection, turn: TurnRow, waiting: Collection[str], until: int) -> bool:
    """Gives the turn up until one of the calls `waiting` is decided or has its client's result, or until then
    (Unix milliseconds). False, and nothing done, when that was so before, or the turn is to be cancelled.
    Raises errors.TurnLost when it is no longer the caller's."""
    found = OPEN.one(connection, turn_id=turn.id)
    settled = {call_id for (call_id,) in SETTLED.all(connection, turn_id=turn.id)}
    if found is not None and (found[0] or not settled.isdisjoint(waiting)):
        return False
    if not park_turn(connection, turn.session_id, turn.id, turn.epoch, until):
        raise TurnLost(f"Turn {turn.id} is no longer this writer's: epoch {turn.epoch}.")
    return True


def wake(connection: Connection, replica: str, turn_id: str) -> Accepted | None:
    """Takes a suspended turn, whose lease holder is `replica` then. None when it is not suspended."""
    found = SESSION_OF.one(connection, turn_id=turn_id)
    if found is None or not wake_turn(connection, found[0], turn_id, replica):
        return None
    return accepted_of(connection, turn_id)


def overdue(connection: Connection, now: int, limit: int) -> Sequence[str]:
    """Suspended turns that must not wait any longer, at most `limit`: their time is over at `now`, or they
    are to be cancelled."""
    return [turn_id for (turn_id,) in OVERDUE.all(connection, now=now, limit=limit)]


def count_parked(connection: Connection) -> int:
    """How many turns are suspended."""
    return COUNT_PARKED.value(connection)
