"""Fetches a page of the public web, and nothing else.

    url ─▶ checked ─▶ resolved once ─▶ every address public? ─▶ connect to that very address ─▶ answer
     ▲                                                          Host and certificate: the name   │
     └───────────────────────────── a redirect is a new url ◀───────────────────────────────────┘

The name is not looked up again between check and connect, so an answer that changes in between changes
nothing. Requests go to the transport itself, without a client around it: no cookies, no proxy and no
credentials from the environment, no redirect that was not checked.
"""

import asyncio
import re
import ssl
import zlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import urljoin

import httpx2

from gateway import __version__
from gateway.errors import ToolError, ToolTimedOut
from gateway.tools.fetch.addresses import MAX_URL, Address, checked, host_of, is_public, literal, not_public
from gateway.tools.fetch.names import LOOKUP_SECONDS, SystemNames

MAX_BYTES = 1_048_576
"""Bytes of a page that are read, compressed and unpacked; the rest is left."""
MAX_FILE_BYTES = 8_388_608
"""Bytes of an image or a PDF, likewise; one that is larger is of no use in part, so it is refused."""
MAX_SECONDS = 20.0
"""For all of it: names, redirects, the body."""
MAX_REDIRECTS = 5
_MAX_ADDRESSES = 4  # of one name that are tried
_SILENCE = httpx2.Timeout(10, connect=5)  # seconds without an answer
_CONNECTIONS = httpx2.Limits(
    max_connections=32,
    max_keepalive_connections=0,  # two names may share an address, but not a connection
)
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

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Host and port -> all its addresses. Raises OSError when there are none, TimeoutError when it took long."""


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """What was fetched: `url` after all redirects, `mime` without parameters, `charset` as it was declared,
    `whole` unless the body was longer than MAX_BYTES. Of a type in FILES it is no text."""

    url: str
    mime: str
    charset: str | None
    body: bytes
    whole: bool


def way_out(verify: ssl.SSLContext | bool = True) -> httpx2.AsyncHTTPTransport:
    """Connections to addresses; `verify` says whose certificates are trusted."""
    return httpx2.AsyncHTTPTransport(verify=verify, limits=_CONNECTIONS)


class Fetcher:
    """Fetches pages. `resolve` and `transport` are the two ways out of this process; whatever they are, only
    addresses that were checked are asked for."""

    def __init__(
        self, resolve: Resolve | None = None, transport: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        self._resolve = resolve or SystemNames()
        self._transport = transport or way_out()

    async def get(self, url: str) -> FetchedPage:
        """The page at `url`.

        Raises:
            ToolError: it may not be fetched, does not answer, or is of a type that is not read. The message
                says what to do, and nothing about what is inside the network.
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
            response = await self._ask(asked)
            try:
                if response.status_code not in _REDIRECTS:
                    return await _read(asked, response)
                url = _redirected(asked, response)
            finally:
                await response.aclose()
        raise ToolError(f"The page redirects more than {MAX_REDIRECTS} times. Use the address it leads to.")

    async def _ask(self, url: httpx2.URL) -> httpx2.Response:
        headers = {**_HEADERS, "Host": url.netloc.decode("ascii")}
        extensions: dict[str, Any] = {"timeout": _SILENCE.as_dict()}
        if literal(host_of(url)) is None:
            extensions["sni_hostname"] = host_of(url)
        failed: httpx2.TransportError | None = None
        for address in await self._public_addresses(url):
            pinned = url.copy_with(host=str(address))
            try:
                return await self._transport.handle_async_request(
                    httpx2.Request("GET", pinned, headers=headers, extensions=extensions)
                )
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failed = error
        raise failed or not_public(host_of(url))

    async def _public_addresses(self, url: httpx2.URL) -> Sequence[Address]:
        host = host_of(url)
        if (given := literal(host)) is not None:
            return [given]
        port = url.port or (443 if url.scheme == "https" else 80)
        try:
            found = [literal(address) for address in await self._resolve(host, port)]
        except TimeoutError:
            message = (
                f"The address of {host} was not found within {LOOKUP_SECONDS:g} seconds. Try again later."
            )
            raise ToolTimedOut(message) from None
        except (OSError, UnicodeError):
            raise not_public(host) from None
        public = [address for address in found if address is not None and is_public(address)]
        if len(public) < len(found):
            raise not_public(host)
        return list(dict.fromkeys(public))[:_MAX_ADDRESSES]


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
