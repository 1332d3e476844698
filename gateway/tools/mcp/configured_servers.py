"""All MCP servers of the settings, as one source of tools."""

import asyncio
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING

from gateway.settings.value_types import McpServer
from gateway.supervisor import Supervisor
from gateway.tools.mcp.reconnecting_server import Server, ServerState
from gateway.tools.mcp.remote_tools import RemoteTool

if TYPE_CHECKING:
    from gateway.tools.mcp.oauth_tokens import SignInStore


class McpServers:
    """Connected while `run` runs, each in a task of its own that `supervisor` restarts when it fails.
    `changed` is called, on the event loop, when `tools` has become another tuple; while nothing changes it is
    the same object."""

    def __init__(
        self,
        servers: Mapping[str, McpServer],
        *,
        changed: Callable[[], None],
        supervisor: Supervisor | None = None,
        store: "SignInStore | None" = None,
    ) -> None:
        """`store` keeps the sign-ins to servers; None: none is kept."""
        self._tools: tuple[RemoteTool, ...] = ()
        self._changed = changed
        self._supervisor = supervisor or Supervisor()
        self._servers = [Server(name, servers[name], self._gather, store) for name in sorted(servers)]

    @property
    def tools(self) -> tuple[RemoteTool, ...]:
        """What all servers offer, by name: also those that are away and were there before."""
        return self._tools

    @property
    def states(self) -> tuple[ServerState, ...]:
        """How each server is doing, by name."""
        return tuple(server.state for server in self._servers)

    def server(self, name: str) -> Server | None:
        """The server of that name."""
        return next((each for each in self._servers if each.name == name), None)

    async def run(self) -> None:
        """Keeps every server connected until it is cancelled; then each program that was started has ended,
        at the latest after three times `stdio.GRACE`. Returns by itself when there is nothing to connect, or
        nothing to connect with."""
        if not self._servers:
            return
        try:
            # In a thread, since it takes 1.1 s of CPU in which others want to be served.
            await asyncio.to_thread(import_module, "gateway.tools.mcp.sdk_session")
        except ImportError:
            for server in self._servers:
                server.failed("the MCP SDK is not installed: pip install 'mcp>=2.3,<3'")
            return
        async with asyncio.TaskGroup() as group:
            for server in self._servers:
                name = f"MCP server {server.name}"
                group.create_task(self._supervisor.keep(server.run, name), name=name)

    async def tried(self) -> None:
        """Returns when every server is connected, or could not be at the first attempt."""
        for server in self._servers:
            await server.tried.wait()

    def _gather(self) -> None:
        self._tools = tuple(
            sorted(
                (tool for server in self._servers for tool in server.tools), key=lambda tool: tool.spec.name
            )
        )
        self._changed()
