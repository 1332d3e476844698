"""The wire under the SDK: the SDK says what a request looks like, aiohttp sends it.

Sent through the SDK, each call would build the same address and headers again, at four times the cost of the
call itself. aiohttp hands out the open response, so that one read gives all bytes since the last and a
watchdog can end a silent stream.
"""

import ssl
from io import BytesIO
from typing import NamedTuple

import aiohttp
import httpx2
from multidict import CIMultiDict, istr

MAX_WHOLE_BODY = 1024 * 1024
"""Bytes that are read of a body that is not a stream: an error, a count."""

_OWN_HEADERS = frozenset({b"connection", b"content-length", b"host", b"transfer-encoding"})
"""What aiohttp writes itself."""
_KEEPALIVE = 30.0
_LARGE = 512 * 1024


class Prepared(NamedTuple):
    """A request without its body."""

    method: str
    url: str
    headers: CIMultiDict[str]


def prepared(request: httpx2.Request) -> Prepared:
    """What is to be sent of a request that the SDK has built."""
    url = request.url
    if url.userinfo:  # httpx2 has made an Authorization header of it
        url = url.copy_with(userinfo=b"")
    return Prepared(
        request.method,
        str(url),
        # As aiohttp keeps them: it shares such names between requests, and copies others for each.
        CIMultiDict(
            (istr(name.decode("latin-1")), value.decode("latin-1"))
            for name, value in request.headers.raw
            if name.lower() not in _OWN_HEADERS
        ),
    )


class Wire:
    """Unlimited connections, kept alive; no redirects, no cookies, no timeout but one to connect (in seconds,
    name resolution and TLS included). No proxy but `proxy`, http://[user:password@]host:port: those of the
    environment do not count."""

    def __init__(self, connect_timeout: float, proxy: str | None = None) -> None:
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect_timeout)
        self._proxy = proxy
        self._session: aiohttp.ClientSession | None = None

    async def send(self, request: Prepared, content: bytes) -> aiohttp.ClientResponse:
        """The open response, whatever its status. Raises what aiohttp raises, TimeoutError where nobody could
        be reached in time, and ConnectionError where the proxy refuses."""
        session = self._session or self._open_session(request)
        try:
            return await session.request(
                request.method,
                request.url,
                headers=request.headers,
                # aiohttp wants to write a large body piece by piece.
                data=BytesIO(content) if len(content) > _LARGE else content,
                allow_redirects=False,
                proxy=self._proxy,
            )
        except aiohttp.ClientHttpProxyError as refused:
            raise ConnectionError(f"the proxy answers with HTTP {refused.status}") from None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _open_session(self, request: Prepared) -> aiohttp.ClientSession:
        """The one session; made here because it belongs to the running loop."""
        context: ssl.SSLContext | bool = True
        if request.url.startswith("https:"):
            context = httpx2.create_ssl_context()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEPALIVE, ssl=context),
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=self._timeout,
        )
        return self._session


async def whole_body(response: aiohttp.ClientResponse) -> bytes:
    """The body, up to a bound: what is longer is cut. The response is done with, also when this fails."""
    found: list[bytes] = []
    left = MAX_WHOLE_BODY
    try:
        while left > 0 and (data := await response.content.readany()):
            left -= len(data)
            found.append(data)
    finally:
        response.release()
    return b"".join(found)
