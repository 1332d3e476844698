"""The prompts that MCP servers offer, for people to begin a message with."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway.errors import McpPromptFailed, NotFound, ToolError
from gateway.tools.mcp.configured_servers import McpServers
from gateway.tools.mcp.reconnecting_server import Server

if TYPE_CHECKING:
    from gateway.tools.mcp.server_prompts import ServerPrompt

LISTED_WITHIN = 5.0
"""Seconds that one server's list is waited for: those of the others are shown without it."""


@dataclass(frozen=True, slots=True)
class OfferedPrompts:
    """What one server offers, in its own order, or why that is not known."""

    server: str
    prompts: "Sequence[ServerPrompt]" = ()
    error: str | None = None


class McpPrompts:
    """One per process. Servers are asked each time, and nothing is kept."""

    def __init__(self, servers: McpServers) -> None:
        self._servers = servers

    async def list(self) -> Sequence[OfferedPrompts]:
        """By server: those that offer prompts, and those that cannot be asked now."""
        servers = [each for state in self._servers.states if (each := self._servers.server(state.name))]
        found = await asyncio.gather(*map(self._of, servers))
        return [each for each in found if each.prompts or each.error is not None]

    async def fill(self, server: str, name: str, arguments: Mapping[str, str]) -> str:
        """The text of a prompt, for a draft. Raises errors.NotFound (mcp_server_not_found) and
        errors.McpPromptFailed: why the server gives none."""
        found = self._servers.server(server)
        if found is None:
            raise NotFound(f"There is no MCP server {server[:64]}.", code="mcp_server_not_found")
        try:
            return await found.filled_prompt(name, arguments)
        except ToolError as error:
            raise McpPromptFailed(f"The MCP server {server} gives no such prompt: {error.message}.") from None

    @staticmethod
    async def _of(server: Server) -> OfferedPrompts:
        try:
            async with asyncio.timeout(LISTED_WITHIN):
                return OfferedPrompts(server.name, await server.prompts())
        except TimeoutError:
            return OfferedPrompts(server.name, error=f"It did not answer within {LISTED_WITHIN:g} seconds.")
        except ToolError as error:
            return OfferedPrompts(server.name, error=f"It cannot be asked: {error.message}.")
