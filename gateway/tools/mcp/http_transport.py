"""The HTTP transport to a server at an address: answers are bounded, and the headers of the settings stay
within its origin."""

import ssl
from collections.abc import AsyncIterator, Callable
from functools import cache

import httpx2
from mcp.client.streamable_http import MCP_SESSION_ID

from gateway.certificates import certificates_named
from gateway.json_parts import PartCounter
from gateway.settings.value_types import McpServer
from gateway.tools.mcp import bounds
from gateway.tools.mcp.failure_messages import ConnectionEnding

_WRITE = 30.0
_GOODBYE = httpx2.Timeout(5.0)


def http_client(server: McpServer, ending: ConnectionEnding, gone: Callable[[], None]) -> httpx2.AsyncClient:
    """A client that sends the headers of the settings, for the SDK's transport, which follows redirects only
    within the origin of the address. `gone` is called when the server has forgotten the session.

    There is no time limit for reading: who waits for an answer has one, and a stream of notices is silent.
    """

    async def before(request: httpx2.Request) -> None:
        if request.method == "DELETE":  # the end of the session, for which there is no other limit
            request.extensions["timeout"] = _GOODBYE.as_dict()

    async def after(response: httpx2.Response) -> None:
        if response.request.method == "POST" and response.is_error:
            ending.status = response.status_code
            if response.status_code == 404 and MCP_SESSION_ID in response.request.headers:
                # MCP specification, "Session Management": a new session is to be started.
                ending.because("it has ended the session")
                gone()
        if response.headers.get("content-encoding", "identity") != "identity":
            raise httpx2.DecodingError("an answer is compressed, which was not asked for")
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        is_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        response.stream = _Bounded(response.stream, None if is_stream else bounds.MESSAGE)

    headers = {name: value.get_secret_value() for name, value in server.headers.items()}
    return httpx2.AsyncClient(
        headers={**headers, "accept-encoding": "identity"},  # a small answer must not unpack to a huge one
        verify=_certificates(),
        timeout=httpx2.Timeout(None, connect=server.connect_timeout, write=_WRITE),
        event_hooks={"request": [before], "response": [after]},
    )


@cache
def _certificates() -> ssl.SSLContext:
    """Those of the system. Read once: a server that is away is tried again and again."""
    return certificates_named() or httpx2.create_ssl_context()


class _Bounded(httpx2.AsyncByteStream):
    """An answer that ends in an error where it becomes more than a message may be. Of a stream the SDK bounds
    every event; a stream that lasts long enough to have too many parts in all is begun again."""

    def __init__(self, stream: httpx2.AsyncByteStream, longest: int | None) -> None:
        self._stream = stream
        self._longest = longest

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, parts = 0, PartCounter()
        async for chunk in self._stream:
            size += len(chunk)
            number = parts.add(chunk)
            if number > bounds.PARTS or (self._longest is not None and size > self._longest):
                # The one kind of error that the SDK takes for that of a single call.
                raise httpx2.StreamError("an answer is too large")
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()
