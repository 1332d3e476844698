"""Model calls beside turns, in SQL: what is taken of limits for them, and what they used.

A turn's row says in the end what the turn used, so that what is held for it can be settled by whoever comes
next. Of a call beside turns there is no such row: what it may use is taken before, and what it did not use is
given back. Where the process is killed in between, it stays taken: unknown is never 0.
"""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, delete, func, select, text

from gateway.ids import DAY_MS
from gateway.storage.database import Prepared
from gateway.storage.limits import (
    Charge,
    DaySideUsage,
    LimitCounter,
    SideCall,
    SideUsage,
    Standing,
    limit_reached,
)
from gateway.storage.limits.counters import ADD, HELD, counter_key, settled
from gateway.storage.schema import side_calls

KEPT_DAYS = 400
"""Days for which is known what was used, by purpose: a year, and what an accountant takes to look at it."""

_VALUES = ("calls", "input_tokens", "output_tokens", "cost", "unpriced")
COUNT = Prepared(
    text(
        "INSERT INTO side_calls"
        " (owner, day, purpose, model, calls, input_tokens, output_tokens, cost, unpriced)"
        " VALUES (:of, :on_day, :for_what, :by_model, :calls, :read, :written, :paid, :unknown)"
        " ON CONFLICT (owner, day, purpose, model) DO UPDATE SET calls = side_calls.calls + excluded.calls,"
        " input_tokens = side_calls.input_tokens + excluded.input_tokens,"
        " output_tokens = side_calls.output_tokens + excluded.output_tokens,"
        " cost = side_calls.cost + excluded.cost, unpriced = side_calls.unpriced + excluded.unpriced"
    )
)
FIRST_DAY = Prepared(select(func.min(side_calls.c.day)).where(side_calls.c.owner == bindparam("of")))
FORGET = Prepared(delete(side_calls).where(side_calls.c.day < bindparam("first_day")))


def take_for_call(connection: Connection, charges: Sequence[Charge], at: int) -> None:
    """Takes the amounts of all `charges` for a model call beside turns. Raises errors.LimitReached: there is
    no room for one of them, and nothing is taken."""
    for each in sorted(charges, key=lambda each: each.counter.name):
        used = settled(connection, each.counter)
        held = HELD.value(connection, **counter_key(each.counter), but_of="")
        if used + held + each.amount > each.counter.most:
            raise limit_reached(Standing(each.counter, used, held), each.amount, at, what="this request")
        ADD.run(connection, **counter_key(each.counter), more=each.amount)


def settle_call(
    connection: Connection, changes: Sequence[tuple[LimitCounter, int]], call: SideCall | None
) -> None:
    """Gives back (below 0) what a call did not use of what was taken, and counts what it used."""
    for counter, more in sorted(changes, key=lambda change: change[0].name):
        ADD.run(connection, **counter_key(counter), more=more)
    if call is not None:
        used = call.usage
        COUNT.run(
            connection,
            of=call.owner,
            on_day=call.at // DAY_MS,
            for_what=call.purpose,
            by_model=call.model,
            calls=1,
            read=used.total - used.output_tokens,
            written=used.output_tokens,
            paid=call.cost or 0,
            unknown=int(call.cost is None),
        )


def side_usage(connection: Connection, owner: str, since: int) -> Sequence[SideUsage]:
    """The usage of calls beside turns on behalf of a user since that day, by purpose and model."""
    columns = side_calls.c
    sums = select(columns.purpose, columns.model, *(func.sum(columns[name]) for name in _VALUES)).where(
        columns.owner == owner, columns.day >= since // DAY_MS
    )
    grouped = sums.group_by(columns.purpose, columns.model).order_by(columns.purpose, columns.model)
    rows: list[tuple[Any, ...]] = [tuple(row) for row in connection.execute(grouped)]
    return [
        SideUsage(row[0], row[1], *map(int, row[2:])) for row in rows
    ]  # sums of PostgreSQL are no integers


def side_usage_of_days(connection: Connection, owner: str, first: int, last: int) -> Sequence[DaySideUsage]:
    """The same of each day from `first` to `last`."""
    columns = side_calls.c
    wanted = (
        select(columns.day, columns.purpose, columns.model, *(columns[name] for name in _VALUES))
        .where(columns.owner == owner, columns.day.between(first, last))
        .order_by(columns.day, columns.purpose, columns.model)
    )
    rows: list[tuple[Any, ...]] = [tuple(row) for row in connection.execute(wanted)]
    return [DaySideUsage(row[0], SideUsage(*row[1:])) for row in rows]


def side_usage_of_users(
    connection: Connection, owners: Sequence[str], first: int, last: int
) -> Sequence[tuple[str, SideUsage]]:
    """The same of several users on those days, each with its user, all models together ("")."""
    columns = side_calls.c
    by = (columns.owner, columns.purpose)
    wanted = select(*by, *(func.sum(columns[name]) for name in _VALUES))
    chosen = wanted.where(columns.owner.in_(owners), columns.day.between(first, last))
    rows: list[tuple[Any, ...]] = [
        tuple(row) for row in connection.execute(chosen.group_by(*by).order_by(*by))
    ]
    return [(row[0], SideUsage(row[1], "", *map(int, row[2:]))) for row in rows]


def first_side_day(connection: Connection, owner: str) -> int | None:
    """The first day of which something is known."""
    return FIRST_DAY.value(connection, of=owner)


def forget_calls(connection: Connection, now: int) -> None:
    """Removes what is older than KEPT_DAYS."""
    FORGET.run(connection, first_day=now // DAY_MS - KEPT_DAYS)
