"""A turn that runs, and how it is stopped."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Literal

from gateway.storage.turns import TurnRow
from gateway.turn.start_and_end import Ending

CANCEL_TIMEOUT = 5.0
"""Seconds a cancelled task gets to end; after that its turn is closed without it."""
StopCause = Literal["cancelled", "shutdown", "out_of_time"]


class RunningTurn:
    """A running turn: its work, whether it waited for others, and why it was asked to stop, if it was."""

    def __init__(self, turn: TurnRow, *, has_waited: bool = False) -> None:
        self.turn = turn
        self.has_waited = has_waited
        self.stop_cause: StopCause | None = None
        self._loop = asyncio.get_running_loop()
        self._work: asyncio.Task[Ending | None] | None = None
        self._over = self._loop.create_future()

    def renewed(self) -> "RunningTurn":
        """The same turn, to run under a new epoch. A request to stop it is carried over."""
        renewed = RunningTurn(self.turn, has_waited=self.has_waited)
        if self.stop_cause is not None:
            renewed.request_stop(self.stop_cause)
        return renewed

    def request_stop(self, why: StopCause) -> None:
        """Cancels the work, now or as soon as it begins; the first reason counts."""
        if self.stop_cause is None:
            self.stop_cause = why
            if self._work is not None:
                self._work.cancel()
            self._loop.call_later(CANCEL_TIMEOUT, self._end)

    async def work(
        self, work: Coroutine[Any, Any, Ending | None], seconds: float
    ) -> asyncio.Task[Ending | None]:
        """Runs `work` until it ends, by itself, when asked to, or after `seconds`. The task that is
        returned is done, unless it did not heed its cancellation for CANCEL_TIMEOUT seconds."""
        task = self._work = asyncio.create_task(work)
        task.add_done_callback(self._end)
        if self.stop_cause is not None:
            task.cancel()
        timer = self._loop.call_later(seconds, self.request_stop, "out_of_time")
        try:
            await self._over
        finally:
            timer.cancel()
            task.cancel()
        return task

    def _end(self, _: object = None) -> None:
        if not self._over.done():
            self._over.set_result(None)
