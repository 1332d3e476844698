"""What storage owes about limits."""

import asyncio
from dataclasses import replace
from typing import Literal

import pytest
from sqlalchemy import select

from gateway.storage.limits import Charge, Held, LimitCounter, Spent, Standing
from gateway.storage.limits.store import Limits
from gateway.storage.log import Closing
from gateway.storage.schema import limit_counters
from gateway.storage.turns import Accepted, NewTurn, OnConflict
from tests.product import LimitReached, Message, Storage, Usage, text_block
from tests.storage.writing import OWNER, writer_of

pytestmark = pytest.mark.anyio

DAY = LimitCounter("user:tokens/day ann", "user:tokens/day", 100, 0, 86_400_000)
USED = Usage(input_tokens=20, output_tokens=10)


def charge(counter: LimitCounter, measure: Held, amount: int) -> Charge:
    return Charge(counter, measure, amount)


async def begin(
    storage: Storage,
    *charges: Charge,
    session: str = "s",
    turn: str = "t",
    message: str | None = None,
    on_conflict: OnConflict = "reject",
) -> Accepted:
    new = NewTurn(turn, session, OWNER, "hello", "model", message, on_conflict, True, 5, charges=charges)
    return await storage.turns.accept(new, max_queued=9)


async def end(
    storage: Storage,
    accepted: Accepted,
    usage: Usage | None = USED,
    cost: float | None = 0.25,
    *,
    outcome: Literal["completed", "failed", "cancelled"] = "completed",
    iterations: int = 1,
    unreported: int = 0,
) -> None:
    closing = Closing(outcome, iterations, usage, cost, 9, unreported=unreported)
    assert await writer_of(storage, accepted).append("done", sync=True, outcome=closing) is None


async def stands(storage: Storage, counter: LimitCounter = DAY) -> tuple[int, int]:
    """What is used of it, and held."""
    (standing,) = await storage.limits.standings([counter])
    return standing.used, standing.held


async def test_what_a_turn_may_take_is_held_until_it_is_over_and_settled_by_what_it_used(
    storage: Storage,
) -> None:
    """Whoever asks next sees it, and the record is the turn's own row: nobody has to settle it in time."""
    accepted = await begin(storage, charge(DAY, "tokens", 60))
    assert accepted.standings == [Standing(DAY, 0, 60)]
    assert await stands(storage) == (0, 60)

    await end(storage, accepted)

    assert await stands(storage) == (30, 0)
    assert await storage.limits.settle(9) == 1
    assert await storage.limits.settle(9) == 0
    assert await stands(storage) == (30, 0)


async def test_a_turn_that_a_limit_has_no_room_for_is_not_accepted(storage: Storage) -> None:
    """Nothing of it stays, of other limits either; what is left and when there is more is told."""
    other = LimitCounter("tenant:turns/day default", "tenant:turns/day", 9, 0, 86_400_000)
    await begin(storage, charge(DAY, "tokens", 60), session="a", turn="a")

    with pytest.raises(LimitReached) as refused:
        await begin(storage, charge(DAY, "tokens", 41), charge(other, "turns", 1), session="b", turn="b")

    assert refused.value.code == "budget_exhausted"
    assert refused.value.details == {
        "policy": "user:tokens/day",
        "limit": 100,
        "left": 40,
        "wanted": 41,
        "retry_after": 5,  # the open turn holds it
    }
    assert refused.value.standing == Standing(DAY, 0, 60)
    assert await stands(storage, other) == (0, 0)
    await begin(storage, charge(DAY, "tokens", 40), charge(other, "turns", 1), session="b", turn="b")
    assert (await stands(storage), await stands(storage, other)) == ((0, 100), (1, 0))


async def test_a_message_that_is_sent_again_takes_nothing_more(storage: Storage) -> None:
    first = await begin(storage, charge(DAY, "tokens", 60), message="m")
    again = await begin(storage, charge(DAY, "tokens", 60), message="m", turn="other")

    assert again.repeated
    assert again.turn.id == first.turn.id
    assert await stands(storage) == (0, 60)


