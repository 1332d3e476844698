"""The line before an endpoint of few slots: its order, background calls, and that no slot is lost."""

import asyncio
import random
from typing import Any

import pytest

from gateway.model import endpoint_queue
from gateway.model.endpoint_facts import EndpointFacts
from gateway.model.endpoint_queue import EndpointQueue, GaveWay, Ticket
from tests.loopback import TIMEOUT
from tests.product import ModelError

pytestmark = pytest.mark.anyio


def line(slots: int | None, *, quiet: float = 0.0) -> EndpointQueue:
    return EndpointQueue(EndpointFacts(), slots, quiet=quiet)


def granted(*tickets: Ticket) -> list[bool]:
    return [each.granted for each in tickets]


async def test_turns_have_slots_in_their_order() -> None:
    """As many as there are; the next one when one leaves, also one that only waits."""
    queue = line(2)
    first, second, third, fourth, fifth = (queue.join("ada") for _ in range(5))

    assert granted(first, second, third) == [True, True, False]
    assert [queue.before(each) for each in (first, third, fifth)] == [0, 1, 3]
    queue.leave(fourth)
    queue.leave(second)
    queue.leave(second)
    assert granted(third, fifth) == [True, False]
    queue.leave(first)
    assert fifth.granted
    assert (queue.taken, queue.waiting("turn")) == (2, 0)


async def test_users_are_answered_in_rotation() -> None:
    """Who has many turns in the line does not keep others from theirs."""
    queue = line(1)
    adas = [queue.join("ada") for _ in range(4)]
    bobs = [queue.join("bob") for _ in range(2)]
    names = {id(each): name for name, many in (("ada", adas), ("bob", bobs)) for each in many}

    order: list[str] = []
    waiting = [*adas, *bobs]
    while waiting:
        (now,) = [each for each in waiting if each.granted]
        order.append(names[id(now)])
        waiting.remove(now)
        queue.leave(now)

    assert order == ["ada", "bob", "ada", "bob", "ada", "ada"]


async def test_a_call_that_is_repeated_keeps_its_place() -> None:
    """It was before the others, and is so when it comes back."""
    queue = line(1)
    first, second, third = (queue.join("ada") for _ in range(3))
    queue.leave(first)
    again = queue.join("ada", rank=first.rank)
    queue.leave(second)

    assert granted(again, third) == [True, False]


async def test_a_background_call_waits_for_a_quiet_moment() -> None:
    """The one slot is free, but a turn ended just now, and its next message may come."""
    queue = line(1, quiet=0.2)
    turn = queue.join("ada")
    background = queue.join_background("ada")
    queue.leave(turn)
    assert not background.granted
    following = queue.join("ada")
    queue.leave(following)

    assert await background.turn_comes(TIMEOUT)


async def test_of_several_slots_one_stays_free_for_turns() -> None:
    """Background calls have the others, at once."""
    queue = line(3)
    background = [queue.join_background(None) for _ in range(3)]
    assert granted(*background) == [True, True, False]
    assert queue.join("ada").granted


async def test_what_is_done_in_the_background_is_stopped_for_a_turn() -> None:
    """It ends with `GaveWay`, and the turn has its slot."""
    queue = line(1)
    seen: list[str] = []

    async def work() -> None:
        async with queue.in_background("ada"):
            seen.append("began")
            try:
                await asyncio.sleep(TIMEOUT)
            finally:
                seen.append("stopped")

    task = asyncio.create_task(work())
    while not seen:
        await asyncio.sleep(0)
    turn = queue.join("ada")
    assert not turn.granted
    with pytest.raises(GaveWay):
        await task

    assert turn.granted
    assert seen == ["began", "stopped"]


async def test_a_cancellation_from_outside_is_none_for_a_turn() -> None:
    """It is not taken for `GaveWay`, and the slot is free."""
    queue = line(1)

    async def work() -> None:
        async with queue.in_background("ada"):
            await asyncio.sleep(TIMEOUT)

    task = asyncio.create_task(work())
    while not queue.taken:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert queue.taken == 0


