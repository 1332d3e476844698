"""Limits, in SQL. A counter's row is locked before what is held of it is looked at; several are locked in the
order of their names, and never before a session."""

from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import (
    Connection,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    literal_column,
    or_,
    select,
    text,
    update,
)

from gateway.storage.database import Prepared
from gateway.storage.limits import Charge, Held, LimitCounter, Spent, Standing, limit_reached, microdollars
from gateway.storage.row_codec import usage_of
from gateway.storage.schema import limit_counters, limit_holds, messages, turns

_c, _h = limit_counters.c, limit_holds.c
_THIS = (_c.name == bindparam("name"), _c.began == bindparam("start"))
_OF_THIS = (_h.name == bindparam("name"), _h.began == bindparam("start"))
_OVER = or_(turns.c.id.is_(None), turns.c.status == literal_column("'done'"))

ENSURE = Prepared(
    text(
        "INSERT INTO limit_counters (name, began, ends, used, user_id) "
        "VALUES (:name, :start, :ends, 0, :user_id) ON CONFLICT (name, began) DO NOTHING"
    )
)
ADD = Prepared(update(limit_counters).where(*_THIS).values(used=_c.used + bindparam("more")))
TAKE = Prepared(
    update(limit_counters)
    .where(*_THIS, _c.used + bindparam("more") <= bindparam("most"))
    .values(used=_c.used + bindparam("more"))
)
USED = Prepared(select(_c.used).where(*_THIS))
LOCK = Prepared(select(_c.used).where(*_THIS).with_for_update())
ENDED = Prepared(
    select(
        _h.turn_id,
        _h.measure,
        _h.amount,
        _h.answer,
        turns.c.outcome,
        turns.c.iterations,
        turns.c.usage,
        turns.c.cost,
        turns.c.unreported,
    )
    .select_from(limit_holds.outerjoin(turns, turns.c.id == _h.turn_id))
    .where(*_OF_THIS, _OVER)
)
HELD = Prepared(
    select(func.coalesce(func.sum(_h.amount), 0)).where(*_OF_THIS, _h.turn_id != bindparam("but_of"))
)
_HELD = ("turn_id", "name", "ends", "title", "measure", "most", "amount", "answer", "user_id")
HOLD = Prepared(
    insert(limit_holds).values({name: bindparam(name) for name in _HELD} | {"began": bindparam("start")})
)
OF_TURN = Prepared(
    select(_h.name, _h.title, _h.most, _h.began, _h.ends, _h.user_id, _h.measure, _h.amount).where(
        _h.turn_id == bindparam("turn_id"), or_(_h.measure == "tokens", _h.measure == "cost")
    )
)
CHANGE = Prepared(
    update(limit_holds)
    .where(*_OF_THIS, _h.turn_id == bindparam("of_turn"))
    .values(amount=bindparam("amount"))
)
RELEASE = Prepared(delete(limit_holds).where(*_OF_THIS, _h.turn_id == bindparam("of_turn")))
TO_SETTLE = Prepared(
    select(_h.name, _h.began, _h.ends, _h.user_id)
    .select_from(limit_holds.outerjoin(turns, turns.c.id == _h.turn_id))
    .where(_OVER)
    .distinct()
    .limit(bindparam("most"))
)
FORGET = Prepared(
    delete(limit_counters).where(
        _c.ends < bindparam("before"),  # 0: of concurrent turns, where all that counts is what is held
        ~exists().where(and_(_h.name == _c.name, _h.began == _c.began)),
    )
)
LAST_USAGE = Prepared(
    select(messages.c.usage)
    .where(messages.c.session_id == bindparam("session_id"), messages.c.usage.isnot(None))
    .order_by(messages.c.position.desc())
    .limit(1)
)


def charge(
    connection: Connection, session_id: str, turn_id: str, charges: Iterable[Charge], at: int
) -> Sequence[Standing]:
    """Takes what a turn takes that is being accepted. Part of that transaction, after all that may refuse it.
    Raises errors.LimitReached."""
    taken: list[Standing] = []
    before: int | None = None
    for each in sorted(charges, key=lambda each: each.counter.name):
        counter, amount = each.counter, each.amount
        if each.measure == "turns":
            taken.append(_count(connection, counter, amount, at))
            continue
        if each.per_token:
            before = _tokens_before(connection, session_id) if before is None else before
            amount += round(each.per_token * before)
        used = settled(connection, counter)
        held = HELD.value(connection, **counter_key(counter), but_of=turn_id)
        if used + held + amount > counter.most:
            raise limit_reached(Standing(counter, used, held), amount, at)
        HOLD.run(
            connection,
            turn_id=turn_id,
            **counter_key(counter),
            ends=counter.ends,
            title=counter.title,
            measure=each.measure,
            most=counter.most,
            amount=amount,
            answer=each.answer,
            user_id=counter.user_id,
        )
        taken.append(Standing(counter, used, held + amount))
    return taken


