"""Responses that a client has already: ETag, If-None-Match, 304 (RFC 9110, section 13)."""

import asyncio
import re
import threading
from collections.abc import Callable
from hashlib import sha256

from starlette.datastructures import Headers
from starlette.responses import Response

_ETAG = re.compile(r'(?:W/)?("[^"]*")')


def is_known(headers: Headers, etag: str) -> bool:
    """Whether the client has the content already (If-None-Match)."""
    given = headers.get("if-none-match", "")
    return given.strip() == "*" or etag in _ETAG.findall(given)


def unless_known(headers: Headers, body: bytes) -> Response:
    """A response of JSON that its reader may keep and ask about again, or a 304 where it has it already."""
    etag = f'"{sha256(body).hexdigest()[:32]}"'
    about = {"cache-control": "private, no-cache", "etag": etag}
    if is_known(headers, etag):
        return Response(status_code=304, headers=about)
    return Response(body, 200, about, "application/json")


class LastingDocument:
    """A document that is the same for everybody for as long as the process lives: `make` is called once, in a
    thread, when somebody asks for it."""

    def __init__(self, make: Callable[[], bytes], media_type: str) -> None:
        self._make = make
        self._media_type = media_type
        self._one = threading.Lock()
        self._made: tuple[bytes, dict[str, str]] | None = None

    @property
    def is_made(self) -> bool:
        """Whether somebody has asked for it."""
        return self._made is not None

    async def response(self, headers: Headers) -> Response:
        """The document, or a 304 where the client has it already."""
        body, about = self._made or await asyncio.to_thread(self._once)
        if is_known(headers, about["etag"]):
            return Response(status_code=304, headers=about)
        return Response(body, 200, about, self._media_type)

    def _once(self) -> tuple[bytes, dict[str, str]]:
        with self._one:
            if self._made is None:
                body = self._make()
                about = {"cache-control": "public, no-cache", "etag": f'"{sha256(body).hexdigest()[:32]}"'}
                self._made = body, about
            return self._made
