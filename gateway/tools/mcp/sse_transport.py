"""The older transport to a server at an address, of protocol 2024-11-05: one stream of events from the
server, whose first one names the address for messages to it. The SDK's own logs what cannot be sent, and
leaves its call without an answer."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any
from urllib.parse import urljoin

import anyio
import httpx2
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCRequest

from gateway.errors import ServerUnreachable
from gateway.tools.mcp import bounds
from gateway.tools.mcp.failure_messages import ConnectionEnding
from gateway.tools.mcp.http_answers import IN_SESSION
from gateway.tools.mcp.stdio_transport import Inbox, Outbox, Streams
from gateway.tools.mcp.task_ending import put_to_end
from gateway.tools.mcp.wire_messages import read_messages

_HEADERS = {"Accept": "text/event-stream", "Cache-Control": "no-store"}
MAX_ENDPOINT = 4096
"""Characters of the address for messages."""


@asynccontextmanager
async def sse_transport(
    url: str, client: httpx2.AsyncClient, ending: ConnectionEnding
) -> AsyncGenerator[Streams]:
    """Streams of messages, once the server has named the address for them.

    Raises:
        ServerUnreachable: it is no server of this transport.
        httpx2.HTTPError: it cannot be reached.
    """
    inbox, messages = anyio.create_memory_object_stream[SessionMessage | Exception]()
    answers, outbox = anyio.create_memory_object_stream[SessionMessage]()
    endpoint: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    reading = asyncio.create_task(_read(url, client, inbox, endpoint, ending))
    writing: asyncio.Task[None] | None = None
    try:
        await asyncio.wait((reading, endpoint), return_when=asyncio.FIRST_COMPLETED)
        if not endpoint.done():
            reading.result()
            raise ServerUnreachable("it names no address for messages")
        writing = asyncio.create_task(_write(endpoint.result(), client, outbox, inbox))
        yield messages, answers
    finally:
        endpoint.cancel()
        for task in (reading, writing):
            if task is not None:
                await put_to_end(task)
                with suppress(Exception, asyncio.CancelledError):
                    task.result()
        for stream in (inbox, messages, answers, outbox):
            stream.close()


async def _read(
    url: str,
    client: httpx2.AsyncClient,
    inbox: Inbox,
    endpoint: "asyncio.Future[str]",
    ending: ConnectionEnding,
) -> None:
    """Closing the inbox is how the session learns of the end."""
    with inbox:
        async with client.stream("GET", url, headers=_HEADERS) as response:
            kind = response.headers.get("content-type", "")
            if not response.is_success or not kind.startswith("text/event-stream"):
                raise ServerUnreachable(f"it answers with HTTP status {response.status_code}")
            events = httpx2.EventSource(response, max_event_size=bounds.MESSAGE)
            with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                async for event in events:
                    if event.event == "endpoint" and not endpoint.done():
                        endpoint.set_result(_endpoint(url, event.data))
                    elif event.event == "message" and event.data:
                        for message in _messages(event.data):
                            await inbox.send(SessionMessage(message))
        ending.because("it closed the connection")


def _messages(data: str) -> list[JSONRPCMessage]:
    try:
        return read_messages(data.encode(), None, _as_read)
    except ValueError:
        return []


def _as_read(result: dict[str, Any]) -> dict[str, Any]:
    """The results of this client come mended (http_answers)."""
    return result


def _endpoint(url: str, named: str) -> str:
    """Raises ServerUnreachable: it is somebody else's, who would get the headers of the settings."""
    try:
        found, own = httpx2.URL(urljoin(url, named[:MAX_ENDPOINT].strip())), httpx2.URL(url)
    except (httpx2.InvalidURL, ValueError):
        raise ServerUnreachable("it names an address for messages that is none") from None
    is_own = (found.scheme, found.host, found.port) == (own.scheme, own.host, own.port)
    if not is_own or found.userinfo not in (b"", own.userinfo):
        raise ServerUnreachable("it names an address for messages on another host")
    return str(found)


async def _write(url: str, client: httpx2.AsyncClient, outbox: Outbox, inbox: Inbox) -> None:
    """One message after the other, but for requests: some servers answer the POST when a call is done."""
    sent = set[asyncio.Task[None]]()
    try:
        with outbox, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            async for message in outbox:
                sending = asyncio.create_task(_send(url, client, message.message, inbox))
                sent.add(sending)
                sending.add_done_callback(sent.discard)
                if not isinstance(message.message, JSONRPCRequest):
                    await asyncio.wait((sending,))
    finally:
        for sending in [*sent]:
            await put_to_end(sending)


async def _send(url: str, client: httpx2.AsyncClient, message: JSONRPCMessage, inbox: Inbox) -> None:
    """What cannot be sent is answered here: the server never will."""
    body = message.model_dump(by_alias=True, mode="json", exclude_unset=True)
    asked = message.id if isinstance(message, JSONRPCRequest) else None
    refused: JSONRPCMessage | None = None
    try:
        async with client.stream("POST", url, json=body, extensions={IN_SESSION: True}) as response:
            if response.is_success or asked is None:
                return
            with suppress(ValueError):
                refused = read_messages(await response.aread(), asked, _as_read)[0]
    except httpx2.HTTPError:
        pass
    if asked is not None:
        error = ErrorData(code=INTERNAL_ERROR, message="the message could not be sent")
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await inbox.send(SessionMessage(refused or JSONRPCError(jsonrpc="2.0", id=asked, error=error)))
