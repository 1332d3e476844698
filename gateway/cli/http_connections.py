"""Clients' connections: there are only so many, and every wait of one has an end.

uvicorn waits for ever for the head of a request, and after a close for a client that does not take the rest.
Here a connection that waits for a head is closed after `header_timeout`, and one that is closed, by whomever,
is aborted when the client has taken nothing of the rest for `send_timeout`, or not all of it in a time that
is enough at `MIN_RATE`.
"""

import asyncio
import fcntl
import logging
import math
import socket
import struct
import termios
from collections.abc import Iterable
from functools import partial
from typing import Any, cast

import structlog
from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from gateway.cli.half_closed import HalfClosed
from gateway.errors import QueueFull
from gateway.http.error_responses import problem_response
from gateway.http.middleware import PROBES, same_path
from gateway.ids import new_request_id
from gateway.request_heads import RequestHeads
from gateway.settings import Settings

MIN_RATE = 4096
"""Bytes a second: so fast a client must take what is left of an answer when its connection is closed."""

PROBE_PLACES = 32
"""Connections beside all others: where these are in use, who watches over the gateway is answered all the
same, and nobody takes a gateway that is full for a dead one."""

RESET_ON_CLOSE = struct.pack("ii", 1, 0)
"""struct linger, on and 0 s: the kernel too drops what was not taken (socket(7))."""

log = structlog.get_logger(__name__)

# Who breaks an answer off, as of a reader that takes nothing, says why; to uvicorn each is a mistake of ours.
_uvicorn = logging.getLogger("uvicorn.error.connections")
_uvicorn.addFilter(lambda record: record.msg != "ASGI callable returned without completing response.")


class Connections:
    """The state that the connections of one listener share. Those that wait for a head are in `waiting`, the
    longest wait first: when there are `most`, a new one takes the place of the first of them. Where none
    waits it has one of PROBE_PLACES: what it asks is read, and answered if it is a probe. Those of these that
    wait are in `spare`; a new one takes the place of the first of them in the same way."""

    def __init__(self, settings: Settings) -> None:
        self.most = settings.max_connections
        self.header_timeout = settings.header_timeout
        self.send_timeout = settings.send_timeout
        self.waiting: dict[HttpConnection, None] = {}
        self.spare: dict[HttpConnection, None] = {}
        self.is_draining = False

    def drain(self, connections: Iterable[object]) -> None:
        """From now on each answer is the last one of its connection, and says so (`Connection: close`). Of
        the `connections` that there are, those that wait for another request are closed."""
        self.is_draining = True
        for each in list(connections):
            if isinstance(each, HttpConnection):
                each.drain()

    @property
    def protocol(self) -> type[asyncio.Protocol]:
        """The protocol that uvicorn makes for each connection: its setting `http`."""
        return cast("type[asyncio.Protocol]", partial(HttpConnection, self))


