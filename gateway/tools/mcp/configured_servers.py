"""All MCP servers, those of the settings and those that are added beside them, as one source of tools."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
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
        self._store = store
        self._fixed = dict(servers)
        self._servers = [self._made(name, servers[name]) for name in sorted(servers)]
        self._others = asyncio.Event()
        self._takes_others = False

    @property
    def tools(self) -> tuple[RemoteTool, ...]:
        """What all servers offer, by name: also those that are away and were there before."""
        return self._tools

    @property
    def states(self) -> tuple[ServerState, ...]:
        """How each server is doing, by name."""
        return tuple(server.state for server in self._servers)

    @property
    def settings(self) -> Sequence[McpServer]:
        """Those of each server, by name."""
        return [server.settings for server in self._servers]

    def server(self, name: str) -> Server | None:
        """The server of that name."""
        return next((each for each in self._servers if each.name == name), None)

    def is_fixed(self, name: str) -> bool:
        """Whether it is one of the settings."""
        return name in self._fixed

    def take_others(self) -> None:
        """Has `run` wait for servers that are added, also when there is nothing to connect."""
        self._takes_others = True

    def become(self, added: Mapping[str, McpServer]) -> None:
        """Has these servers beside those of the settings, which go before others of their names: new and
        changed ones are connected while `run` runs, and those that are not among them are given up."""
        wanted = {**added, **self._fixed}
        former = {server.name: server for server in self._servers}
        self._servers = [
            kept
            if (kept := former.get(name)) is not None and kept.settings == wanted[name]
            else self._made(name, wanted[name])
            for name in sorted(wanted)
        ]
        self._others.set()
        self._gather()

    async def run(self) -> None:
        """Keeps every server connected until it is cancelled; then each program that was started has ended,
        at the latest after three times `stdio.GRACE`. Returns by itself when there is nothing to connect, or
        nothing to connect with, and nothing can be added."""
        kept: dict[Server, asyncio.Task[None]] = {}
        async with asyncio.TaskGroup() as group:
            while True:
                self._others.clear()
                for server in [each for each in kept if each not in self._servers]:
                    kept.pop(server).cancel()
                new = [each for each in self._servers if each not in kept]
                if new and await self._has_sdk(new):
                    for server in new:
                        name = f"MCP server {server.name}"
                        kept[server] = group.create_task(self._supervisor.keep(server.run, name), name=name)
                if not self._takes_others:
                    return
                await self._others.wait()

    @staticmethod
    async def _has_sdk(servers: Sequence[Server]) -> bool:
        try:
            # In a thread, since it takes 1.1 s of CPU in which others want to be served.
            await asyncio.to_thread(import_module, "gateway.tools.mcp.sdk_session")
        except ImportError:
            for server in servers:
                server.failed("the MCP SDK is not installed: pip install 'mcp>=2.3,<3'")
            return False
        return True

    def _made(self, name: str, settings: McpServer) -> Server:
        return Server(name, settings, self._gather, self._store)

    async def tried(self) -> None:
        """Returns when every server is connected, or could not be at the first attempt."""
        for server in self._servers:
            await server.tried.wait()

    def _gather(self) -> None:
        every = (tool for server in self._servers for tool in server.tools)
        tools = tuple(sorted(every, key=lambda tool: tool.spec.name))
        if tools != self._tools:
            self._tools = tools
            self._changed()
