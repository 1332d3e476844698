"""Threads of their own for plain functions: one that blocks holds up neither other work nor the end."""

import asyncio
import contextvars
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any
from weakref import WeakKeyDictionary

from gateway.errors import ToolError, ToolTimedOut
from gateway.tools.in_time import leave_behind, refuse_stuck

MOST_THREADS = 32
"""Plain functions that run at the same time, in all turns together and with those that were left behind; more
of them wait for a place."""

_places: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


async def in_thread(tool_name: str, function: Callable[[], Any]) -> Any:
    """What `function` returns or raises, run in a thread that the end of the process does not wait for. When
    this is cancelled, the thread is left behind, and keeps its place until it ends.

    Raises:
        errors.ToolTimedOut: cancelled while it waited for a place.
        errors.ToolError: too many calls of the tool were left behind meanwhile, or the system gives no more
            threads.
    """
    places = _places.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(MOST_THREADS))
    try:
        await places.acquire()
    except asyncio.CancelledError:
        told = f"{tool_name} did not begin: {MOST_THREADS} other calls are running. Try again later."
        raise ToolTimedOut(told) from None
    try:
        refuse_stuck(tool_name)
        outcome = _start(tool_name, function)
    except ToolError:
        places.release()
        raise
    outcome.add_done_callback(lambda _: places.release())
    try:
        result, raised = await asyncio.shield(outcome)
    except asyncio.CancelledError:
        leave_behind(tool_name, outcome)
        raise
    if raised is not None:
        raise raised
    return result


def _start(tool_name: str, function: Callable[[], Any]) -> asyncio.Future[tuple[Any, BaseException | None]]:
    """Starts the thread; what came of it, also of exceptions: a future can hold no StopIteration."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()

    def work() -> None:
        result, raised = None, None
        try:
            result = function()
        except BaseException as error:  # noqa: BLE001 - it belongs to the caller, also a SystemExit
            raised = error
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(outcome.set_result, (result, raised))

    context = contextvars.copy_context()
    try:
        threading.Thread(target=context.run, args=(work,), name=f"tool {tool_name}", daemon=True).start()
    except RuntimeError:
        raise ToolError(f"{tool_name} did not begin: the server can start no more threads.") from None
    return outcome
