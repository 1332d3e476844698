"""Turns whose calls need a yes, or are refused: by a person, by a rule, by a skill, by nobody in time."""

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from gateway.tools.base import FunctionTool, ToolContext
from gateway.tools.function import ToolResult, tool
from tests.harness import Client
from tests.mcp_servers.serving import program
from tests.stories.asking import Outbox, ask

APPROVAL_TIMEOUT = 3.0
"""Seconds after which a question expires: long enough for the person of this day, who answers at once."""
SERVER = "trial"
NEEDED: Mapping[str, Any] = {
    "approval_timeout": APPROVAL_TIMEOUT,
    "tool_policy": ("erase=deny",),
    "trusted_tools": ("!collect",),
    "mcp_servers": {SERVER: program("server.py", trust_hints=True)},
}
"""Settings of a gateway that these turns are told to."""


def needed_tools() -> tuple[FunctionTool, ...]:
    """What these turns call, besides the server's tools."""

    @tool(effect="read_only")
    async def collect(context: ToolContext) -> ToolResult:
        """Works in steps, of which one fails, and finds something worth remembering."""
        with context.step("收集", {"of": "everything"}) as step:
            step.output = ["one", "two"]
        with suppress(LookupError), context.step("sort"):
            raise LookupError
        likes = {"owner_type": "user", "owner_id": "local", "type": "preference", "importance": 2}
        return ToolResult(result="collected", memory_writes=[{**likes, "content": "likes order"}])

    @tool(effect="idempotent")
    def erase() -> str:
        """Is never allowed."""
        raise AssertionError("the policy denies it")

    return (*Outbox().tools, collect, erase)


LEFT_ALONE = '/call post {"text": "hi"}\n/then\n/say It was not sent.'
"""A message whose question nobody answers."""


async def permitted_round(client: Client) -> dict[str, tuple[str, list[dict[str, Any]]]]:
    """What was asked and every event of each turn, by kind."""
    return {
        "approved": await _decided(client, "approve"),
        "denied": await _decided(client, "deny"),
        "ruled out": await _chatted(client, "/call erase {}\n/then\n/say I may not."),
        "skilled": await _chatted(
            client, '/call read_skill {"name": "hand-over"}\n/call compare-options {}\n/then\n/say Read.'
        ),
        "in steps": await _chatted(client, "/call collect {}\n/then\n/say Done."),
        "over MCP": await _chatted(client, f'/call mcp__{SERVER}__add {{"a": 2, "b": 3}}\n/then\n/say Five.'),
    }


async def _decided(client: Client, decision: str) -> tuple[str, list[dict[str, Any]]]:
    message = '/call send {"to": "李雷"}\n/then\n/say over'
    asked = await ask(client, message)
    reply = await asked.decide(decision)
    assert reply.status_code == 200, reply.text
    return message, await asked.all_events()


async def _chatted(client: Client, message: str) -> tuple[str, list[dict[str, Any]]]:
    return message, await client.chat(message)
