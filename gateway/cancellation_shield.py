"""Work that is waited for to its end, also by a caller that is cancelled meanwhile."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar

import structlog

T = TypeVar("T")

log = structlog.get_logger(__name__)


async def finish(work: Awaitable[T]) -> T:
    """Returns what `work` returns, or raises what it raises. A caller that is cancelled, however often, goes
    on waiting and gives way to that only when `work` has ended: nothing is left half-done or goes on unseen.
    `work` has to end in bounded time. What it raises then is logged; a caller that has to know hands in a
    future and looks at that."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        while not task.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait((task,))
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("failed_after_its_caller_left", exc_info=error)
        raise
