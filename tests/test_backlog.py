"""What waits in the background: its order, its bounds, and the pauses after failures."""

import asyncio
from typing import Any

import pytest

from gateway import backlog
from gateway.backlog import Backlog, Failures
from tests.loopback import TIMEOUT

pytestmark = pytest.mark.anyio


def waiting(**bounds: Any) -> Backlog[str, int]:
    given: dict[str, Any] = {"limit": 3, "first_retry": 3600.0, "last_retry": 3600.0}
    return Backlog[str, int](**(given | bounds))


def test_what_fails_again_and_again_is_left_alone_longer_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Up to a bound; one that is done begins anew, and no list grows without end."""
    now = 0.0
    monkeypatch.setattr(backlog, "monotonic", lambda: now)
    failed = Failures[str](300.0, 21_600.0, 500)
    pauses: list[float] = []
    for count in range(1, 10):
        assert failed.add("s") == count
        began = now
        while "s" in failed:
            now += 300.0
        pauses.append(now - began)
    assert pauses == [300.0, 600.0, 1200.0, 2400.0, 4800.0, 9600.0, 19200.0, 21600.0, 21600.0]

    failed.forget("s")
    failed.add("s")
    now += 300.0
    assert "s" not in failed
    for number in range(1000):
        failed.add(str(number))
    assert len(failed) == 500


async def test_keys_are_taken_in_their_order_and_each_once() -> None:
    """One that waits already keeps what it came with; of too many the last is refused."""
    work = waiting()
    assert [work.add(key, number) for number, key in enumerate("abacd")] == [True, True, True, True, False]
    await asyncio.wait_for(work.ready(), TIMEOUT)
    assert work.take(2) == {"a": 0, "b": 1}
    assert work.take(2) == {"c": 3}
    assert work.take() == {}


async def test_one_that_failed_waits_and_keeps_nobody_back() -> None:
    """After all its attempts it is given up."""
    work = waiting(attempts=2)
    work.add("bad", 1)
    work.add("good", 2)
    work.take()
    assert work.failed("bad", 1)
    await asyncio.wait_for(work.ready(), TIMEOUT)
    assert work.take(2) == {"good": 2}
    assert not work.failed("bad", 1)
    assert work.failed("bad", 1), "its failures count no more"
    assert all(work.failed("bad", 1, gives_up=False) for _ in range(3))
    assert not work.failed("bad", 1)


async def test_while_all_pause_nothing_is_ready() -> None:
    """What comes meanwhile waits too, and the pause ends by itself."""
    work = waiting(first_retry=0.01, last_retry=0.02)
    work.add("a", 1)
    assert [work.pause() for _ in range(3)] == [0.01, 0.02, 0.02]
    ready = asyncio.create_task(work.ready())
    work.add("b", 2)
    await asyncio.sleep(0)
    assert not ready.done()
    await asyncio.wait_for(ready, TIMEOUT)
    work.go_on()
    assert work.pause() == 0.01


async def test_it_is_settled_when_the_worker_asks_for_more_and_nothing_waits() -> None:
    """Not while one is being worked on, or waits for its next attempt."""
    work = waiting(first_retry=0.01)
    work.add("a", 1)
    settled = asyncio.create_task(work.settled())
    await asyncio.wait_for(work.ready(), TIMEOUT)
    work.failed("a", work.take()["a"])
    await asyncio.wait_for(work.ready(), TIMEOUT)
    assert work.take() == {"a": 1}
    await asyncio.sleep(0)
    assert not settled.done()
    more = asyncio.create_task(work.ready())
    await asyncio.wait_for(settled, TIMEOUT)
    assert not more.done()
    work.add("b", 2)
    await asyncio.wait_for(more, TIMEOUT)
