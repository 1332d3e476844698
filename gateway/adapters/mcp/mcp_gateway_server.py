"""The MCP server of a gateway that serves: the tool `chat`, the memory's, and what there is of both to read.

Importing this file takes a second of CPU: the SDK begins here.
"""

from contextlib import suppress
from typing import Any

import orjson
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    InputRequiredResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)
from pydantic import BaseModel
from starlette.types import Message, Receive, Scope, Send

from gateway import __version__
from gateway.adapters.mcp import mcp_chat_tool, mcp_resources
from gateway.adapters.mcp.mcp_memory_server import McpUser, call, memory_tool, no_tool, offered, result
from gateway.adapters.mcp.mcp_operations import operations_of
from gateway.auth.operations import may
from gateway.errors import GatewayError, NotFound, QueueFull
from gateway.http.requests import ApiRequest
from gateway.tools.base import FunctionTool

NOBODY = McpUser("")
"""Who calls the memory's tool is who the request's key names."""

ACCEPTED = b"application/json, text/event-stream"
"""What clients have to accept. Those that do not say so are answered all the same."""
_STREAMS = (b"text/event-stream", b"text/*", b"*/*")


class McpResponse:
    """The answer to one message, as an ASGI application. Each stands alone: any replica answers it."""

    def __init__(self, message: dict[str, Any]) -> None:
        self._body = orjson.dumps(message)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_read = False

        async def receive_read() -> Message:
            """The body has been read already, within its bounds."""
            nonlocal is_read
            if is_read:
                return await receive()
            is_read = True
            return {"type": "http.request", "body": self._body, "more_body": False}

        accepts = b",".join(value for name, value in scope["headers"] if name == b"accept").lower()
        manager = StreamableHTTPSessionManager(
            _SERVER,
            # Who names JSON alone reads no stream: what is told before the answer is left out.
            json_response=b"application/json" in accepts and not any(each in accepts for each in _STREAMS),
            stateless=True,
            max_request_body_size=max(1, len(self._body)),
        )
        own = {b"accept": ACCEPTED, b"content-length": b"%d" % len(self._body)}
        headers = [*(each for each in scope["headers"] if each[0] not in own), *own.items()]
        async with manager.run():
            await manager.handle_request({**scope, "headers": headers}, receive_read, send)


async def _list_tools(
    context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
) -> ListToolsResult:
    request = _request_of(context)
    memory = _memory_tool(request)
    chat = [mcp_chat_tool.CHAT] if may(request.principal, "turn.start") else []
    of_memory = [offered(memory)] if memory is not None and may(request.principal, "memory.list") else []
    return ListToolsResult(tools=[*chat, *of_memory])


async def _call_tool(
    context: ServerRequestContext[Any], params: CallToolRequestParams
) -> CallToolResult | InputRequiredResult:
    request = _request_of(context)
    memory = _memory_tool(request)
    _allow(request, "tools/call", params)
    if params.name == mcp_chat_tool.NAME:
        try:
            return await mcp_chat_tool.chat(request, context, params)
        except GatewayError as error:
            return result(f"{error.code}: {error.message}", is_error=True)
    if memory is None or params.name != memory.spec.name:
        known = mcp_chat_tool.NAME if memory is None else f"{mcp_chat_tool.NAME} and {memory.spec.name}"
        return no_tool(params.name, known)
    try:
        async with request.gateway.places.taken("search", request.principal.user_id):
            return await call(memory, NOBODY, context, params)
    except QueueFull as error:
        return result(f"{error.code}: {error.message}", is_error=True)


async def _list_resources(
    context: ServerRequestContext[Any], params: PaginatedRequestParams | None
) -> ListResourcesResult:
    request = _request_of(context)
    _allow(request, "resources/list", params)
    try:
        return await mcp_resources.listed(request, params.cursor if params is not None else None)
    except GatewayError as error:
        raise _refused(error) from None


async def _list_templates(
    _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
) -> ListResourceTemplatesResult:
    return ListResourceTemplatesResult(resource_templates=mcp_resources.TEMPLATES)


async def _read_resource(
    context: ServerRequestContext[Any], params: ReadResourceRequestParams
) -> ReadResourceResult:
    request = _request_of(context)
    _allow(request, "resources/read", params)
    try:
        async with request.gateway.places.taken("copy", request.principal.user_id):
            return await mcp_resources.read(request, params.uri)
    except GatewayError as error:
        raise _refused(error) from None


def _request_of(context: ServerRequestContext[Any]) -> ApiRequest:
    assert context.request is not None
    return ApiRequest(context.request.scope)


def _allow(request: ApiRequest, method: str, params: BaseModel | None) -> None:
    """As the route asked before, of what the SDK has read: that is what is done. Raises MCPError."""
    given = params.model_dump(by_alias=True) if params is not None else None
    try:
        for operation in operations_of(method, given):
            request.allow(operation)
    except GatewayError as error:
        raise _refused(error) from None


def _memory_tool(request: ApiRequest) -> FunctionTool | None:
    with suppress(NotFound):  # there is no memory
        return memory_tool(request.settings, request.gateway.memory.services)
    return None


def _refused(error: GatewayError) -> MCPError:
    return MCPError(INVALID_PARAMS, error.message, {"code": error.code, "retryable": error.retryable})


_SERVER: Server[Any] = Server(
    "chat-gateway",
    version=__version__,
    title="Chat gateway",
    on_list_tools=_list_tools,
    on_call_tool=_call_tool,
    on_list_resources=_list_resources,
    on_list_resource_templates=_list_templates,
    on_read_resource=_read_resource,
)