async def test_turns_are_counted_and_those_at_the_same_time_are_free_again(storage: Storage) -> None:
    turns = LimitCounter("user:turns/day ann", "user:turns/day", 3, 0, 86_400_000)
    concurrent = LimitCounter("user:concurrent ann", "user:concurrent", 1)
    charges = charge(turns, "turns", 1), charge(concurrent, "concurrent", 1)
    for name in ("a", "b", "c"):
        accepted = await begin(storage, *charges, session=name, turn=name)
        with pytest.raises(LimitReached) as busy:
            await begin(storage, charge(concurrent, "concurrent", 1), session="x", turn="x")
        assert (busy.value.code, busy.value.retryable) == ("rate_limited", True)
        await end(storage, accepted)
    with pytest.raises(LimitReached) as refused:
        await begin(storage, *charges, session="d", turn="d")

    assert refused.value.details is not None
    assert (refused.value.details["policy"], refused.value.details["retry_after"]) == (
        "user:turns/day",
        86_400,
    )


@pytest.mark.parametrize(
    ("outcome", "usage", "cost", "iterations", "tokens", "microdollars"),
    [
        ("completed", USED, 0.25, 1, 30, 250_000),
        ("completed", None, None, 1, 60, 700_000),  # the endpoint told nothing
        ("completed", USED, None, 1, 30, 700_000),  # at an unknown price
        ("cancelled", USED, 0.25, 1, 60, 700_000),  # it had not told what the last call used
        ("cancelled", None, None, 0, 0, 0),  # it never asked
        ("failed", None, None, 1, 0, 0),  # the endpoint never began
        ("failed", USED, 0.25, 2, 60, 700_000),
    ],
)
async def test_what_is_not_known_counts_as_it_was_held(  # noqa: PLR0917 - a row of the table
    storage: Storage,
    outcome: Literal["completed", "failed", "cancelled"],
    usage: Usage | None,
    cost: float | None,
    iterations: int,
    tokens: int,
    microdollars: int,
) -> None:
    """Unknown is never 0; nor is what never happened unknown."""
    month = LimitCounter("user:cost/month ann", "user:cost/month", 1_000_000, 0, 86_400_000)
    accepted = await begin(storage, charge(DAY, "tokens", 60), charge(month, "cost", 700_000))

    await end(storage, accepted, usage, cost, outcome=outcome, iterations=iterations)

    assert (await stands(storage), await stands(storage, month)) == ((tokens, 0), (microdollars, 0))


@pytest.mark.parametrize(
    ("outcome", "usage", "taken"),
    [
        ("failed", None, 60),  # the endpoint began to answer, and told nothing: as it was held
        ("completed", USED, 30 + 7),  # an attempt broke off before the one that told this
        ("failed", USED, 60),
    ],
)
async def test_a_call_that_began_and_never_told_what_it_used_counts_as_a_whole_answer(
    storage: Storage, outcome: Literal["completed", "failed"], usage: Usage | None, taken: int
) -> None:
    accepted = await begin(storage, Charge(DAY, "tokens", 60, answer=7))

    await end(storage, accepted, usage, None, outcome=outcome, unreported=1)

    assert await stands(storage) == (taken, 0)


async def test_a_turn_that_one_limit_stops_raises_what_it_holds_of_no_other(storage: Storage) -> None:
    """The call is not made: nothing more is taken of those that had room for it."""
    large = LimitCounter("all:tokens/day", "all:tokens/day", 1_000, 0, 86_400_000)
    await begin(storage, charge(large, "tokens", 20), charge(DAY, "tokens", 20), turn="a")

    assert await storage.limits.raise_hold("a", Spent(10, 0), Spent(95, 0)) == Standing(DAY, 0, 10)

    assert (await stands(storage), await stands(storage, large)) == ((0, 10), (0, 20))


async def test_a_turn_that_waits_and_is_cancelled_takes_nothing(storage: Storage) -> None:
    await begin(storage)
    waiting = await begin(storage, charge(DAY, "tokens", 60), turn="w", on_conflict="queue")
    assert await stands(storage) == (0, 60)

    await storage.log.close_waiting(waiting.turn, [], 9)

    assert await stands(storage) == (0, 0)


