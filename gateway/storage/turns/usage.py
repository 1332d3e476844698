"""What turns used, in SQL: added up by model, by the quarter of an hour, by session, by user.

A deleted session takes its turns with it, and not what they used: that is added to its owner's `side_calls`,
in the transaction that removes them.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import (
    JSON,
    BigInteger,
    Connection,
    Text,
    and_,
    bindparam,
    cast,
    func,
    literal_column,
    not_,
    select,
)
from sqlalchemy.sql.elements import ColumnElement

from gateway.ids import DAY_MS
from gateway.messages import Usage
from gateway.storage.database import Prepared
from gateway.storage.limits import microdollars
from gateway.storage.limits.side_calls import COUNT
from gateway.storage.schema import sessions, turns
from gateway.storage.turns import DELETED_SESSIONS, ModelUsage, UsedIn, UsedTurns, UsedWhen
from gateway.storage.turns.rows import BROUGHT

QUARTER = 900_000
"""Milliseconds: the days of every time zone begin at a quarter of an hour of UTC."""

_USED = cast(turns.c.usage, JSON().with_variant(Text(), "sqlite"))  # which has no type for JSON
_RAN = and_(turns.c.status == "done", not_(BROUGHT))
_IN_TIME = turns.c.created_at.between(bindparam("first"), bindparam("last"))
_UNPRICED = func.count(turns.c.usage).filter(turns.c.cost.is_(None))


def _tokens(*names: str) -> ColumnElement[int]:
    first, *others = (func.coalesce(func.sum(_USED[name].as_integer()), 0) for name in names)
    return sum(others, first)


_SUMS = (
    func.count(),
    _tokens("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"),
    _tokens("output_tokens"),
    func.coalesce(func.sum(turns.c.cost), 0.0),
    _UNPRICED,
)
_QUARTER = turns.c.created_at // literal_column(str(QUARTER), BigInteger)


def usage_since(connection: Connection, owner: str, since: int) -> Sequence[ModelUsage]:
    """What the owner's turns used that were accepted since then and are over, by model. Seeded
    and imported ones ran elsewhere and are not counted."""
    tokens = [func.coalesce(func.sum(_USED[name].as_integer()), 0) for name in Usage.model_fields]
    sums = select(turns.c.model, func.count(), func.sum(turns.c.cost), _UNPRICED, *tokens)
    counted = sums.where(turns.c.owner == owner, turns.c.created_at >= since, _RAN)
    rows = (tuple(row) for row in connection.execute(counted.group_by(turns.c.model)))
    found = [
        ModelUsage(
            model,
            count,
            Usage(**dict(zip(Usage.model_fields, used, strict=True))),
            0.0 if cost is None and not unpriced else cost,
            unpriced,
        )
        for model, count, cost, unpriced, *used in rows
    ]
    return sorted(found, key=lambda each: each.model)


def used_when(connection: Connection, owner: str, first: int, last: int) -> Sequence[UsedWhen]:
    """The same of turns that were accepted from `first` to `last`, by the time and the model. Raises
    errors.SearchTooLong."""
    by = (_QUARTER, turns.c.model)
    wanted = select(*by, *_SUMS).where(turns.c.owner == owner, _IN_TIME, _RAN)
    found = connection.execute(wanted.group_by(*by).order_by(*by), {"first": first, "last": last})
    return [UsedWhen(int(row[0]) * QUARTER, row[1], _used(row[2:])) for row in found]


def used_in(connection: Connection, owner: str, first: int, last: int, most: int) -> Sequence[UsedIn]:
    """The same by the session: those at most that cost most, and then used the most tokens. Raises
    errors.SearchTooLong."""
    read, written, cost = _SUMS[1], _SUMS[2], _SUMS[3]
    wanted = select(turns.c.session_id, *_SUMS).where(turns.c.owner == owner, _IN_TIME, _RAN)
    ordered = wanted.group_by(turns.c.session_id).order_by(
        cost.desc(), (read + written).desc(), turns.c.session_id
    )
    rows = connection.execute(ordered.limit(most), {"first": first, "last": last}).all()
    own = select(sessions.c.id, sessions.c.title).where(
        sessions.c.owner == owner, sessions.c.id.in_([row[0] for row in rows])
    )
    titles: dict[str, str | None] = {row[0]: row[1] for row in connection.execute(own)}
    return [UsedIn(row[0], titles.get(row[0]), row[0] in titles, _used(row[1:])) for row in rows]


def used_by(connection: Connection, owners: Sequence[str], first: int, last: int) -> Mapping[str, UsedTurns]:
    """The same by the owner, of those who have turns. Raises errors.SearchTooLong."""
    wanted = select(turns.c.owner, *_SUMS).where(turns.c.owner.in_(owners), _IN_TIME, _RAN)
    found = connection.execute(wanted.group_by(turns.c.owner), {"first": first, "last": last})
    return {row[0]: _used(row[1:]) for row in found}


FIRST = Prepared(select(func.min(turns.c.created_at)).where(turns.c.owner == bindparam("of")))


def first_used(connection: Connection, owner: str) -> int | None:
    """When the owner's first turn was accepted that is still there."""
    return FIRST.value(connection, of=owner)


_of_session = select(turns.c.number).where(turns.c.session_id == bindparam("session_id"))
_FIRST_OF_SESSION = _of_session.order_by(turns.c.number).limit(bindparam("most"))
OF_SESSION = Prepared(
    select(turns.c.owner, turns.c.created_at, turns.c.model, turns.c.usage, turns.c.cost).where(
        turns.c.number.in_(_FIRST_OF_SESSION), _RAN, turns.c.usage.is_not(None)
    )
)


def keep_used(connection: Connection, session_id: str, most: int) -> None:
    """Adds what the first `most` turns of a session used to what counts for their owners without them: a part
    of the transaction that removes those."""
    sums: dict[tuple[str, int, str], list[int]] = {}
    for owner, at, model, usage, cost in OF_SESSION.all(connection, session_id=session_id, most=most):
        used = Usage.model_construct(**orjson.loads(usage))
        paid = 0 if cost is None else microdollars(cost)
        kept = sums.setdefault((owner, at // DAY_MS, model), [0] * 5)
        each = (1, used.total - used.output_tokens, used.output_tokens, paid, int(cost is None))
        kept[:] = map(sum, zip(kept, each, strict=True))
    for (owner, day, model), (calls, read, written, paid, unpriced) in sums.items():
        COUNT.run(
            connection,
            of=owner,
            on_day=day,
            for_what=DELETED_SESSIONS,
            by_model=model,
            calls=calls,
            read=read,
            written=written,
            paid=paid,
            unknown=unpriced,
        )


def _used(row: Sequence[Any]) -> UsedTurns:
    count, read, written, cost, unpriced = row
    return UsedTurns(int(count), int(read), int(written), float(cost), int(unpriced))
