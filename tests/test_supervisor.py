"""Background tasks: whatever one raises is logged and counted, and the task is started again."""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

import pytest
from structlog.testing import capture_logs

from gateway.supervisor import Supervisor
from tests.harness import TIMEOUT
from tests.product import StorageError

pytestmark = pytest.mark.anyio

KINDS: Sequence[Callable[[], BaseException]] = [
    lambda: KeyError("private words"),
    lambda: StorageError("private words"),
    lambda: TimeoutError("private words"),
    lambda: ExceptionGroup("private words", [KeyError("private words")]),
    lambda: asyncio.CancelledError("private words"),
    lambda: GeneratorExit("private words"),
    lambda: StopAsyncIteration("private words"),
]
"""Makers of what a task may raise. The last but two are no `Exception`."""
NAMES = ["KeyError", "storage_unavailable", "TimeoutError", "KeyError", "CancelledError", "GeneratorExit"]


class Task:
    """Fails as often as it has something to raise, then works on until it is cancelled."""

    def __init__(self, *failures: BaseException) -> None:
        self.failures = list(failures)
        self.starts = 0
        self.works = asyncio.Event()
        self.ended = asyncio.Event()

    async def run(self) -> None:
        self.starts += 1
        await asyncio.sleep(0)
        if self.failures:
            raise self.failures.pop(0)
        self.works.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()


@pytest.mark.parametrize("make", KINDS)
async def test_whatever_a_task_raises_it_is_logged_counted_and_started_again(
    make: Callable[[], BaseException],
) -> None:
    """Also a cancellation that nobody asked for, and what is no Exception. The task is told of until it was
    steady; of the failure its type alone, as its message may quote anybody."""
    supervisor, task = Supervisor(first_pause=0), Task(make(), make())
    with capture_logs() as lines:
        async with supervisor.running(task.run, "upkeep"):
            await asyncio.wait_for(task.works.wait(), TIMEOUT)
            failing = supervisor.failing["upkeep"]

    assert task.ended.is_set()
    assert task.starts == 3
    assert supervisor.failures == {"upkeep": 2}
    assert failing.failures == 2
    assert "private" not in failing.why
    assert [(line["event"], line["task"], line["log_level"]) for line in lines] == [
        ("background_task_failed", "upkeep", "error")
    ] * 2
    assert all(isinstance(line["exc_info"], BaseException) for line in lines)


@pytest.mark.parametrize(("make", "why"), list(zip(KINDS, NAMES, strict=False)))
async def test_why_it_fails_is_told_by_type_or_code(make: Callable[[], BaseException], why: str) -> None:
    """Of several at once the first counts."""
    supervisor, task = Supervisor(first_pause=0), Task(make())
    async with supervisor.running(task.run, "it"):
        await asyncio.wait_for(task.works.wait(), TIMEOUT)
        assert supervisor.failing["it"].why == why


async def test_the_pause_grows_to_its_bound_and_is_short_again_after_a_steady_run() -> None:
    """A task that fails on and on does not keep the process busy."""
    supervisor = Supervisor(first_pause=0.001, last_pause=0.003, steady=0.01)
    task = Task(*[KeyError() for _ in range(4)])
    with capture_logs() as lines:
        async with supervisor.running(task.run, "it"):
            await asyncio.wait_for(task.works.wait(), TIMEOUT)
            async with asyncio.timeout(TIMEOUT):
                while supervisor.failing:
                    await asyncio.sleep(0.001)
    assert [line["again_in"] for line in lines] == [0.001, 0.002, 0.003, 0.003]
    assert supervisor.failures == {"it": 4}


async def test_a_task_is_healthy_again_after_a_steady_run_and_then_counts_anew() -> None:
    """A second failure a day later is a first one."""
    supervisor, fail = Supervisor(first_pause=0, steady=0), asyncio.Event()

    async def work() -> None:
        await fail.wait()
        fail.clear()
        raise KeyError

    with capture_logs() as lines:
        async with supervisor.running(work, "it"), asyncio.timeout(TIMEOUT):
            for times in (1, 2):
                fail.set()
                while supervisor.failures["it"] < times or supervisor.failing:
                    await asyncio.sleep(0)

    assert [line["failures"] for line in lines] == [1, 1]


async def test_a_task_that_returns_is_done() -> None:
    """It is not started again, and nothing is told of it."""
    supervisor, starts = Supervisor(), list[int]()

    async def work() -> None:
        starts.append(1)

    await supervisor.keep(work, "it")

    assert (starts, supervisor.failing, supervisor.failures) == ([1], {}, {"it": 0})


async def test_cancelling_ends_it_also_in_the_pause_and_when_the_task_fails_at_its_end() -> None:
    """No restart after that; the failure is logged."""

    async def fails_at_the_end() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise KeyError

    for work in (Task(KeyError()).run, fails_at_the_end):
        supervisor = Supervisor(first_pause=3600)
        with capture_logs() as lines:
            running = asyncio.create_task(supervisor.keep(work, "it"))
            for _ in range(5):
                await asyncio.sleep(0)
            running.cancel()
            with suppress(asyncio.CancelledError, KeyError):
                await asyncio.wait_for(running, TIMEOUT)

        assert supervisor.failing == {}
        assert [line["event"] for line in lines] == ["background_task_failed"]


async def test_a_task_that_loses_its_cancellation_is_cancelled_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """As `asyncio.wait_for` loses one that comes together with what it waits for."""
    monkeypatch.setattr("gateway.supervisor.CANCEL_AGAIN", 0.001)
    lost = 0

    async def work() -> None:
        nonlocal lost
        while lost < 2:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                lost += 1
        await asyncio.Event().wait()

    async with asyncio.timeout(TIMEOUT), Supervisor().running(work, "it"):
        await asyncio.sleep(0)

    assert lost == 2