async def test_a_hold_grows_with_its_turn_as_far_as_there_is_room(storage: Storage) -> None:
    """Where there is none it is what was spent, and the limit is told."""
    await begin(storage, charge(DAY, "tokens", 20), session="a", turn="a")
    await begin(storage, charge(DAY, "tokens", 30), session="b", turn="b")
    raise_hold = storage.limits.raise_hold

    assert await raise_hold("b", Spent(10, 0), Spent(20, 0)) is None
    assert await stands(storage) == (0, 50)
    assert await raise_hold("b", Spent(10, 0), Spent(70, 0)) is None
    assert await stands(storage) == (0, 100)
    assert await raise_hold("b", Spent(40, 0), Spent(41, 0)) == Standing(DAY, 0, 60)
    assert await stands(storage) == (0, 60)
    assert await raise_hold("nobody's", Spent(40, 0), Spent(41, 0)) is None


async def test_a_session_s_last_call_counts_for_what_its_next_turn_may_take(storage: Storage) -> None:
    accepted = await begin(storage, charge(DAY, "tokens", 10))
    writer = writer_of(storage, accepted)
    message = Message("assistant", [text_block("hello")])
    await writer.append("iteration_end", message=message, usage=USED, sync=True)
    await writer.append("done", sync=True, outcome=Closing("completed", 1, USED, 0.25, 9))

    await begin(storage, replace(charge(DAY, "tokens", 10), per_token=1.0), turn="next")

    assert await stands(storage) == (30, 40)


async def test_what_a_deleted_session_s_turns_held_stays_taken(storage: Storage) -> None:
    """Nobody gets a budget back by deleting what tells how it was spent."""
    accepted = await begin(storage, charge(DAY, "tokens", 60))
    await end(storage, accepted)

    await storage.sessions.delete("s", OWNER)
    while await storage.purges.next_slice() is not None:
        pass

    assert await stands(storage) == (60, 0)


async def test_parts_are_taken_until_nothing_is_left(storage: Storage) -> None:
    counter = LimitCounter("key:requests/minute k", "key:requests/minute", 10, 0, 60_000)

    taken = [await storage.limits.take(counter, 4) for _ in range(4)]

    assert taken == [(4, 4), (4, 8), (2, 10), (0, 10)]
    assert await storage.limits.take(counter._replace(began=60_000, ends=120_000), 4) == (4, 4)


async def test_counters_that_ended_are_forgotten_unless_something_is_held_of_them(storage: Storage) -> None:
    counter = LimitCounter("key:requests/minute k", "key:requests/minute", 10, 0, 60_000)
    await storage.limits.take(counter, 4)
    accepted = await begin(storage, charge(DAY, "tokens", 60))

    await storage.limits.forget(86_400_001)

    assert await stands(storage, counter) == (0, 0)
    assert await stands(storage) == (0, 60)
    await end(storage, accepted)
    assert await stands(storage) == (30, 0)


async def test_counters_of_turns_at_the_same_time_are_kept_as_long_as_there_are_any(storage: Storage) -> None:
    concurrent = LimitCounter("user:concurrent ann", "user:concurrent", 1)
    accepted = await begin(storage, charge(concurrent, "concurrent", 1))
    await storage.limits.forget(5)
    with pytest.raises(LimitReached):
        await begin(storage, charge(concurrent, "concurrent", 1), session="x", turn="x")

    await end(storage, accepted)
    await storage.limits.settle(9)
    await storage.limits.forget(5)

    assert await counters(storage) == []
    await begin(storage, charge(concurrent, "concurrent", 1), session="y", turn="y")


async def counters(storage: Storage) -> list[str]:
    """The names of those that are stored."""
    assert isinstance(storage.limits, Limits)
    return await storage.limits.database.read(
        lambda connection: list(connection.execute(select(limit_counters.c.name)).scalars())
    )


async def test_many_at_once_take_no_more_than_there_is(storage: Storage) -> None:
    """Turns that are accepted at the same moment share what is left, to the last token."""
    charges = charge(DAY, "tokens", 10), charge(DAY._replace(name="tenant:tokens/day default"), "tokens", 10)

    tried = await asyncio.gather(
        *(begin(storage, *charges, session=f"s{n}", turn=f"t{n}") for n in range(30)), return_exceptions=True
    )

    assert sum(isinstance(each, Accepted) for each in tried) == 10
    assert sum(isinstance(each, LimitReached) for each in tried) == 20
    assert await stands(storage) == (0, 100)
