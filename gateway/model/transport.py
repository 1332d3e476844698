"""The wire under the SDK: aiohttp behind httpx2's transport interface.

The SDK's own aiohttp transport cuts what arrived into blocks again and hides the connection. This one hands
the open response out, so that one read gives all bytes since the last and a watchdog can end a silent stream.
"""

import ssl
from collections.abc import AsyncIterator
from io import BytesIO
from typing import cast

import aiohttp
import httpx2

UPSTREAM = "gateway.upstream"
"""Where a response's `extensions` hold the open `aiohttp.ClientResponse`."""

MAX_WHOLE_BODY = 1024 * 1024
"""Bytes that are read of a body that is not a stream: an error, a count."""

_OWN_HEADERS = frozenset({b"connection", b"content-length", b"host", b"transfer-encoding"})
"""What aiohttp writes itself."""
_KEEPALIVE = 30.0
_LARGE = 512 * 1024


class AiohttpTransport(httpx2.AsyncBaseTransport):
    """Unlimited connections, kept alive; no redirects, no cookies, no timeout but one to connect (in seconds,
    name resolution and TLS included). No proxy but `proxy`, http://[user:password@]host:port: those of the
    environment do not count."""

    def __init__(self, connect_timeout: float, proxy: str | None = None) -> None:
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect_timeout)
        self._proxy = proxy
        self._session: aiohttp.ClientSession | None = None

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        content, url = request.content, request.url
        if url.userinfo:  # httpx2 has made an Authorization header of it
            url = url.copy_with(userinfo=b"")
        try:
            upstream = await self._open_session(request).request(
                request.method,
                str(url),
                headers=[
                    (name.decode("latin-1"), value.decode("latin-1"))
                    for name, value in request.headers.raw
                    if name.lower() not in _OWN_HEADERS
                ],
                # aiohttp wants to write a large body piece by piece.
                data=BytesIO(content) if len(content) > _LARGE else content or None,
                allow_redirects=False,
                proxy=self._proxy,
            )
        except aiohttp.ClientHttpProxyError as refused:
            raise ConnectionError(f"the proxy answers with HTTP {refused.status}") from None
        return httpx2.Response(
            upstream.status,
            # aiohttp has undone the encoding already.
            headers=[pair for pair in upstream.raw_headers if pair[0].lower() != b"content-encoding"],
            stream=_Body(upstream),
            request=request,
            extensions={UPSTREAM: upstream},
        )

    async def aclose(self) -> None:
        if self._session is not None:
            await self._session.close()

    def _open_session(self, request: httpx2.Request) -> aiohttp.ClientSession:
        """The one session; made here because it belongs to the running loop."""
        if self._session is None:
            context: ssl.SSLContext | bool = True
            if request.url.scheme == "https":
                context = httpx2.create_ssl_context()
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEPALIVE, ssl=context),
                cookie_jar=aiohttp.DummyCookieJar(),
                timeout=self._timeout,
            )
        return self._session


class _Body(httpx2.AsyncByteStream):
    """A whole body, up to a bound: what is longer is cut."""

    def __init__(self, upstream: aiohttp.ClientResponse) -> None:
        self._upstream = upstream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        left = MAX_WHOLE_BODY
        while left > 0 and (data := await self._upstream.content.readany()):
            left -= len(data)
            yield data

    async def aclose(self) -> None:
        self._upstream.release()


def upstream_of(response: httpx2.Response) -> aiohttp.ClientResponse:
    """The open response behind one that came through `AiohttpTransport`."""
    return cast("aiohttp.ClientResponse", response.extensions[UPSTREAM])
