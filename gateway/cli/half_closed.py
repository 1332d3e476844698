"""A connection whose client has closed its direction of it behind its request (RFC 9112, 9.6).

Whether that client still reads, or has gone, only a packet to it tells: the answer goes on, something is sent
soon, and the connection is looked at until the answer has ended.

    request, FIN │ heartbeat of a stream ─▶        ◀─ nothing: it reads      ═══ answer ═══▶ FIN
                 │ after a second: 100   ─▶        ◀─ RST: aborted
"""

import asyncio
import socket
from collections.abc import Callable
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

LOOK_AFTER = (0.02, 1.0)
"""Seconds until it is looked at: first, and at most; twice as long each time. The reset of a client that is
gone takes a round trip."""


class HalfClosed:
    """Looks at one connection: `answering` is the request that is being answered, and `abort` drops it."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        transport: asyncio.Transport,
        answering: Callable[[], RequestResponseCycle | None],
        abort: Callable[[], None],
    ) -> None:
        self._loop, self._transport = loop, transport
        self._answering, self._abort = answering, abort
        cycle = answering()
        if cycle is not None and "heartbeat" in cycle.scope:  # of a stream
            cast("Any", cycle.scope)["heartbeat"]()
        self._look_later(LOOK_AFTER[0])

    def end(self) -> None:
        """The connection is lost."""
        self._timer.cancel()

    def _look_later(self, after: float) -> None:
        self._timer = self._loop.call_later(after, self._look, after)

    def _look(self, waited: float) -> None:
        """A client that is gone has answered what was sent to it with a reset, which nobody else reads. Where
        nothing is sent for long it gets an interim answer, which clients pass over (RFC 9110, 15.2)."""
        if (cycle := self._answering()) is None:
            return
        end = self._transport.get_extra_info("socket")
        if end.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
            self._abort()
            return
        is_long = waited < LOOK_AFTER[1] <= 2 * waited and not cycle.response_started
        if is_long and cycle.scope["http_version"] != "1.0":
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self._look_later(min(2 * waited, LOOK_AFTER[1]))