async def test_waits_have_an_end() -> None:
    """For a call that has little time, and where too many wait."""
    queue = line(1)
    held = queue.join("ada")
    with pytest.raises(ModelError) as late:
        async with queue.in_turn("ada", 0.01):
            pass
    with pytest.raises(ModelError):
        async with queue.in_background("ada", 0.01):
            pass
    assert late.value.code == "upstream_overloaded"
    queue.leave(held)
    assert (queue.taken, queue.waiting("turn"), queue.waiting("background")) == (0, 0, 0)


async def test_the_line_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who comes then is refused at once."""
    monkeypatch.setattr(endpoint_queue, "MAX_WAITING", 3)
    queue = line(1)
    for _ in range(4):
        queue.join("ada")
    with pytest.raises(ModelError) as refused:
        queue.join("ada")
    assert refused.value.code == "upstream_overloaded"


async def test_one_user_cannot_take_all_places(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_queue, "MAX_OF_ONE", 2)
    queue = line(1)
    for _ in range(3):
        queue.join("ada")
    with pytest.raises(ModelError) as refused:
        queue.join("ada")
    assert refused.value.code == "upstream_overloaded"
    assert not queue.join("bea").granted
    for _ in range(2):
        queue.join_background("ada")
    with pytest.raises(ModelError):
        queue.join_background("ada")


async def test_the_number_of_slots_follows_what_the_endpoint_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """More, fewer, none known, nonsense; a setting wins over all of it."""
    monkeypatch.setattr(endpoint_queue, "LOOK_EVERY", 0.01)
    facts = EndpointFacts()
    queue = EndpointQueue(facts, quiet=0)
    assert queue.slots is None
    facts.slots = 1
    tickets = [queue.join("ada") for _ in range(6)]
    assert sum(granted(*tickets)) == 1
    facts.slots = 3
    assert await tickets[2].turn_comes(TIMEOUT)
    facts.slots = 1
    queue.leave(tickets[0])
    assert sum(granted(*tickets)) == 3
    facts.slots = 0
    assert queue.slots is None
    assert await tickets[5].turn_comes(TIMEOUT)
    assert EndpointQueue(facts, 2).slots == 2


async def test_waits_are_measured() -> None:
    """Each once, also one that was given up."""
    queue = line(1)
    told: list[str] = []
    queue.on_wait = lambda kind, seconds: told.append(kind) if seconds >= 0 else None
    first, second = queue.join("ada"), queue.join("ada")
    background = queue.join_background("ada")
    for ticket in (second, background, first):
        queue.leave(ticket)
        queue.leave(ticket)
    assert told == ["turn", "turn", "background"]


@pytest.mark.parametrize("seed", range(12))
async def test_whatever_happens_no_slot_is_lost(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Turns and background calls come, fail, are cancelled and give way while the number of slots changes:
    never more than the most slots run, everybody comes to an end, and all slots are free then."""
    monkeypatch.setattr(endpoint_queue, "LOOK_EVERY", 0.005)
    chance = random.Random(seed)
    facts = EndpointFacts()
    facts.slots = 1
    queue = EndpointQueue(facts, quiet=0.002)
    running, most = 0, 0

    async def busy() -> None:
        nonlocal running, most
        running += 1
        most = max(most, running)
        try:
            await asyncio.sleep(chance.random() / 200)
            if chance.random() < 0.2:
                raise ModelError("broken", code="upstream_error", retryable=False)
        finally:
            running -= 1

    async def in_turn(owner: str) -> None:
        async with queue.in_turn(owner, TIMEOUT):
            await busy()

    async def in_background() -> None:
        while True:
            try:
                async with queue.in_background("ada", TIMEOUT):
                    return await busy()
            except GaveWay:
                continue

    tasks: list[asyncio.Task[Any]] = []
    for _ in range(150):
        work = in_background() if chance.random() < 0.3 else in_turn(chance.choice(["ada", "bob", "eve"]))
        tasks.append(asyncio.create_task(work))
        if chance.random() < 0.2:
            chance.choice(tasks).cancel()
        if chance.random() < 0.1:
            facts.slots = chance.choice([1, 1, 2, 4])
        await asyncio.sleep(chance.random() / 1000)
    async with asyncio.timeout(TIMEOUT):
        ends = await asyncio.gather(*tasks, return_exceptions=True)

    assert all(end is None or isinstance(end, ModelError | asyncio.CancelledError) for end in ends)
    assert most <= 4
    assert (running, queue.taken, queue.waiting("turn"), queue.waiting("background")) == (0, 0, 0, 0)
