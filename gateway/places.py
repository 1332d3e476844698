"""Places for work of which little may run at the same time: each event loop has its own."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary


class PlaceTimeout(Exception):
    """Others have kept all places for too long."""


class Places:
    """`count` places of each event loop."""

    def __init__(self, count: int) -> None:
        self._count = count
        self._of_loops: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    @asynccontextmanager
    async def one(self, timeout: float) -> AsyncGenerator[None]:
        """A place, until the context is left. Raises PlaceTimeout where there was none for `timeout`
        seconds."""
        await self.take(timeout)
        try:
            yield
        finally:
            self.give_back()

    async def take(self, timeout: float | None) -> None:
        """Waits for a place, which is given back later; None: as long as it takes. Raises PlaceTimeout, as
        `one` does."""
        free = self._of_loops.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self._count))
        try:
            async with asyncio.timeout(timeout):
                await free.acquire()
        except TimeoutError:
            raise PlaceTimeout from None

    def give_back(self) -> None:
        """The place that was taken is free."""
        self._of_loops[asyncio.get_running_loop()].release()
