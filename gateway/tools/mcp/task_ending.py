"""Ending a task for certain."""

import asyncio
from typing import Any

from gateway.cancellation_shield import finish

_AGAIN = 1.0  # seconds after which a task that goes on is cancelled again


async def put_to_end(task: asyncio.Task[Any]) -> None:
    """Cancels the task until it has ended. Once may not be enough: a cancellation that meets a failure
    somewhere in the task groups of a library is lost, and what was to end goes on."""

    async def cancel() -> None:
        while not task.done():
            task.cancel()
            await asyncio.wait((task,), timeout=_AGAIN)

    await finish(cancel())