def raise_hold(connection: Connection, turn_id: str, spent: Spent, following: Spent) -> Standing | None:
    """Holds what a turn has `spent` and may spend in its next call, where it does not already. A limit that
    has no room for it is returned: the turn then holds no more than it has spent."""
    # In the order of `charge`: the server's order of texts is another.
    found = sorted(OF_TURN.all(connection, turn_id=turn_id), key=lambda row: row[0])
    raised: list[tuple[LimitCounter, int]] = []
    for *named, measure, amount in found:
        counter = LimitCounter(*named)
        most = counter.most
        wanted = spent.of(measure) + following.of(measure)
        if measure == "cost" and following.cost is None:
            wanted = most + 1  # an unknown price is never 0
        if wanted <= amount:
            continue
        used = settled(connection, counter)
        others = HELD.value(connection, **counter_key(counter), but_of=turn_id)
        if used + others + wanted > most:
            CHANGE.run(connection, **counter_key(counter), of_turn=turn_id, amount=spent.of(measure))
            return Standing(counter, used, others + spent.of(measure))
        raised.append((counter, wanted))
    for counter, wanted in raised:
        CHANGE.run(connection, **counter_key(counter), of_turn=turn_id, amount=wanted)
    return None


def take(connection: Connection, counter: LimitCounter, wanted: int) -> tuple[int, int]:
    """Takes up to `wanted` of what is left: how much that was, and what has been taken by all."""
    used = _locked(connection, counter)
    granted = max(0, min(wanted, counter.most - used))
    if granted:
        ADD.run(connection, **counter_key(counter), more=granted)
    return granted, used + granted


def standings(connection: Connection, counters: Sequence[LimitCounter]) -> Sequence[Standing]:
    """How these counters stand now, turns that are over settled."""
    found: list[Standing] = []
    for counter in counters:
        used = USED.value(connection, **counter_key(counter)) or 0
        held = HELD.value(connection, **counter_key(counter), but_of="")
        for _, measure, amount, *row in ENDED.all(connection, **counter_key(counter)):
            used, held = used + _used_by(measure, amount, *row), held - amount
        found.append(Standing(counter, used, held))
    return found


def settle(connection: Connection, most: int) -> int:
    """Settles up to `most` holds of turns that are over; how many there were."""
    found = sorted(TO_SETTLE.all(connection, most=most), key=lambda row: row[:2])
    for name, began, ends, user_id in found:
        settled(connection, LimitCounter(name, "", 0, began, ends, user_id))
    return len(found)


def forget(connection: Connection, before: int) -> None:
    """Removes counters that ended before that time, of which nothing is held."""
    FORGET.run(connection, before=before)


def _count(connection: Connection, counter: LimitCounter, amount: int, at: int) -> Standing:
    for _ in range(2):
        if TAKE.run(connection, **counter_key(counter), more=amount, most=counter.most).rowcount:
            return Standing(counter, USED.value(connection, **counter_key(counter)))
        _ensure(connection, counter)
    used = USED.value(connection, **counter_key(counter))
    raise limit_reached(Standing(counter, used), amount, at)


def settled(connection: Connection, counter: LimitCounter) -> int:
    """What is used of a counter, whose row is locked from here on, with the turns that are over."""
    used, more = _locked(connection, counter), 0
    for turn_id, *row in ENDED.all(connection, **counter_key(counter)):
        more += _used_by(*row)
        RELEASE.run(connection, **counter_key(counter), of_turn=turn_id)
    if more:
        ADD.run(connection, **counter_key(counter), more=more)
    return used + more


def _locked(connection: Connection, counter: LimitCounter) -> int:
    """What is used of a counter, whose row is locked from here on."""
    used = LOCK.value(connection, **counter_key(counter))
    if used is None:
        _ensure(connection, counter)
        used = LOCK.value(connection, **counter_key(counter))
    return used


def _used_by(measure: Held, held: int, answer: int, *turn: Any) -> int:
    """What a turn that is over used, by its row: outcome, iterations, usage, cost, unreported. What is not
    known of one that called the model counts as was held for it: unknown is never 0."""
    outcome, iterations, usage, cost, unreported = turn
    never_began = outcome and not usage and not unreported and (not iterations or outcome == "failed")
    if measure == "concurrent" or never_began:
        return 0
    used = usage_of(usage)
    if used is None or (measure == "cost" and cost is None):
        return held
    known = microdollars(cost) if measure == "cost" else used.total + (unreported or 0) * answer
    return known if outcome == "completed" else max(known, held)


def _tokens_before(connection: Connection, session_id: str) -> int:
    usage = usage_of(LAST_USAGE.value(connection, session_id=session_id))
    return usage.total if usage is not None else 0


def _ensure(connection: Connection, counter: LimitCounter) -> None:
    ENSURE.run(connection, **counter_key(counter), ends=counter.ends, user_id=counter.user_id)


def counter_key(counter: LimitCounter) -> dict[str, Any]:
    """The values by which its row is found."""
    return {"name": counter.name, "start": counter.began}
