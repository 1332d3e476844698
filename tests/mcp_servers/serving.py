"""Servers on loopback and in processes, and the gateway's side of them while a test lasts."""

import asyncio
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.events.envelope import EventData
from gateway.settings.value_types import McpServer
from gateway.tools.base import ToolContext, ToolOutput
from gateway.tools.mcp.configured_servers import McpServers
from gateway.tools.mcp.reconnecting_server import ServerState
from gateway.tools.mcp.remote_tools import RemoteTool
from tests.harness import TIMEOUT
from tests.tools import calling

HERE = Path(__file__).parent
TRACEPARENT = f"00-{'a' * 32}-{'b' * 16}-01"


class Attached:
    """The servers as a gateway has them, and what was said to whoever waits for changes."""

    def __init__(self, servers: McpServers, changes: asyncio.Event) -> None:
        self.servers = servers
        self.changes = changes

    @property
    def state(self) -> ServerState:
        (state,) = self.servers.states
        return state

    def names(self) -> list[str]:
        return [tool.spec.name for tool in self.servers.tools]

    def tool(self, remote_name: str) -> RemoteTool:
        return next(tool for tool in self.servers.tools if tool.remote_name == remote_name)

    async def call(self, remote_name: str, **arguments: Any) -> ToolOutput:
        async with asyncio.timeout(TIMEOUT):
            return await self.tool(remote_name).run(arguments, context())

    async def until(self, holds: Callable[[], bool]) -> None:
        """Waits until something is so."""
        async with asyncio.timeout(TIMEOUT):
            while not holds():
                await asyncio.sleep(0.01)


def context(emit: Callable[[EventData], None] = lambda _: None) -> ToolContext:
    return replace(calling.context(emit), owner="ada", traceparent=TRACEPARENT)


def program(*args: str, **settings: Any) -> McpServer:
    """A server that is a Python program with these arguments; the first may be one of the scripts here."""
    first, *rest = args
    script = str(HERE / first) if (HERE / first).is_file() else first
    return McpServer.model_validate({"command": sys.executable, "args": (script, *rest), **settings})


def address(url: str, **settings: Any) -> McpServer:
    """A server at an address."""
    headers = {"Authorization": "Bearer t-12345678"}
    return McpServer.model_validate({"url": f"{url}/mcp", "headers": headers, **settings})


def body(output: ToolOutput) -> str:
    """What a server gave back, as it is; that it comes from elsewhere is said beside it."""
    assert output.note is not None
    assert output.note.startswith("From the MCP server ")
    return output.content


@asynccontextmanager
async def attached(**servers: McpServer) -> AsyncGenerator[Attached]:
    """Those servers, each tried once."""
    changes = asyncio.Event()
    source = McpServers(servers, changed=changes.set)
    running = asyncio.create_task(source.run())
    try:
        async with asyncio.timeout(TIMEOUT):
            await source.tried()
        yield Attached(source, changes)
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running


def before_2026(app: ASGIApp) -> ASGIApp:
    """The application as one that knows only the protocol's older versions."""

    async def older(scope: Scope, receive: Receive, send: Send) -> None:
        asked = dict(scope.get("headers", ())).get(b"mcp-method")
        if asked == b"server/discover":
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body", "body": b""})
        else:
            await app(scope, receive, send)

    return older
