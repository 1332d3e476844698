"""The tools of a server as they are offered to the model."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from gateway.events.tool_calls import Effect
from gateway.messages import ToolSpec, shortened
from gateway.settings.value_types import McpServer
from gateway.tools.base import ToolContext, ToolOutput
from gateway.tools.mcp import bounds
from gateway.tools.mcp.tool_names import tool_names
from gateway.tools.mcp.tool_schemas import shown, usable_schema


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A server's description of one of its tools."""

    name: str
    description: str
    schema: dict[str, Any]
    is_read_only: bool = False
    is_idempotent: bool = False


class LeftOutTool(NamedTuple):
    """A tool that is not offered, and why: "its schema …"."""

    tool: str
    reason: str


@dataclass(frozen=True, slots=True)
class RemoteTool:
    """A tool of an MCP server. It stays what it is while the server is away: a call then fails with the
    reason. `remote_name` is what the server calls it."""

    spec: ToolSpec
    effect: Effect
    timeout: float
    server: str
    remote_name: str
    call: "Call" = field(repr=False, compare=False)

    async def run(self, arguments: dict[str, Any], context: ToolContext) -> ToolOutput:
        return await self.call(self, arguments, context)


Call = Callable[[RemoteTool, dict[str, Any], ToolContext], Awaitable[ToolOutput]]


def offer(
    server: str, settings: McpServer, listed: Sequence[ListedTool], call: Call
) -> tuple[tuple[RemoteTool, ...], list[LeftOutTool]]:
    """The tools that are offered, by name, and those that cannot be. Takes up to seconds for hostile schemas:
    not for the event loop."""
    names = tool_names(server, (tool.name for tool in listed))
    tools: dict[str, RemoteTool] = {}
    left_out: list[LeftOutTool] = []
    budget = bounds.SCHEMAS
    for tool in listed:
        name = names[tool.name]
        try:
            if len(tools) == bounds.TOOLS:
                raise ValueError(f"the server has more than {bounds.TOOLS} tools")
            if name in tools:
                raise ValueError("another tool has its name")
            schema = usable_schema(tool.schema)
            size = len(orjson.dumps(schema))
            if size > budget:
                raise ValueError(f"the schemas of the server's tools have more than {bounds.SCHEMAS} bytes")
        except ValueError as error:
            left_out.append(LeftOutTool(tool.name, str(error)))
            continue
        budget -= size
        spec = ToolSpec(name, _described(tool), schema)
        tools[name] = RemoteTool(spec, _effect(tool, settings), settings.timeout, server, tool.name, call)
    return tuple(tools[name] for name in sorted(tools)), left_out


def _effect(tool: ListedTool, settings: McpServer) -> Effect:
    """A server's word on what its tool does counts only where the operator trusts it. (MCP specification,
    "ToolAnnotations": clients must not decide on annotations of untrusted servers)"""
    if not settings.trust_hints:
        return "effectful"
    if tool.is_read_only:
        return "read_only"
    return "idempotent" if tool.is_idempotent else "effectful"


def _described(tool: ListedTool) -> str:
    text = shown(tool.description[: 2 * bounds.DESCRIPTION]).strip() or tool.name[: bounds.DESCRIPTION]
    return shortened(text, bounds.DESCRIPTION)
