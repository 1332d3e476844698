"""The route of the MCP server: streamable HTTP, one message a request."""

import asyncio
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import orjson
from pydantic import BaseModel, ConfigDict
from starlette.responses import Response

from gateway.adapters.adapter import Adapter
from gateway.adapters.mcp.mcp_operations import CARRIED, operations_of
from gateway.errors import GatewayError, NotFound
from gateway.http.endpoint import STREAM, endpoint, endpoints_of
from gateway.http.requests import ApiRequest

PATH = "/mcp"
JSON = "application/json"
MAX_PARTS = 20_000
"""Objects, lists and values of a message, which the SDK reads once more on the event loop."""
INVALID_REQUEST, INTERNAL_ERROR = -32600, -32603
"""Codes of JSON-RPC 2.0."""


class McpMessage(BaseModel):
    """A message of the protocol: the SDK reads it."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)

    jsonrpc: Any = None
    method: Any = None
    params: Any = None


@endpoint(
    "POST",
    PATH,
    "mcp.call",
    {200: (JSON, STREAM), 202: (None,)},
    McpMessage,
    refusals=(403, 404, 413),
    problem=JSON,
    headers={"MCP-Protocol-Version": "The version of the protocol that the client speaks."},
    carries=CARRIED,
)
async def message(request: ApiRequest) -> Response:
    """Answers one message of an MCP client; a call of `chat` with a stream, while its turn runs."""
    if find_spec("mcp") is None:
        raise NotFound("The MCP SDK is not installed: pip install 'mcp>=2.3,<3'.", code="mcp_not_installed")
    body = await request.read_body(McpMessage, max_parts=MAX_PARTS)
    for operation in operations_of(body.method, body.params):
        request.allow(operation)
    # In a thread: the SDK takes a second to load.
    server = await asyncio.to_thread(import_module, "gateway.adapters.mcp.mcp_gateway_server")
    return server.McpResponse(body.model_dump(exclude_unset=True))


def _problem(error: GatewayError, status: int, _request_id: str) -> tuple[bytes, str]:
    code = INTERNAL_ERROR if status >= 500 else INVALID_REQUEST
    data = {"code": error.code, "retryable": error.retryable}
    refused = {"code": code, "message": error.message, "data": data}
    return orjson.dumps({"jsonrpc": "2.0", "id": None, "error": refused}), JSON


ADAPTER = Adapter(PATH, endpoints_of(__name__), _problem)