class HttpConnection(RequestHeads):
    """One connection."""

    # uvicorn's own names fill what the dictionaries of one class share (30): with these beside them each
    # connection would have a whole dictionary of its own, 1.5 kB.
    __slots__ = (
        "_app",
        "_earlier",
        "_end",
        "_half_closed",
        "_is_spare",
        "_left",
        "_shared",
        "_timer",
    )

    def __init__(self, shared: Connections, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.logger = _uvicorn
        self._shared = shared
        self._app = self.app
        self.app = self._answer
        self._timer: asyncio.TimerHandle | None = None
        self._is_spare = False
        self._left = 0
        self._end = math.inf
        self._half_closed: HalfClosed | None = None
        self._earlier: list[RequestResponseCycle] = []

    def connection_made(self, transport: asyncio.Transport) -> None:
        super().connection_made(transport)
        if (over := len(self.connections) - self._shared.most) > 0:
            longest = next(iter(self._shared.waiting), None)
            self._is_spare = longest is None
            if self._is_spare and over > PROBE_PLACES:
                longest = next(iter(self._shared.spare), None)
                if longest is None:
                    self._refuse()
                    return
            if longest is not None:
                longest.abort()
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_wait()
        if self._half_closed is not None:
            self._half_closed.end()
        super().connection_lost(exc)
        for cycle in self._earlier:  # uvicorn tells the last one only: the others would never end
            cycle.disconnected = True
            cycle.message_event.set()

    def eof_received(self) -> bool:  # pyright: ignore[reportIncompatibleMethodOverride] - asyncio.Protocol has it so
        """Whether the connection stays open: it does for an answer whose whole request has come."""
        if self._answering() is None or self.cycle.more_body or self.transport.is_closing():
            return False
        self.cycle.keep_alive = False
        self._half_closed = self._half_closed or HalfClosed(
            self.loop, self.transport, self._answering, self.abort
        )
        return True

    def _answering(self) -> RequestResponseCycle | None:
        """The request that is being answered."""
        cycles = (*self._earlier, self.cycle)
        return next((each for each in cycles if each and not each.response_complete), None)

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            super().on_headers_complete()
            return
        before = self.cycle
        if self._is_spare and len(self.connections) <= self._shared.most:
            self._is_spare = False  # there is room again
        super().on_headers_complete()
        if self._is_spare or self._shared.is_draining:
            self.cycle.keep_alive = False
        if before and not before.response_complete:
            self._earlier.append(before)
        self._end_wait()

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        cycle: RequestResponseCycle = send.__self__
        if scope["http_version"] == "1.0":
            send = _without_chunks(cycle)
        scope["send_body"] = send
        try:
            if self._is_spare and same_path(scope) not in PROBES:
                await self._refusal()(scope, receive, send)
            else:
                await self._app(scope, receive, send)
        finally:
            if send != cycle.send and cycle.response_started and not cycle.response_complete:
                self.abort()  # as its end is the connection's, the client would take a part for the whole
            self.loop.call_soon(self._answered)

    def _answered(self) -> None:
        """uvicorn closes the connection of an answer that was begun and not ended, and tells nobody."""
        if self.transport.is_closing() and self._timer is None and self in self.connections:
            self._wait_for_head()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing() or self.cycle.response_complete:  # no pipelined request goes on
            self._earlier.clear()
            self._wait_for_head()

    def send_400_response(self, msg: str) -> None:
        super().send_400_response(msg)
        self._wait_for_head()

    def abort(self) -> None:
        """Drops the connection with all that the client has not taken, its own and the kernel's."""
        if self not in self.connections:
            return  # it is lost already, and its descriptor may be another's by now
        end = self.transport.get_extra_info("socket")
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        self._end_wait()
        self.transport.abort()

    def drain(self) -> None:
        """Closes it behind its last answer: at once when that was given. One whose next request is here
        already, or that has had none yet, as its client was about to send one, answers that first."""
        if not self.cycle or self.is_head or self.transport.is_closing():
            return
        if not self.cycle.response_complete:
            self.cycle.keep_alive = False
        elif not self._has_unread():
            self.transport.close()

    def _has_unread(self) -> bool:
        """Whether the kernel has something of it that the event loop has not read yet (FIONREAD, tty_ioctl(4)
        and tcp(7))."""
        end = self.transport.get_extra_info("socket")
        return fcntl.ioctl(end.fileno(), termios.FIONREAD, bytes(4)) != bytes(4)

    def _refusal(self) -> Response:
        log.warning("connection_refused", most=self._shared.most)
        error = QueueFull("The server has too many connections. Try again in a moment.", code="server_busy")
        response = problem_response(error, 503, request_id := new_request_id())
        response.headers.update({"x-request-id": request_id, "connection": "close"})
        return response

    def _refuse(self) -> None:
        response = self._refusal()
        head = b"".join(b"%b: %b\r\n" % field for field in response.raw_headers)
        self.transport.write(b"HTTP/1.1 503 Service Unavailable\r\n%b\r\n%b" % (head, response.body))
        self.transport.close()

    def _wait_for_head(self) -> None:
        """From now on: until the head of a request is there, or the client has taken the rest."""
        self._end_wait()
        (self._shared.spare if self._is_spare else self._shared.waiting)[self] = None
        self._wait()

    def _wait(self) -> None:
        is_closing, self._left = self.transport.is_closing(), self.transport.get_write_buffer_size()
        patience = self._shared.send_timeout if is_closing else self._shared.header_timeout
        if is_closing and self._end == math.inf:
            self._end = self.loop.time() + patience + self._left / MIN_RATE
        self._timer = self.loop.call_later(patience, self._waited)

    def _end_wait(self) -> None:
        self._shared.waiting.pop(self, None)
        self._shared.spare.pop(self, None)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _waited(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
        elif self.transport.get_write_buffer_size() == self._left or self.loop.time() >= self._end:
            self.abort()
            return
        self._wait()


def _without_chunks(cycle: RequestResponseCycle) -> Any:
    """The `send` of `cycle`, for a client of HTTP/1.0, which knows no chunks (RFC 9112, 6.1): an answer of
    unknown length ends with the connection."""
    is_unbounded = False

    async def send(message: Any) -> None:
        nonlocal is_unbounded
        if message["type"] == "http.response.start":
            is_unbounded = all(name.lower() != b"content-length" for name, _ in message["headers"])
            if is_unbounded:
                cycle.chunked_encoding = False
        elif is_unbounded:
            cycle.expected_content_length = len(message.get("body", b""))
        await cycle.send(message)

    return send
