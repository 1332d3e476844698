"""Name lookups, in threads of their own: the system may take its time, and nothing else waits for it."""

import asyncio
import socket
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress

MAX_LOOKUPS = 8
"""Lookups at the same time, with those that were given up and go on in the system; others wait."""
LOOKUP_SECONDS = 10.0
"""For one lookup, waiting for a place included: long enough for the system's second name server, which by
default is asked after 5 (resolv.conf(5))."""

_Addresses = Sequence[str]


class SystemNames:
    """Looks names up as the system does."""

    def __init__(self) -> None:
        self._places = asyncio.Semaphore(MAX_LOOKUPS)

    async def __call__(self, host: str, port: int) -> _Addresses:
        """All addresses of `host`. The name is absolute: the system's search domains are not for names from
        outside.

        Raises:
            TimeoutError: not found within LOOKUP_SECONDS.
            OSError: there are none, or the system gives no more threads.
        """

        def ask() -> _Addresses:
            found = socket.getaddrinfo(f"{host}.", port, type=socket.SOCK_STREAM)
            return [str(entry[4][0]) for entry in found]

        async with asyncio.timeout(LOOKUP_SECONDS):
            await self._places.acquire()
            loop = asyncio.get_running_loop()
            outcome: Future[_Addresses] = Future()
            outcome.set_running_or_notify_cancel()  # from now on its place is taken until the system answers
            outcome.add_done_callback(lambda _: _call_in(loop, self._places.release))
            _start(ask, outcome)
            return await asyncio.wrap_future(outcome)


def _start(ask: Callable[[], _Addresses], outcome: Future[_Addresses]) -> None:
    def work() -> None:
        try:
            outcome.set_result(ask())
        except BaseException as error:  # noqa: BLE001 - it belongs to the caller
            outcome.set_exception(error)

    try:
        threading.Thread(target=work, name="name lookup", daemon=True).start()  # the end does not wait for it
    except RuntimeError as error:
        outcome.set_exception(OSError(str(error)))


def _call_in(loop: asyncio.AbstractEventLoop, what: Callable[[], None]) -> None:
    with suppress(RuntimeError):  # the loop is closed: no caller waits any more
        loop.call_soon_threadsafe(what)
