"""Requests that reach the addresses they were checked for, and nothing else.

    url, checked ─▶ resolved once ─▶ every address allowed? ─▶ connect to that very address ─▶ response
                                                              Host and certificate: the name

The name is not looked up again between check and connect, so an answer that changes in between changes
nothing. Requests go to the transport itself, without a client around it: no cookies, no proxy and no
credentials from the environment, and no redirect is followed.
"""

import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import httpx2

from gateway.errors import ToolError, ToolTimedOut
from gateway.tools.fetch.addresses import NOTHING, Address, ListedHosts, checked, host_of, literal, not_public
from gateway.tools.fetch.names import LOOKUP_SECONDS, SystemNames

_MAX_ADDRESSES = 4  # of one name that are tried
_SILENCE = httpx2.Timeout(10, connect=5)  # seconds without an answer
_CONNECTIONS = httpx2.Limits(
    max_connections=32,
    max_keepalive_connections=0,  # two names may share an address, but not a connection
)

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""Host and port -> all its addresses. Raises OSError when there are none, TimeoutError when it took long."""


def way_out(
    verify: ssl.SSLContext | bool = True, connections: httpx2.Limits = _CONNECTIONS
) -> httpx2.AsyncHTTPTransport:
    """Connections to addresses; `verify` is whose certificates are trusted."""
    return httpx2.AsyncHTTPTransport(verify=verify, limits=connections)


class GuardedRequests:
    """`resolve` and `transport` are the two ways out of this process; both are used for public and `listed`
    addresses only."""

    def __init__(
        self,
        resolve: Resolve | None = None,
        transport: httpx2.AsyncBaseTransport | None = None,
        listed: ListedHosts = NOTHING,
    ) -> None:
        self._resolve = resolve or SystemNames()
        self._transport = transport or way_out()
        self._listed = listed

    async def send(
        self,
        url: httpx2.URL,
        method: str,
        headers: Mapping[str, str],
        content: bytes | None = None,
        silence: httpx2.Timeout = _SILENCE,
    ) -> httpx2.Response:
        """The response to one request, its body still to be read; the caller closes it. `url` is one that
        `addresses.checked` returned.

        Raises:
            ToolError: its name does not lead to public addresses alone.
            ToolTimedOut: the name was not found within LOOKUP_SECONDS.
            httpx2.HTTPError: no address answered, or not in proper HTTP.
        """
        headers = {**headers, "Host": url.netloc.decode("ascii")}
        extensions: dict[str, Any] = {"timeout": silence.as_dict()}
        return await self.forward(
            httpx2.Request(method, url, headers=headers, content=content, extensions=extensions)
        )

    async def forward(self, request: httpx2.Request) -> httpx2.Response:
        """As `send`, of a request that has its headers and limits of time."""
        url, extensions = request.url, dict(request.extensions)
        if literal(host_of(url)) is None:
            extensions["sni_hostname"] = host_of(url)
        failed: httpx2.TransportError | None = None
        for address in await self._addresses(url):
            pinned = httpx2.Request(
                request.method,
                url.copy_with(host=str(address)),
                headers=request.headers,
                stream=request.stream,
                extensions=extensions,
            )
            try:
                return await self._transport.handle_async_request(pinned)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failed = error
        raise failed or not_public(host_of(url))

    async def aclose(self) -> None:
        """Closes its connections."""
        await self._transport.aclose()

    async def _addresses(self, url: httpx2.URL) -> Sequence[Address]:
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
        allowed = [address for address in found if address is not None and self._listed.allows(host, address)]
        if len(allowed) < len(found):
            raise not_public(host)
        return list(dict.fromkeys(allowed))[:_MAX_ADDRESSES]


class GuardedTransport(httpx2.AsyncBaseTransport):
    """The guarded requests as the transport of a client: for what keeps a client of its own. An address that
    is not allowed is one that nobody can connect to."""

    def __init__(self, requests: GuardedRequests, listed: ListedHosts) -> None:
        self._requests, self._listed = requests, listed

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Raises httpx2.HTTPError."""
        try:
            checked(str(request.url), self._listed)
            return await self._requests.forward(request)
        except ToolError as error:
            raise httpx2.ConnectError(error.message, request=request) from None

    async def aclose(self) -> None:
        await self._requests.aclose()
