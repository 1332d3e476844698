"""Threads for plain functions: one that blocks holds up neither other work nor the end."""

import asyncio
import contextvars
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from typing import Any
from weakref import WeakKeyDictionary

from gateway.errors import ToolError, ToolTimedOut
from gateway.tools.time_limit import leave_behind, refuse_stuck

MAX_THREADS = 32
"""Plain functions that run at the same time, in all turns together and with those that were left behind; more
of them wait for a place."""

IDLE_SECONDS = 60.0
"""How long a thread waits for another function before it ends: to start one takes the event loop longer than
most functions do."""

idle: deque["_Worker"] = deque()
"""Those that wait, who waited last at the end. A worker is here or has something to do."""

_places: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()


async def in_thread(tool_name: str, function: Callable[[], Any]) -> Any:
    """What `function` returns or raises, run in a thread that the end of the process does not wait for. When
    this is cancelled, the function is left behind, and keeps its thread and its place until it ends.

    Raises:
        errors.ToolTimedOut: cancelled while it waited for a place.
        errors.ToolError: too many calls of the tool were left behind meanwhile, or the system gives no more
            threads.
    """
    places = _places.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(MAX_THREADS))
    try:
        await places.acquire()
    except asyncio.CancelledError:
        message = f"{tool_name} did not begin: {MAX_THREADS} other calls are running. Try again later."
        raise ToolTimedOut(message) from None
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
    """Has a thread run it; what came of it, also of exceptions: a future can hold no StopIteration."""
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def work() -> Callable[[], None]:
        result, raised = None, None
        try:
            result = context.run(function)
        except BaseException as error:  # noqa: BLE001 - it belongs to the caller, also a SystemExit
            raised = error

        def set_result() -> None:
            with suppress(RuntimeError):  # the loop is closed: no caller waits any more
                loop.call_soon_threadsafe(outcome.set_result, (result, raised))

        return set_result

    try:
        worker = idle.pop()
    except IndexError:
        worker = _Worker()
        try:
            worker.start()
        except RuntimeError:
            raise ToolError(f"{tool_name} did not begin: the server can start no more threads.") from None
    worker.name = f"tool {tool_name}"
    worker.given.put(work)
    return outcome


class _Worker(threading.Thread):
    """Runs one function after the other. The function that each returns is called when the worker is free
    again: a caller that is notified of an end finds a waiting thread."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.given: SimpleQueue[Callable[[], Callable[[], None]]] = SimpleQueue()

    def run(self) -> None:
        while True:
            try:
                work = self.given.get(timeout=IDLE_SECONDS)
            except Empty:
                with suppress(ValueError):  # it was taken at the last moment
                    idle.remove(self)
                    return
                continue
            set_result = work()
            self.name = "tool, waiting"
            idle.append(self)
            set_result()
            del work, set_result  # what they hold is not for as long as the thread waits
