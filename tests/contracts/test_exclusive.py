"""What is owed by `Exclusive`: one at a time."""

import asyncio

import pytest

from gateway.errors import Conflict
from gateway.wiring import Storage

pytestmark = pytest.mark.anyio


async def test_a_name_is_held_by_one_at_a_time(storage: Storage) -> None:
    """A second one is refused; another name, and the same one later, are free."""
    hold = storage.exclusive.hold
    async with hold("a"):
        with pytest.raises(Conflict, match="busy"):
            async with hold("a", refusal=Conflict("busy")):
                pass
        async with hold("b", refusal=Conflict("busy")):
            pass
    async with hold("a", refusal=Conflict("busy")):
        pass


async def test_who_gives_no_refusal_waits(storage: Storage) -> None:
    """However many there are: each has its turn, and never two at once."""
    inside, turns = 0, 0

    async def work() -> None:
        nonlocal inside, turns
        async with storage.exclusive.hold("a"):
            inside += 1
            assert inside == 1
            await asyncio.sleep(0)
            inside -= 1
            turns += 1

    await asyncio.gather(*(work() for _ in range(5)))
    assert turns == 5


async def test_a_name_is_free_after_a_failure_and_a_cancellation(storage: Storage) -> None:
    """Of who held it, and of who waited for it."""
    hold, refusal = storage.exclusive.hold, Conflict("busy")
    with pytest.raises(ZeroDivisionError):
        async with hold("a"):
            raise ZeroDivisionError
    entered = asyncio.Event()

    async def for_ever() -> None:
        async with hold("a"):
            entered.set()
            await asyncio.Event().wait()

    holding = asyncio.create_task(for_ever())
    await entered.wait()
    waiting = asyncio.create_task(for_ever())
    await asyncio.sleep(0)
    for task in (waiting, holding):
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with hold("a", refusal=refusal):
        pass
