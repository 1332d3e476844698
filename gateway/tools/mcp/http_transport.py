"""The HTTP transport to a server at an address: answers are bounded, and the headers of the settings stay
within its origin."""

import ssl
from collections.abc import Sequence
from functools import cache

import httpx2

from gateway.certificates import certificates_named
from gateway.settings.value_types import McpServer
from gateway.tools.fetch.addresses import ListedHosts
from gateway.tools.fetch.guarded_requests import GuardedRequests, GuardedTransport, way_out
from gateway.tools.mcp.failure_messages import ConnectionEnding
from gateway.tools.mcp.http_answers import mend
from gateway.tools.mcp.set_aside import SetAside
from gateway.tools.mcp.wire_messages import Mend

_WRITE = 30.0
_GOODBYE = httpx2.Timeout(5.0)


def http_client(
    server: McpServer,
    ending: ConnectionEnding,
    results: Mend,
    aside: SetAside,
    auth: httpx2.Auth | None = None,
) -> httpx2.AsyncClient:
    """A client that sends the headers of the settings, for transports that follow redirects only within the
    origin of the address. `auth` adds a token where a server asks for one. Answers come as `mend` makes them.

    There is no time limit for reading: who waits for an answer has one, and a stream of notices is silent.
    """

    async def before(request: httpx2.Request) -> None:
        if request.method == "DELETE":  # the end of the session, for which there is no other limit
            request.extensions["timeout"] = _GOODBYE.as_dict()

    async def after(response: httpx2.Response) -> None:
        if response.is_error and (response.request.method == "POST" or ending.status is None):
            ending.status = response.status_code
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.DecodingError("an answer is compressed, which was not asked for")
        await mend(response, results, aside)

    headers = {name: value.get_secret_value() for name, value in server.headers.items()}
    return httpx2.AsyncClient(
        transport=_guarded(server.reach) if server.reach is not None else None,
        headers={**headers, "accept-encoding": "identity"},  # a small answer must not unpack to a huge one
        verify=certificates(),
        timeout=httpx2.Timeout(None, connect=server.connect_timeout, write=_WRITE),
        event_hooks={"request": [before], "response": [after]},
        auth=auth,
    )


def _guarded(reach: Sequence[str]) -> GuardedTransport:
    listed = ListedHosts.of(reach)
    return GuardedTransport(GuardedRequests(transport=way_out(certificates()), listed=listed), listed)


@cache
def certificates() -> ssl.SSLContext:
    """Those of the system. Read once: a server that is away is tried again and again."""
    return certificates_named() or httpx2.create_ssl_context()
