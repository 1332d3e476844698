"""An end to every wait for a stream's next event, at the price of one timer per stream."""

import asyncio
from collections.abc import Callable
from math import inf


class Watchdog:
    """Calls `expire` once when there was no `progress` for `limit` seconds (the first time: by `deadline`, in
    the loop's time). Between `pause` and the next `progress` nothing counts: the reader is busy elsewhere.

    `expired` is whether it has. `has_begun`: there was progress, or a pause.

    Progress only moves a number; the timer looks at it when it fires and sleeps again if there is time left.
    """

    def __init__(self, deadline: float, limit: float, expire: Callable[[], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._first = self._deadline = deadline
        self._limit, self._expire = limit, expire
        self.expired = False
        self._timer = self._loop.call_at(min(deadline, self._loop.time() + limit), self._look)

    @property
    def has_begun(self) -> bool:
        return self._deadline != self._first

    def progress(self) -> None:
        self._deadline = self._loop.time() + self._limit

    def pause(self) -> None:
        self._deadline = inf

    def stop(self) -> None:
        self._timer.cancel()

    def expire(self) -> None:
        """As if the time were over."""
        self.stop()
        self.expired = True
        self._expire()

    def _look(self) -> None:
        now = self._loop.time()
        if self._deadline <= now:
            self.expire()
            return
        self._timer = self._loop.call_at(min(self._deadline, now + self._limit), self._look)
