"""Plain functions in threads of their own."""

import asyncio
import gc
import threading
import weakref
from collections import deque
from collections.abc import Iterator
from contextvars import ContextVar
from dataclasses import replace
from typing import Any

import pytest

from gateway.errors import ToolTimedOut
from gateway.tools import threads, time_limit
from gateway.tools.base import ToolOutput
from gateway.tools.function import tool
from gateway.tools.threads import in_thread
from gateway.tools.time_limit import run_in_time
from tests.loopback import TIMEOUT
from tests.product import ToolError
from tests.tools.calling import context

pytestmark = pytest.mark.anyio

user = ContextVar("user", default="nobody")


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """What blocked functions wait for; it comes at the end of the test at the latest."""
    event = threading.Event()
    yield event
    event.set()


async def test_a_function_knows_what_its_caller_knows() -> None:
    """Context variables, such as those of the log, are the caller's."""
    user.set("小明")

    assert await in_thread("who", user.get) == "小明"


async def test_a_blocked_function_holds_up_neither_the_loop_nor_others(released: threading.Event) -> None:
    """It times out, and more of them than there are places do not stop a function that works."""

    @tool(effect="read_only", timeout=0.01)
    def blocked() -> bool:
        """Blocks."""
        return released.wait()

    @tool(effect="read_only")
    def works() -> str:
        """Works."""
        return "完成"

    for _ in range(threads.MAX_THREADS // 8):
        calls = [run_in_time(blocked, {}, context()) for _ in range(8)]
        late = await asyncio.gather(*calls, return_exceptions=True)
        assert all(isinstance(each, ToolError) for each in late)

    assert await run_in_time(works, {}, context()) == ToolOutput("完成")


async def test_a_function_without_a_place_waits_and_then_says_so(
    released: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has not begun, which is another answer than that nobody knows; later there is a place again."""
    monkeypatch.setattr(threads, "MAX_THREADS", 2)
    began = threading.Semaphore(0)

    @tool(effect="effectful", timeout=TIMEOUT)
    def long() -> bool:
        """Takes long."""
        began.release()
        return released.wait()

    @tool(effect="effectful", timeout=0.01)
    def quick() -> str:
        """Is quick."""
        return "sent"

    busy = [asyncio.create_task(run_in_time(long, {}, context())) for _ in range(2)]
    for _ in busy:
        await asyncio.to_thread(began.acquire)
    with pytest.raises(ToolTimedOut, match="quick did not begin: 2 other calls are running"):
        await run_in_time(quick, {}, context())
    released.set()
    await asyncio.gather(*busy)

    assert await run_in_time(replace(quick, timeout=TIMEOUT), {}, context()) == ToolOutput("sent")


async def test_a_function_that_was_left_behind_keeps_its_place_until_it_ends(
    released: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There are never more threads than places, however many calls are given up."""
    monkeypatch.setattr(threads, "MAX_THREADS", 2)

    @tool(effect="read_only", timeout=0.01)
    def stuck() -> bool:
        """Blocks."""
        return released.wait()

    @tool(effect="read_only", timeout=0.01)
    def works() -> str:
        """Works."""
        return "完成"

    await asyncio.gather(*(run_in_time(stuck, {}, context()) for _ in range(6)), return_exceptions=True)
    alive = [each for each in threading.enumerate() if each.name == "tool stuck"]
    with pytest.raises(ToolTimedOut, match="works did not begin: 2 other calls are running"):
        await run_in_time(works, {}, context())
    released.set()

    assert len(alive) == 2
    assert await run_in_time(replace(works, timeout=TIMEOUT), {}, context()) == ToolOutput("完成")


async def test_a_call_that_waited_for_a_place_does_not_begin_when_too_many_were_left_behind_meanwhile(
    released: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That it was let in to wait is no reason to lose one more thread to its tool."""
    monkeypatch.setattr(threads, "MAX_THREADS", 2)
    monkeypatch.setattr(time_limit, "MAX_ABANDONED", 1)
    began, other_ends = threading.Semaphore(0), threading.Event()

    @tool(effect="read_only", timeout=5)
    def sticks() -> bool:
        """Blocks."""
        began.release()
        return released.wait()

    @tool(effect="read_only", timeout=TIMEOUT)
    def other() -> bool:
        """Ends."""
        began.release()
        return other_ends.wait()

    first, busy = (asyncio.create_task(run_in_time(each, {}, context())) for each in (sticks, other))
    for _ in range(2):
        await asyncio.to_thread(began.acquire)
    waiting = asyncio.create_task(run_in_time(sticks, {}, context()))
    await asyncio.sleep(0)
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    other_ends.set()

    with pytest.raises(ToolError, match="sticks is not available: 1 earlier calls"):
        await waiting
    assert (await busy).content == "true"


class NobodyIdle(deque[Any]):
    """Gives no thread, not even one that comes back from an earlier test just now."""

    def pop(self) -> Any:  # type: ignore[override]
        raise IndexError


async def test_a_system_without_threads_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call fails in words, and gives its place back."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threads, "MAX_THREADS", 1)
    with monkeypatch.context() as without_threads:
        without_threads.setattr(threads, "idle", NobodyIdle())
        without_threads.setattr(threading.Thread, "start", refuse)
        with pytest.raises(ToolError, match="add did not begin: the server can start no more threads"):
            await in_thread("add", lambda: 1)

    assert await in_thread("add", lambda: 1) == 1


async def test_one_call_after_the_other_has_the_same_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also after one that raised; none is started while one waits."""
    monkeypatch.setattr(threads, "idle", deque())
    first = await in_thread("who", threading.get_ident)
    with pytest.raises(ZeroDivisionError):
        await in_thread("divide", lambda: 1 // 0)

    assert await in_thread("who", threading.get_ident) == first


async def test_a_thread_that_waits_holds_on_to_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither to what a function was given, nor to what it gave back, nor to its caller's context."""

    class Held:
        pass

    monkeypatch.setattr(threads, "idle", deque())
    held = weakref.ref(await in_thread("make", Held))
    for _ in range(2):  # the first one is let go at the latest when the thread takes the second
        await in_thread("nothing", int)
    gc.collect()

    assert held() is None


async def test_a_thread_that_nobody_needs_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a while; a call that comes then has another one."""
    monkeypatch.setattr(threads, "idle", deque())
    monkeypatch.setattr(threads, "IDLE_SECONDS", 0.01)
    worker = await in_thread("who", threading.current_thread)
    await asyncio.to_thread(worker.join, TIMEOUT)

    assert not worker.is_alive()
    assert not threads.idle
    assert await in_thread("who", threading.current_thread) is not worker


async def test_a_thread_whose_function_was_left_behind_serves_again_when_it_ends(
    released: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until then others run in another one."""
    monkeypatch.setattr(threads, "idle", deque())
    stuck: list[threading.Thread] = []
    began = threading.Semaphore(0)

    @tool(effect="read_only", timeout=TIMEOUT)
    def sticks() -> bool:
        """Blocks."""
        stuck.append(threading.current_thread())
        began.release()
        return released.wait()

    call = asyncio.create_task(run_in_time(sticks, {}, context()))
    await asyncio.to_thread(began.acquire)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    other = await in_thread("who", threading.current_thread)
    released.set()
    while len(threads.idle) < 2:
        await asyncio.sleep(0)

    assert other is not stuck[0]
    assert set(threads.idle) == {other, stuck[0]}
