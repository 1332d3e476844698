"""The MCP server of a gateway that runs, over the standard streams: for clients that start programs.

The turn runs in that gateway, which has the session, the log and the keys; here are neither.
"""

from typing import Any
from urllib.parse import urlsplit

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequest,
    InputRequiredResult,
    InputResponses,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from gateway import __version__
from gateway.adapters.mcp.mcp_memory_server import FORMS, PATH, serve_stdio
from gateway.errors import GatewayError
from gateway.settings import LOOPBACK_HOSTS
from gateway.tools.mcp.sdk_session import IDEMPOTENCY_KEY

CONNECT_TIMEOUT = 10.0
SILENCE_TIMEOUT = 60.0
"""Seconds; an answer that takes long has a sign of life every 15."""


async def forward_stdio(url: str, key: str | None) -> None:
    """Serves the client at the other end of the standard streams with what the gateway at `url` has for it,
    until it closes ours. Raises errors.GatewayError: no such gateway is there, or it refuses the key."""
    http = httpx2.AsyncClient(
        headers={"authorization": f"Bearer {key}"} if key else {},
        timeout=httpx2.Timeout(SILENCE_TIMEOUT, connect=CONNECT_TIMEOUT),
        trust_env=urlsplit(url).hostname not in LOOPBACK_HOSTS,
    )
    async with http:
        address = url.rstrip("/") + PATH
        await _check(http, address)
        over = streamable_http_client(address, http_client=http)
        async with Client(over, elicitation_callback=_never) as gateway:
            await serve_stdio(_Forwarding(gateway).server)


async def _check(http: httpx2.AsyncClient, address: str) -> None:
    """A gateway answers 405 there."""
    try:
        answer = await http.get(address)
    except (httpx2.TransportError, httpx2.InvalidURL, httpx2.UnsupportedProtocol):
        raise GatewayError(f"Nothing answers at {address}.") from None
    if answer.status_code == 401:
        raise GatewayError(f"{address} refuses the key. Give one with --key or GATEWAY_KEY.")
    if answer.status_code != 405:
        raise GatewayError(f"There is no MCP server at {address}: see GATEWAY_ADAPTERS there.")


async def _never(context: object, params: object) -> ElicitResult:
    """Says to the gateway that questions may be asked: they are answered by the client of this server."""
    return ElicitResult(action="cancel")


class _Forwarding:
    """Hands on every request, and what comes of it."""

    def __init__(self, gateway: Client) -> None:
        self._gateway = gateway
        self.server: Server[Any] = Server(
            "chat-gateway",
            version=__version__,
            title="Chat gateway",
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_list_resource_templates=self._list_templates,
            on_read_resource=self._read_resource,
        )

    async def _list_tools(
        self, _context: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return await self._gateway.list_tools(cursor=params and params.cursor, cache_mode="bypass")

    async def _call_tool(
        self, context: ServerRequestContext[Any], params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        """Questions of the gateway to its user go on to the client in a form that it understands. Where it
        understands none, the gateway gets the answer that nobody decided, and names the waiting calls."""

        async def report(progress: float, total: float | None, message: str | None) -> None:
            await context.session.report_progress(progress, total, message)

        key = (context.meta or {}).get(IDEMPOTENCY_KEY)
        responses: InputResponses | None = params.input_responses
        state = params.request_state
        has_forms = context.session.check_client_capability(FORMS)
        is_old = context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
        while True:
            answer = await self._gateway.session.call_tool(
                params.name,
                params.arguments,
                progress_callback=report,
                input_responses=responses,
                request_state=state,
                meta={IDEMPOTENCY_KEY: key} if key is not None else None,  # pyright: ignore[reportArgumentType] - a key of ours
                allow_input_required=True,
            )
            if isinstance(answer, CallToolResult) or (has_forms and not is_old):
                return answer
            asked = answer.input_requests or {}
            may_ask = has_forms and context.session.can_send_request
            responses = {
                name: await _ask(context, each) if may_ask else ElicitResult(action="cancel")
                for name, each in asked.items()
            }
            state = answer.request_state

    async def _list_resources(
        self, _context: ServerRequestContext[Any], params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        return await self._gateway.list_resources(cursor=params and params.cursor, cache_mode="bypass")

    async def _list_templates(
        self, _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
    ) -> ListResourceTemplatesResult:
        return await self._gateway.list_resource_templates(cache_mode="bypass")

    async def _read_resource(
        self, _context: ServerRequestContext[Any], params: ReadResourceRequestParams
    ) -> ReadResourceResult:
        return await self._gateway.read_resource(params.uri, cache_mode="bypass")


async def _ask(context: ServerRequestContext[Any], asked: InputRequest) -> ElicitResult:
    if not isinstance(asked, ElicitRequest) or not isinstance(asked.params, ElicitRequestFormParams):
        return ElicitResult(action="cancel")
    form = asked.params
    return await context.session.elicit_form(form.message, form.requested_schema, context.request_id)
