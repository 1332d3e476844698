"""Waiting for what becomes true by itself."""

import asyncio
from collections.abc import Awaitable, Callable

PAUSE = 0.02


async def until(holds: Callable[[], Awaitable[bool]], timeout: float) -> None:
    """Asks again and again. Raises TimeoutError: after so many seconds it is still not so."""
    async with asyncio.timeout(timeout):
        while not await holds():
            await asyncio.sleep(PAUSE)
