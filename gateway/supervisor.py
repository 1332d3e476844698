"""Background tasks that only their cancellation ends: what one raises is logged and counted, and it is
started again after a pause.

    start ──▶ running ──raises──▶ failing: logged, counted ──pause: 1 s, 2 s, … 60 s──▶ running
                                     └── ran for a minute since ──▶ healthy
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import structlog

from gateway.backlog import doubled
from gateway.errors import GatewayError
from gateway.ids import now_ms

FIRST_PAUSE, LAST_PAUSE = 1.0, 60.0
"""Seconds before a task that failed is started again: doubled with each failure in a row, up to the last."""
STEADY = 60.0
"""Seconds that a task has to run without a failure to count as healthy again."""
CANCEL_AGAIN = 5.0
"""Seconds after which a task that has not ended is cancelled again: `asyncio.wait_for` of Python 3.11 loses a
cancellation that comes in the same tick as what it waits for (python/cpython issue 86296)."""

Work = Callable[[], Coroutine[Any, Any, None]]
"""Makes the coroutine of a task; called for each start."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Failing:
    """A task that failed and has not been steady since: how often in a row, since when (Unix ms), and `why`,
    the type or code of its newest failure. Never its message: that may quote what users wrote."""

    since: int
    failures: int
    why: str


class Supervisor:
    """The supervisor of a process, on its event loop.
    `failing` names the tasks that fail at the moment, `failures` how
    often each has failed since the start of the process; both may be copied in another thread."""

    def __init__(
        self, *, first_pause: float = FIRST_PAUSE, last_pause: float = LAST_PAUSE, steady: float = STEADY
    ) -> None:
        self.failing: dict[str, Failing] = {}
        self.failures: Counter[str] = Counter()
        self._first_pause, self._last_pause, self._steady = first_pause, last_pause, steady

    @asynccontextmanager
    async def running(self, work: Work, name: str) -> AsyncGenerator[None]:
        """Keeps the task running until the context is left, which waits for its end."""
        task = asyncio.create_task(self.keep(work, name), name=name)
        try:
            yield
        finally:
            while not task.done():
                task.cancel()
                await asyncio.wait((task,), timeout=CANCEL_AGAIN)

    async def keep(self, work: Work, name: str) -> None:
        """Runs `work`, again after each failure, until it returns or this is cancelled. A cancellation that
        nobody asked for, such as that of something `work` waited for, is a failure like any other."""
        self.failures[name] += 0  # there from the start
        try:
            while (failed := await self._attempt(work, name)) is not None:
                pause = self._note(name, failed)
                await asyncio.sleep(pause)
        finally:
            self.failing.pop(name, None)

    async def _attempt(self, work: Work, name: str) -> BaseException | None:
        """Returns what `work` failed with; None when it returned."""
        me = asyncio.current_task()
        assert me is not None
        steady = asyncio.get_running_loop().call_later(self._steady, self.failing.pop, name, None)
        try:
            await work()
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            if not me.cancelling():
                return error
            if not isinstance(error, asyncio.CancelledError):
                log.exception("background_task_failed", task=name)
            raise
        finally:
            steady.cancel()
        return None

    def _note(self, name: str, failed: BaseException) -> float:
        """Records a failure; returns the seconds until the next start."""
        former = self.failing.get(name)
        failures = former.failures + 1 if former else 1
        self.failing[name] = Failing(former.since if former else now_ms(), failures, _why(failed))
        self.failures[name] += 1
        pause = doubled(self._first_pause, failures, self._last_pause)
        log.error("background_task_failed", task=name, failures=failures, again_in=pause, exc_info=failed)
        return pause


def _why(failed: BaseException) -> str:
    while isinstance(failed, BaseExceptionGroup):
        failed = failed.exceptions[0]
    return failed.code if isinstance(failed, GatewayError) else type(failed).__name__
