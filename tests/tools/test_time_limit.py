"""A call ends in time, whatever its tool does."""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
import structlog

from gateway.errors import ToolTimedOut
from gateway.events.tool_calls import Effect, ToolProgress
from gateway.tools import time_limit
from gateway.tools.base import FunctionTool, ToolContext, ToolOutput
from gateway.tools.function import tool
from gateway.tools.time_limit import MAX_ABANDONED, run_in_time
from tests.product import EventData, StorageError, ToolError
from tests.tools.calling import context

pytestmark = pytest.mark.anyio


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A cancelled call gets no more than a moment to end."""
    monkeypatch.setattr(time_limit, "STOP_TIMEOUT", 0.02)


def raising(error: BaseException, *, plain: bool) -> FunctionTool:
    if plain:

        @tool(effect="read_only")
        def fail() -> str:
            """Fails in a thread."""
            raise error
    else:

        @tool(effect="read_only")
        async def fail() -> str:
            """Fails in the loop."""
            raise error

    return fail


def stubborn(
    name: str, end: asyncio.Event, on_call: Callable[[ToolContext], None] = lambda _: None
) -> FunctionTool:
    """A tool that goes on until `end`, however often it is cancelled."""

    @tool(effect="effectful", name=name, timeout=0.01)
    async def go_on(context: ToolContext) -> str:
        """Goes on."""
        while not end.is_set():
            try:
                await end.wait()
            except asyncio.CancelledError:
                continue
        on_call(context)
        return "at last"

    return go_on


@pytest.mark.parametrize("plain", [False, True], ids=["in the loop", "in a thread"])
@pytest.mark.parametrize(
    ("error", "arrives"),
    [
        (SystemExit(3), ToolError),
        (KeyboardInterrupt(), ToolError),
        (GeneratorExit(), ToolError),
        (BaseExceptionGroup("several", [SystemExit()]), ToolError),
        (StopIteration(1), RuntimeError),
        (StopAsyncIteration(), StopAsyncIteration),
        (RecursionError(), RecursionError),
        (MemoryError(), MemoryError),
        (OSError("disk"), OSError),
        (ToolError("No such order."), ToolError),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else "",
)
async def test_whatever_a_tool_raises_arrives_as_an_exception(
    error: BaseException, arrives: type[Exception], plain: bool
) -> None:
    """Nothing of it stops the event loop, and no call is left without an end."""
    with pytest.raises(arrives):
        await run_in_time(raising(error, plain=plain), {}, context())


async def test_a_tool_that_is_cancelled_by_what_it_waits_for_gave_up() -> None:
    """Its own cancellation is no cancellation of the turn."""
    with pytest.raises(ToolError, match="gave up"):
        await run_in_time(raising(asyncio.CancelledError(), plain=False), {}, context())


@pytest.mark.parametrize(
    ("effect", "message"), [("read_only", "0.01 seconds.$"), ("effectful", "verify before trying again.$")]
)
async def test_a_tool_that_is_too_slow_is_cancelled(effect: Effect, message: str) -> None:
    """The model reads the limit, and of one with effects that nobody knows whether they took place."""
    cancelled = asyncio.Event()

    @tool(effect=effect, timeout=0.01)
    async def wait() -> str:
        """Waits."""
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()
        return ""

    with pytest.raises(ToolTimedOut, match=message):
        await run_in_time(wait, {}, context())
    assert cancelled.is_set()


async def test_what_a_late_tool_says_at_the_last_moment_counts() -> None:
    """A result, or a failure in its own words, is worth more than that it came late."""

    @tool(effect="read_only", timeout=0.01)
    async def search(fail: bool) -> str:
        """Searches until it is stopped."""
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if fail:
                raise ToolError("The index is away.") from None
        return "找到 3 条, 没有搜完"

    assert await run_in_time(search, {"fail": False}, context()) == ToolOutput("找到 3 条, 没有搜完")
    with pytest.raises(ToolError, match=r"The index is away\."):
        await run_in_time(search, {"fail": True}, context())


@pytest.mark.usefixtures("impatient")
async def test_a_tool_that_ignores_its_cancellation_is_left_behind_and_not_heard_any_more() -> None:
    """The turn goes on, the log names the tool, and what it emits later reaches nobody."""
    end, events = asyncio.Event(), list[EventData]()
    refused: asyncio.Future[ToolError] = asyncio.get_running_loop().create_future()

    def speak(context: ToolContext) -> None:
        try:
            context.emit(ToolProgress(message="still here"))
        except ToolError as error:
            refused.set_result(error)

    with structlog.testing.capture_logs() as lines, pytest.raises(ToolTimedOut, match="verify"):
        await run_in_time(stubborn("deaf", end, speak), {}, context(events.append))
    end.set()

    assert "The call is over" in (await refused).message
    assert events == []
    assert [(line["event"], line["tool"]) for line in lines] == [("tool_left_behind", "deaf")]


@pytest.mark.usefixtures("impatient")
async def test_a_tool_with_too_many_calls_left_behind_is_not_called_until_one_has_ended() -> None:
    """Such a tool costs no more than a bounded number of tasks; other tools know nothing of it."""
    end = asyncio.Event()
    deaf, other = stubborn("deafer", end), raising(ToolError("as always"), plain=False)
    calls = (run_in_time(deaf, {}, context()) for _ in range(MAX_ABANDONED))
    late = await asyncio.gather(*calls, return_exceptions=True)

    assert {type(each) for each in late} == {ToolTimedOut}
    with pytest.raises(ToolError, match="deafer is not available: 8 earlier calls"):
        await run_in_time(deaf, {}, context())
    with pytest.raises(ToolError, match="as always"):
        await run_in_time(other, {}, context())
    end.set()
    while time_limit._left_behind["deafer"]:  # pyright: ignore[reportPrivateUsage]
        await asyncio.sleep(0)
    assert await run_in_time(deaf, {}, context()) == ToolOutput("at last")


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("heeds", [True, False])
async def test_cancelling_the_caller_cancels_the_tool_and_does_not_wait_without_end(heeds: bool) -> None:
    """Stop stops, also a tool that does not want to."""
    end, began = asyncio.Event(), asyncio.Event()

    @tool(effect="read_only")
    async def wait() -> str:
        """Waits."""
        began.set()
        while not end.is_set():
            try:
                await end.wait()
            except asyncio.CancelledError:
                if heeds:
                    end.set()
                    raise
        return ""

    call = asyncio.create_task(run_in_time(wait, {}, context()))
    await began.wait()
    call.cancel()

    with pytest.raises(asyncio.CancelledError):
        await call
    assert end.is_set() == heeds
    end.set()


async def test_a_thread_says_things_in_the_event_loop_and_in_their_order() -> None:
    """A plain function may emit: what it says is there before its result, said by the loop's own thread."""
    emitted: list[tuple[str | None, bool]] = []
    loop_thread = threading.get_ident()

    def hear(data: EventData) -> None:
        assert isinstance(data, ToolProgress)
        emitted.append((data.message, threading.get_ident() == loop_thread))

    @tool(effect="read_only")
    def count(context: ToolContext) -> str:
        """Counts."""
        for word in ("一", "二", "三"):
            context.emit(ToolProgress(message=word))
        return "done"

    await run_in_time(count, {}, context(hear))

    assert emitted == [("一", True), ("二", True), ("三", True)]


async def test_a_thread_learns_that_nothing_can_be_recorded_any_more() -> None:
    """What the turn's own emit raises is raised where it was called from."""

    def refuse(_: EventData) -> None:
        raise StorageError("The turn is closed.")

    @tool(effect="read_only")
    def speak(context: ToolContext) -> str:
        """Speaks."""
        try:
            context.emit(ToolProgress(message="hello"))
        except StorageError as error:
            return error.message
        return "heard"

    assert await run_in_time(speak, {}, context(refuse)) == ToolOutput("The turn is closed.")


async def test_a_thread_that_the_loop_itself_waits_for_does_not_hang_the_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A tool that blocks the loop until its thread has emitted fails, instead of waiting for itself."""
    monkeypatch.setattr(time_limit, "EMIT_TIMEOUT", 0.02)

    @tool(effect="read_only")
    async def blocking(context: ToolContext) -> str:
        """Blocks the loop."""
        with ThreadPoolExecutor(1) as pool:
            pool.submit(context.emit, ToolProgress(message="hello")).result()
        return ""

    with pytest.raises(TimeoutError):
        await run_in_time(blocking, {}, context())
