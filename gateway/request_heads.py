"""The server side of a connection: what the head of a request says, and only that, is believed.

uvicorn adds the fields behind a chunked body, its trailers, to the header fields of the request. A proxy that
removes a field from heads passes trailers on, so that anybody could say there what only the proxy may say.

It also drops the body of each request that offers another protocol (`Upgrade: h2c`, as Java's HttpClient
sends it with everything by default). Here an offer is passed over and the request answered in HTTP/1.1, as if
it had none (RFC 9110, 7.8).
"""

from typing import Any

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

MAX_HEAD = 65_536
"""Bytes of a request's head, and of all its header fields and trailers together; httptools has no bound."""
OFFERS = frozenset({b"upgrade", b"http2-settings"})
"""Fields of a head that say to which protocol the client would change."""
PREFACE = "Pause on PRI/Upgrade"
"""What llhttp says of the beginning of a connection that speaks HTTP/2 from the start (RFC 9113, 3.4)."""


class RequestHeads(HttpToolsProtocol):
    """One connection, on which trailers are read and dropped (RFC 9110, 6.5.1), offers passed over, and heads
    that do not end refused."""

    # beside the dictionary that all of uvicorn's connections share the names of
    __slots__ = ("_fields_size", "_head_size", "_offer", "is_head")

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.is_head = False
        """Whether the head of a request is being read."""
        self._offer: bytes | None = None
        self._head_size = 0
        self._fields_size = 0

    def data_received(self, data: bytes) -> None:
        was_head = self.is_head
        self._unset_keepalive_if_required()
        self._read(data)
        if was_head and self.is_head:
            self._head_size += len(data)
            if self._head_size > MAX_HEAD and not self.transport.is_closing():
                self.send_400_response(f"The head of the request is larger than {MAX_HEAD} bytes.")

    def _read(self, data: bytes) -> None:
        pieces = [memoryview(data)]
        try:
            while pieces:
                piece = pieces.pop()
                try:
                    self.parser.feed_data(piece)
                except httptools.HttpParserUpgrade as offered:
                    if self._offer is None:
                        self.send_400_response("This is no proxy: CONNECT is not answered.")
                        return
                    pieces += [piece[offered.args[0] :], self._begin_anew(self._offer)]
        except httptools.HttpParserError as error:
            if PREFACE in str(error):
                self._refuse_http2()
            else:
                self.logger.warning("Invalid HTTP request received.")
                self.send_400_response("Invalid HTTP request received.")

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.is_head = True
        self._head_size = self._fields_size = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.is_head:
            super().on_header(name, value)
        self._fields_size += len(name) + len(value)
        if self._fields_size > MAX_HEAD:
            raise ValueError("too many header fields")  # httptools makes a 400 of it

    def on_headers_complete(self) -> None:
        if self.parser.should_upgrade():
            # The parser takes the request for one without a body, and stops behind its head: see _begin_anew.
            self._offer = self._head_without_offer()
            return
        super().on_headers_complete()
        self.is_head = False

    def on_message_complete(self) -> None:
        if not self.parser.should_upgrade():
            super().on_message_complete()

    def _begin_anew(self, head: bytes) -> memoryview:
        """What is to be read now: the head of the request once more, without its offer."""
        self._offer = None
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn's
        return memoryview(head)

    def _head_without_offer(self) -> bytes | None:
        """The head that was read, with the same fields in the same order, so that its body has the same
        length; None for what is no request to a server (CONNECT)."""
        method = self.parser.get_method()
        if method == b"CONNECT":
            return None
        version = self.parser.get_http_version().encode()
        kept = (b"%b: %b\r\n" % field for field in self.headers if field[0] not in OFFERS)
        return b"%b %b HTTP/%b\r\n%b\r\n" % (method, self.url, version, b"".join(kept))

    def _refuse_http2(self) -> None:
        words = b"HTTP/2 is not spoken here without TLS: ask in HTTP/1.1."
        head = b"content-type: text/plain; charset=utf-8\r\ncontent-length: %d\r\nconnection: close\r\n\r\n"
        self.transport.write(STATUS_LINE[505] + head % len(words) + words)
        self.transport.close()
