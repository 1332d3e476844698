"""Prompts of MCP servers: what there is, and the text of one that is filled in."""

from typing import Annotated

from pydantic import Field
from starlette.responses import Response

from gateway.http.endpoint import Cost, endpoint
from gateway.http.json_types import Body, Reply, json_reply
from gateway.http.requests import ApiRequest
from gateway.service.mcp_prompts import OfferedPrompts

MAX_VALUE = 32_768
"""Characters of what is filled in."""

ArgumentName = Annotated[str, Field(max_length=200)]


class McpPromptArgument(Reply):
    """What is filled in when a prompt is used."""

    name: str
    description: str | None = None
    required: bool


class McpPromptItem(Reply):
    """A prompt by its server's own name for it."""

    name: str
    title: str | None = None
    description: str | None = None
    arguments: list[McpPromptArgument]


class McpServerPrompts(Reply):
    """The prompts of one MCP server, in its own order."""

    server: str
    prompts: list[McpPromptItem]
    error: str | None = Field(None, description="Why they are not known now.")

    @classmethod
    def of(cls, offered: OfferedPrompts) -> "McpServerPrompts":
        prompts = [
            McpPromptItem(
                name=each.name,
                title=each.title or None,
                description=each.description or None,
                arguments=[
                    McpPromptArgument(
                        name=one.name, description=one.description or None, required=one.is_required
                    )
                    for one in each.arguments
                ],
            )
            for each in offered.prompts
        ]
        return cls(server=offered.server, prompts=prompts, error=offered.error)


class McpPromptList(Reply):
    """By server: those that offer prompts, and those that cannot be asked now."""

    servers: list[McpServerPrompts]


class FillMcpPromptBody(Body):
    """A prompt, with what is filled in."""

    server: str = Field(max_length=64)
    name: str = Field(min_length=1, max_length=200)
    arguments: dict[ArgumentName, Annotated[str, Field(max_length=MAX_VALUE)]] = Field({}, max_length=50)


class FilledMcpPrompt(Reply):
    """The text of a prompt: a draft of a message, for a person to send or not. The server wrote it."""

    text: str


@endpoint("GET", "/api/mcp/prompts", "mcp_prompt.list", {200: (McpPromptList,)}, cost=Cost("model"))
async def find(request: ApiRequest) -> Response:
    """The prompts that MCP servers offer. They are asked for it now."""
    found = await request.gateway.mcp_prompts.list()
    return json_reply(McpPromptList(servers=[McpServerPrompts.of(each) for each in found]))


@endpoint(
    "POST",
    "/api/mcp/prompts",
    "mcp_prompt.fill",
    {200: (FilledMcpPrompt,)},
    FillMcpPromptBody,
    refusals=(404, 413, 502),
    cost=Cost("model"),
)
async def fill(request: ApiRequest) -> Response:
    """Has an MCP server write the text of a prompt."""
    asked = await request.read_body(FillMcpPromptBody)
    text = await request.gateway.mcp_prompts.fill(asked.server, asked.name, asked.arguments)
    return json_reply(FilledMcpPrompt(text=text))
