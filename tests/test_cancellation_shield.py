"""Work that is waited for to its end, however often its caller is cancelled."""

import asyncio

import pytest
from structlog.testing import capture_logs

from gateway.cancellation_shield import finish

pytestmark = pytest.mark.anyio


async def test_it_gives_what_the_work_gives() -> None:
    """A result, or what was raised."""

    async def fail() -> None:
        raise KeyError("it")

    assert await finish(asyncio.sleep(0, "done")) == "done"
    with pytest.raises(KeyError):
        await finish(fail())


@pytest.mark.parametrize("fails", [False, True])
async def test_a_cancelled_caller_goes_only_when_the_work_has_ended(*, fails: bool) -> None:
    """However often it is cancelled. What the work raised then is logged, as nobody else hears of it."""
    go, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        await go.wait()
        ended.set()
        if fails:
            raise KeyError("it")

    caller = asyncio.create_task(finish(work()))
    with capture_logs() as lines:
        for _ in range(3):
            await asyncio.sleep(0)
            caller.cancel()
        await asyncio.sleep(0)
        assert not caller.done()
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await caller

    assert ended.is_set()
    assert [line["event"] for line in lines] == ["failed_after_its_caller_left"] * fails


async def test_work_that_is_cancelled_itself_cancels_its_caller() -> None:
    """The caller must not wait for what never comes."""
    work = asyncio.get_running_loop().create_future()
    caller = asyncio.create_task(finish(work))
    await asyncio.sleep(0)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller
