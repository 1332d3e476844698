"""The response of an endpoint, on a connection that aiohttp made.

Its reader can be called within the very read of the socket, so that no task wakes up for it.
"""

import asyncio
import re
import zlib
from collections.abc import Callable, Sequence
from typing import Any

import aiohttp
import httptools
from aiohttp.connector import Connection

MAX_HEAD = 65_536
"""Bytes of the head, and of what is no body between two pieces of it."""
MAX_HELD = 512 * 1024
"""Bytes that wait for their reader before no more are read from the socket."""
MAX_INFLATED = 16 * 1024 * 1024
"""Bytes that one read of a compressed body may become; the socket gives 256 kB at once."""

_INFLATED = frozenset({"deflate", "gzip", "x-gzip"})
_PLAIN = frozenset({"", "identity", "none", "utf-8", "utf8"})
"""What servers name that have encoded nothing."""
_CHARSET = re.compile(r"""charset\s*=\s*["']?([^\s"';]+)""", re.IGNORECASE)


class HttpResponse(asyncio.Protocol):
    """One request and its response; `send` comes first. When the response has ended, its connection goes back
    to the pool, or is closed if it cannot serve another. Until then the caller owes a `close`."""

    __slots__ = (
        *(
            "_connection",
            "_failure",
            "_handler",
            "_has_head",
            "_head_size",
            "_held",
            "_inflated",
            "_inflater",
        ),
        *("_is_complete", "_keeps", "_parser", "_size", "_transport", "_waiter"),
        *("has_ended", "headers", "on_data", "status", "unread_coding"),
    )

    def __init__(self, connection: Connection) -> None:
        handler, transport = connection.protocol, connection.transport
        if handler is None or transport is None:
            raise aiohttp.ServerDisconnectedError
        self.status = 0
        self.headers: dict[str, str] = {}
        """By name in lower case; of several with one name the first."""
        self.on_data: Callable[[], None] | None = None
        """Is called whenever something came, also at the end, unless `read` is awaited."""
        self.has_ended = False
        self.unread_coding: str | None = None
        """The content-encoding of a body that cannot be read, and so is empty: no request asks for any."""
        self._connection: Connection | None = connection
        self._handler, self._transport = handler, transport
        self._parser = httptools.HttpResponseParser(self)
        # As lenient as aiohttp is with responses.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self._head_size = 0
        self._has_head = self._is_complete = self._keeps = False
        self._held: list[bytes] = []
        self._size = 0
        self._inflater: Any = None
        self._inflated = 0
        self._failure: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        transport.set_protocol(self)

    async def send(self, parts: Sequence[bytes]) -> None:
        """Sends the request; returns with the head of the response. Raises OSError, aiohttp.ClientError or
        httptools.HttpParserError: there is none."""
        self._transport.writelines(parts)
        while not self._has_head:
            self._check()
            await self._wait()

    async def read(self) -> bytes:
        """All that came since the last read, at least something; b"" at the end. Raises as `send` does, when
        the response has broken off."""
        while not self.is_ready:
            await self._wait()
        return self.taken()

    @property
    def is_ready(self) -> bool:
        """Whether `taken` has something."""
        return bool(self._held) or self.has_ended or self._failure is not None

    def taken(self) -> bytes:
        """As `read`, without a wait: b"" also when nothing has come."""
        held, self._held = self._held, []
        if not held:
            self._check()
            return b""
        if self._size > MAX_HELD and self._connection is not None and not self._transport.is_closing():
            self._transport.resume_reading()
        self._size = 0
        return held[0] if len(held) == 1 else b"".join(held)

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "application/octet-stream").partition(";")[0].strip().lower()

    @property
    def charset(self) -> str | None:
        found = _CHARSET.search(self.headers.get("content-type", ""))
        return found[1] if found else None

    def close(self) -> None:
        """Closes the connection unless the response has ended; who still reads finds it broken off."""
        if self._connection is not None:
            self._keeps = False
            self._fail(aiohttp.ClientConnectionError("Connection closed"))

    def end_within(self, seconds: float) -> None:
        """Gives up what still comes, for a response whose end is near: closed if it has not ended by then."""
        if self._connection is not None:
            self.on_data = self._discard
            self._discard()
            asyncio.get_running_loop().call_later(seconds, self.close)

    def _discard(self) -> None:
        if self._held:
            self.taken()

    # The connection

    def data_received(self, data: bytes) -> None:
        self._inflated = 0
        self._head_size += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade, zlib.error) as error:
            self._keeps = False
            if not self._is_complete:
                self._fail(error)
                return
        if self._is_complete:
            self._end()
            return
        if self._head_size > MAX_HEAD:
            self._fail(httptools.HttpParserError("the head, or what is no body, is too large"))
            return
        if self._size > MAX_HELD:
            self._transport.pause_reading()
        self._notify()

    def connection_lost(self, exc: Exception | None) -> None:
        self._handler.connection_lost(exc)
        headers = self.headers
        until_close = "content-length" not in headers and "transfer-encoding" not in headers
        if exc is None and self._has_head and until_close:
            self._end()
        else:
            self._fail(exc or aiohttp.ServerDisconnectedError())

    # The parser

    def on_message_begin(self) -> None:
        self._keeps = False  # also what comes behind a response

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._has_head:
            self.headers.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))

    def on_headers_complete(self) -> None:
        if self._has_head:
            return
        self.status = self._parser.get_status_code()
        if self.status < 200:  # the response is still to come
            self.headers.clear()
            return
        self._has_head = True
        named = [each.strip() for each in self.headers.get("content-encoding", "").lower().split(",")]
        codings = [each for each in named if each not in _PLAIN]
        if len(codings) == 1 and codings[0] in _INFLATED:
            self._inflater = zlib.decompressobj(wbits=47)  # gzip or zlib, by its beginning
        elif codings:
            self.unread_coding = ", ".join(codings)

    def on_body(self, body: bytes) -> None:
        if self._is_complete:
            return  # of what came behind this response, which ends the connection
        self._head_size = 0
        if self.unread_coding is not None:
            return
        if self._inflater is not None:
            if self._inflater.eof:
                raise ValueError("more than the compressed body")
            body = self._inflater.decompress(body, MAX_INFLATED - self._inflated)
            self._inflated += len(body)
            if self._inflater.unconsumed_tail:
                raise ValueError("too much in one read")
        if body:
            self._held.append(body)
            self._size += len(body)

    def on_message_complete(self) -> None:
        if self._has_head:
            self._keeps = not self._is_complete and self._parser.should_keep_alive()
            self._is_complete = True

    def _end(self) -> None:
        self.has_ended = True
        self._release()
        self._notify()

    def _fail(self, error: Exception) -> None:
        if not self.has_ended and self._failure is None:
            self._failure = error
        self._release()
        self._notify()

    def _release(self) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        transport = self._transport
        if transport.is_closing() or transport.get_write_buffer_size():
            self._keeps = False
        transport.set_protocol(self._handler)
        if self._keeps:
            transport.resume_reading()
            connection.release()
        else:
            if transport.get_write_buffer_size():
                transport.abort()  # a peer that takes nothing would keep the rest of the request
            connection.close()

    def _check(self) -> None:
        if self._failure is not None:
            raise self._failure

    def _notify(self) -> None:
        if self._waiter is not None:
            if not self._waiter.done():
                self._waiter.set_result(None)
        elif self.on_data is not None:
            self.on_data()

    async def _wait(self) -> None:
        self._waiter = asyncio.get_running_loop().create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None
