"""The server side of a connection: header fields are those of a request's head.

uvicorn adds the fields behind a chunked body, its trailers, to the header fields of the request. A proxy that
removes a field from heads passes trailers on, so that anybody could say there what only the proxy may say.
"""

from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class RequestHeads(HttpToolsProtocol):
    """One connection, on which trailers are read and dropped (RFC 9110, 6.5.1)."""

    __slots__ = ("is_head",)  # beside the dictionary that all of uvicorn's connections share the names of

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.is_head = False
        """Whether the head of a request is being read."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self.is_head = True

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.is_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self.is_head = False
