"""Waiting for the end of a task where it must not be missed."""

import asyncio
from typing import Any

_AGAIN = 1.0  # seconds after which a task that goes on is cancelled again


async def to_its_end(task: asyncio.Task[Any]) -> None:
    """Waits for the task, also when the caller is cancelled meanwhile, and only then gives way to that. The
    task has to end in bounded time. What it raises stays with it."""
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        raise cancelled


async def put_to_end(task: asyncio.Task[Any]) -> None:
    """Cancels the task until it has ended. Once may not be enough: a cancellation that meets a failure
    somewhere in the task groups of a library is lost, and what was to end goes on."""

    async def cancel() -> None:
        while not task.done():
            task.cancel()
            await asyncio.wait((task,), timeout=_AGAIN)

    if not task.done():
        await to_its_end(asyncio.create_task(cancel()))
