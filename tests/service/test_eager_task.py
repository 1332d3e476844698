"""Work that is begun where it is asked for, and finished by a task if it has to wait."""

import asyncio

import pytest

from gateway.service.eager_task import EagerTask

pytestmark = pytest.mark.anyio


async def test_work_that_needs_no_wait_is_done_at_once() -> None:
    """Its result is there without a task, and its error is raised where it is awaited."""

    async def give() -> int:
        return 3

    async def fail() -> None:
        raise KeyError("it")

    done, failed = EagerTask(give()), EagerTask(fail())

    assert (done.result, await done) == (3, 3)
    with pytest.raises(KeyError):
        await failed


async def test_work_that_waits_is_finished_by_whoever_awaits_it() -> None:
    """However often it waits, and whatever for; between the waits its own handlers see what happens."""
    first, second = asyncio.Event(), asyncio.get_running_loop().create_future()

    async def work() -> str:
        await first.wait()
        await asyncio.sleep(0)
        try:
            await second
        except KeyError:
            return f"failed in {asyncio.current_task()}"
        return ""

    begun = EagerTask(work())
    assert begun.result is None
    first.set()
    second.set_exception(KeyError("it"))

    assert await begun == f"failed in {asyncio.current_task()}"


@pytest.mark.parametrize("turns", [1, 3])
async def test_a_cancelled_task_cancels_the_work(turns: int) -> None:
    """At its first wait and at later ones; the work may clean up, with waits of its own."""
    ended = list[str]()

    async def work() -> None:
        try:
            await asyncio.sleep(0)
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("cleaned up")

    task = asyncio.ensure_future(EagerTask(work()))
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert ended == ["cleaned up"]


async def test_work_that_nobody_will_await_is_ended_where_it_waits() -> None:
    """By `close`, which does nothing to work that is over."""
    ended = list[str]()

    async def work(wait: float) -> None:
        try:
            await asyncio.sleep(wait)
        finally:
            ended.append("cleaned up")

    EagerTask(work(1)).close()
    assert ended == ["cleaned up"]
