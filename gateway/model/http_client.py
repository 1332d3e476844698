"""The wire under the SDK: the SDK builds the form of a request, aiohttp's connections send it.

Sent through the SDK, each call would build the same address and headers again, at four times the cost of the
call itself. aiohttp has the addresses, TLS, proxies and the connections that are kept; the response is read
where it arrives (http_response.py).
"""

import ssl
from typing import NamedTuple

import aiohttp
import httpx2
from yarl import URL

from gateway.certificates import certificates_named
from gateway.errors import ModelError, SettingsError
from gateway.model.http_response import HttpResponse

MAX_WHOLE_BODY = 1024 * 1024
"""Bytes that are read of a body that is not a stream: an error, a count."""

_OF_CONNECTION = frozenset({b"connection", b"content-length", b"transfer-encoding"})
"""The connection decides what a request is sent with."""
_KEEPALIVE = 30.0


KEY_PLACE = "the-key-goes-here"
"""Stands in a prepared request for the key of whoever asks."""


class PreparedRequest(NamedTuple):
    """A request without its body: its method and address, and its header lines."""

    method: str
    url: str
    headers: bytes

    def with_key(self, key: str) -> "PreparedRequest":
        """With that key in its place. Raises errors.ModelError: it cannot stand in a header."""
        if "\n" in key or "\r" in key or not key.isascii():
            raise ModelError(
                "The key of the model's endpoint has a line break or a sign that no header can have: check "
                "ANTHROPIC_API_KEY.",
                code="upstream_error",
                retryable=False,
            )
        return self._replace(headers=self.headers.replace(KEY_PLACE.encode(), key.encode()))


def prepared(request: httpx2.Request) -> PreparedRequest:
    """What is to be sent of a request that the SDK has built. Raises errors.ModelError: a header has a line
    break."""
    url = request.url
    if url.userinfo:  # httpx2 has made an Authorization header of it
        url = url.copy_with(userinfo=b"")
    fields = [field for field in request.headers.raw if field[0].lower() not in _OF_CONNECTION]
    if any(b"\n" in value or b"\r" in value for _, value in fields):
        raise ModelError(
            "A header of the request to the model has a line break: check ANTHROPIC_BASE_URL.",
            code="upstream_error",
            retryable=False,
        )
    return PreparedRequest(request.method, str(url), b"".join(b"%b: %b\r\n" % field for field in fields))


class Wire:
    """Unlimited connections, kept alive; no redirects, no cookies, no timeout but one to connect (in seconds,
    name resolution and TLS included). No proxy but `proxy`, http://[user:password@]host:port: those of the
    environment do not count."""

    def __init__(self, connect_timeout: float, proxy: str | None = None) -> None:
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect_timeout)
        self._proxy = URL(proxy) if proxy else None
        self._connector: aiohttp.TCPConnector | None = None
        self._targets: dict[str, aiohttp.ClientRequest] = {}

    async def send(self, request: PreparedRequest, content: bytes) -> HttpResponse:
        """The open response, with any status. Raises what `HttpResponse.send` raises, TimeoutError where no
        address could be reached in time, and ConnectionError where the proxy refuses."""
        connector = self._connector or self._open(request)
        target = self._targets.get(request.url) or self._target(request)
        try:
            connection = await connector.connect(target, [], self._timeout)
            while connection.protocol is not None and connection.protocol.should_close:
                connection.close()  # something came on it while no answer was awaited
                connection = await connector.connect(target, [], self._timeout)
        except aiohttp.ClientHttpProxyError as refused:
            raise ConnectionError(f"the proxy answers with HTTP {refused.status}") from None
        try:
            response = HttpResponse(connection)
        except BaseException:
            connection.close()
            raise
        try:
            await response.send((self._head(request, target, len(content)), content))
        except BaseException:
            response.close()
            raise
        return response

    async def close(self) -> None:
        if self._connector is not None:
            await self._connector.close()

    def _open(self, request: PreparedRequest) -> aiohttp.TCPConnector:
        """The one connector; made here because it belongs to the running loop."""
        context: ssl.SSLContext | bool = True
        if request.url.startswith("https:"):
            try:
                context = certificates_named() or httpx2.create_ssl_context()
            except SettingsError as error:
                raise OSError(error.message) from None
        self._connector = aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEEPALIVE, ssl=context)
        return self._connector

    def _target(self, request: PreparedRequest) -> aiohttp.ClientRequest:
        """What the connector wants to know of where a request goes."""
        target = aiohttp.ClientRequest(request.method, URL(request.url), proxy=self._proxy)
        self._targets[request.url] = target
        return target

    def _head(self, request: PreparedRequest, target: aiohttp.ClientRequest, size: int) -> bytes:
        url, more = target.url, ""
        where = url.raw_path_qs
        if self._proxy is not None and not target.is_ssl():
            where = str(url)
            if credentials := target.headers.get("Proxy-Authorization"):  # which connecting has put there
                more = f"Proxy-Authorization: {credentials}\r\n"
        line = f"{request.method} {where} HTTP/1.1\r\n{more}content-length: {size}\r\n"
        return b"%b%b\r\n" % (line.encode("latin-1"), request.headers)


async def whole_body(response: HttpResponse) -> bytes:
    """The body, up to a bound: what is longer is cut. The response is done with, also when this fails."""
    found: list[bytes] = []
    left = MAX_WHOLE_BODY
    try:
        while left > 0 and (data := await response.read()):
            left -= len(data)
            found.append(data)
    finally:
        response.close()
    return b"".join(found)
