"""Fetches a page of the public web, and nothing else.

    url ─▶ checked ─▶ resolved once ─▶ every address public? ─▶ connect to that very address ─▶ answer
     ▲                                                          Host and certificate: the name   │
     └───────────────────────────── a redirect is a new url ◀───────────────────────────────────┘

How a request stays there is in guarded_requests.py; no redirect is followed that was not checked.
"""

import asyncio
import re
import zlib
from contextlib import aclosing
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import urljoin

import httpx2

from gateway import __version__
from gateway.errors import ToolError, ToolTimedOut
from gateway.tools.fetch.addresses import MAX_URL, checked, host_of
from gateway.tools.fetch.guarded_requests import GuardedRequests, Resolve

MAX_BYTES = 1_048_576
"""Bytes of a page that are read, compressed and unpacked; the rest is left."""
MAX_FILE_BYTES = 8_388_608
"""Bytes of an image or a PDF, likewise; one that is larger is of no use in part, so it is refused."""
MAX_SECONDS = 20.0
"""For all of it: names, redirects, the body."""
MAX_REDIRECTS = 5
_REDIRECTS = {301, 302, 303, 307, 308}
FILES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "application/pdf"})
"""Types of bodies that are no text and are read whole, as files."""
_TEXT = re.compile(r"text/[\w.+-]+|application/(json|xml|[\w.+-]+\+(json|xml))")
_CHARSET = re.compile(r"""charset\s*=\s*["']?([\w.:-]{1,40})""", re.IGNORECASE)
_HEADERS = {
    "User-Agent": f"chat-gateway/{__version__}",
    "Accept": (
        "text/html, application/xhtml+xml, text/*;q=0.9, application/json;q=0.9, application/xml;q=0.8, "
        "application/pdf;q=0.7, image/*;q=0.7"
    ),
    "Accept-Encoding": "gzip",
}


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """What was fetched: `url` after all redirects, `mime` without parameters, `charset` as it was declared,
    `whole` unless the body was longer than MAX_BYTES. Of a type in FILES it is no text."""

    url: str
    mime: str
    charset: str | None
    body: bytes
    whole: bool


class Fetcher:
    """Fetches pages. `resolve` and `transport` are the two ways out of this process; both are used for
    checked addresses only."""

    def __init__(
        self, resolve: Resolve | None = None, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        self._requests = GuardedRequests(resolve, transport)

    async def get(self, url: str) -> FetchedPage:
        """The page at `url`.

        Raises:
            ToolError: it may not be fetched, does not answer, or is of a type that is not read. The message
                has what to do, and nothing about the inside of the network.
            ToolTimedOut: it took longer than MAX_SECONDS, or its name longer than LOOKUP_SECONDS.
        """
        try:
            async with asyncio.timeout(MAX_SECONDS):
                return await self._follow(url)
        except TimeoutError:
            raise ToolTimedOut(f"The page did not arrive within {MAX_SECONDS:g} seconds.") from None
        except (httpx2.ConnectError, httpx2.ConnectTimeout):
            raise ToolError(
                "The page's server cannot be reached, or its certificate is not valid for its name."
            ) from None
        except (httpx2.HTTPError, zlib.error):
            raise ToolError("The page's server broke off or did not answer in proper HTTP.") from None

    async def _follow(self, url: str) -> FetchedPage:
        for _ in range(MAX_REDIRECTS + 1):
            asked = checked(url)
            response = await self._requests.send(asked, "GET", _HEADERS)
            try:
                if response.status_code not in _REDIRECTS:
                    return await _read(asked, response)
                url = _redirected(asked, response)
            finally:
                await response.aclose()
        raise ToolError(f"The page redirects more than {MAX_REDIRECTS} times. Use the address it leads to.")


def _redirected(url: httpx2.URL, response: httpx2.Response) -> str:
    try:
        return urljoin(str(url), response.headers.get("location", "")[: MAX_URL + 1])
    except ValueError:
        raise ToolError("The page redirects to something that is no address.") from None


async def _read(url: httpx2.URL, response: httpx2.Response) -> FetchedPage:
    if not response.is_success:
        raise ToolError(f"{host_of(url)} answered {_named(response.status_code)} for this page.")
    declared = response.headers.get("content-type", "")
    mime = declared.partition(";")[0].strip().lower()
    if mime in FILES:
        body, whole = await _body(response, MAX_FILE_BYTES)
        if not whole:
            raise ToolError(f"This is {mime} of more than {MAX_FILE_BYTES} bytes: too large to be read.")
        return FetchedPage(str(url), mime, None, body, whole)
    if not _TEXT.fullmatch(mime):
        kind = mime if re.fullmatch(r"[\w.+-]{1,40}/[\w.+-]{1,60}", mime, re.ASCII) else "of no known type"
        raise ToolError(
            f"This page is {kind}; only text, HTML, JSON and XML can be read, and PDF, PNG, JPEG, GIF and "
            "WebP as files."
        )
    charset = _CHARSET.search(declared)
    body, whole = await _body(response, MAX_BYTES)
    return FetchedPage(str(url), mime, charset[1] if charset else None, body, whole)


def _named(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


async def _body(response: httpx2.Response, most: int) -> tuple[bytes, bool]:
    """The first `most` bytes, and whether that is all. Unpacked here: the cap counts before and after."""
    encoding = response.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in {"identity", "gzip"}:
        raise ToolError("This page is packed in a way that was not asked for, so it cannot be read.")
    unpack = zlib.decompressobj(zlib.MAX_WBITS | 16).decompress if encoding == "gzip" else None
    body, arrived = bytearray(), 0
    async with aclosing(response.aiter_raw()) as raw:
        async for data in raw:
            arrived += len(data)
            body += unpack(data, most + 1 - len(body)) if unpack else data
            if max(arrived, len(body)) > most:
                return bytes(body[:most]), False
    return bytes(body), True
