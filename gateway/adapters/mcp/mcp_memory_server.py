"""An MCP server of the memory: the tool `manage_memory`, as turns have it.

Importing this file takes a second of CPU: the SDK begins here.
"""

from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import structlog
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ClientCapabilities,
    ElicitationCapability,
    FormElicitationCapability,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway import __version__
from gateway.auth import Principal
from gateway.auth.authentication import Authentication
from gateway.auth.operations import may
from gateway.auth.static_keys import StaticKeys
from gateway.errors import GatewayError, ToolError
from gateway.http.error_status_codes import status_of
from gateway.http.middleware import check_single
from gateway.ids import new_operation_id
from gateway.memory.households import households_of
from gateway.memory.services import MemoryServices
from gateway.memory.tool import manage_memory
from gateway.messages import clean_text
from gateway.settings import LOOPBACK_HOSTS, Settings
from gateway.tools.base import FunctionTool, ToolContext
from gateway.tools.mcp.sdk_session import IDEMPOTENCY_KEY
from gateway.tools.policy import is_trusted
from gateway.tools.time_limit import run_in_time
from gateway.tools.wrapping import Wrapped, defuse
from gateway.turn.tool_run import failure

PATH = "/mcp"
ANSWER_TIMEOUT = 300.0
"""Seconds that a user has for the answer to a question."""
MAX_KEY_LENGTH = 200
"""Characters of a client's idempotency key that count."""

CLIENT = "mcp__client"
"""Stands for the tools of a client's model, which are not known here: they are trusted if a rule says so."""

FORMS = ClientCapabilities(elicitation=ElicitationCapability(form=FormElicitationCapability()))
_YES_OR_NO: dict[str, Any] = {
    "type": "object",
    "properties": {"remember": {"type": "boolean", "title": "Remember this"}},
    "required": ["remember"],
}

log = structlog.get_logger(__name__)


class McpUser(NamedTuple):
    """The user, role and project of a client."""

    user_id: str
    role_id: str | None = None
    project_id: str | None = None


def memory_tool(settings: Settings, services: MemoryServices) -> FunctionTool:
    """The tool `manage_memory` over these memories, for the models of clients."""
    return manage_memory(
        services.memories,
        services.searcher,
        lambda user_id: households_of(settings, user_id),
        trusts=partial(is_trusted, settings.trusted_tools),
        who="A model over MCP",
    )


def memory_server(tool: FunctionTool, caller: McpUser) -> Server[Any]:
    """A server that offers `tool` alone, for that caller; over HTTP the request's key names the user."""

    async def list_tools(
        _context: ServerRequestContext[Any], _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        return ListToolsResult(tools=[offered(tool)])

    async def call_tool(context: ServerRequestContext[Any], params: CallToolRequestParams) -> CallToolResult:
        if params.name != tool.spec.name:
            return no_tool(params.name, tool.spec.name)
        return await call(tool, caller, context, params)

    return Server(
        "chat-gateway-memory",
        version=__version__,
        title="Memory of the chat gateway",
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


async def call(
    tool: FunctionTool, caller: McpUser, context: ServerRequestContext[Any], params: CallToolRequestParams
) -> CallToolResult:
    """What the tool says, as the result's one text, also where it fails."""
    patient = replace(tool, timeout=tool.timeout + ANSWER_TIMEOUT)
    try:
        output = await run_in_time(patient, params.arguments or {}, _context_of(caller, context))
    except Exception as error:  # noqa: BLE001 - whatever happens, the client gets an answer in words
        if not isinstance(error, ToolError):
            log.warning("tool_raised", tool=tool.spec.name, error=type(error).__name__)
        return result(failure(error)[1], is_error=True)
    return result(output.content, is_error=output.is_error)


def no_tool(name: str, known: str) -> CallToolResult:
    return result(f"There is no tool {name[:64]!r}, only {known}.", is_error=True)


async def serve_stdio(server: Server[Any]) -> None:
    """Serves the client at the other end of the standard streams until it closes ours. Meanwhile other writes
    to the standard output go to the standard error."""
    async with stdio_server() as (messages, answers):
        await server.run(messages, answers, server.create_initialization_options())


def http_app(server: Server[Any], keys: StaticKeys, settings: Settings) -> Starlette:
    """The server at PATH, over streamable HTTP; requests stand alone, so that none waits for another and
    nothing is kept between them. With `keys` each request needs one. Without, only those are heard that name
    this machine as their host: a page of some other site must not reach it through a browser."""
    names = [*LOOPBACK_HOSTS, *settings.allowed_hosts]
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=settings.max_body_size,
        transport_security=TransportSecuritySettings(
            enable_dns_rebinding_protection=not keys,
            allowed_hosts=[host for name in names for host in (_in_url(name), f"{_in_url(name)}:*")],
            allowed_origins=list(settings.cors_origins),
        ),
    )
    app.add_middleware(_Identified, keys=keys)
    return app


class _Identified:
    """Identifies the caller by the API key, or refuses the request."""

    def __init__(self, app: ASGIApp, keys: StaticKeys) -> None:
        self._app = app
        self._authentication = Authentication((keys,) if keys else ())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and self._authentication.is_required:
            headers = Headers(scope=scope)
            try:
                check_single(headers)
                scope["principal"] = await self._authentication.identify(headers)
            except GatewayError as error:
                problem = {"error": {"code": error.code, "message": error.message, "retryable": False}}
                status = status_of(error)
                challenge = {"www-authenticate": "Bearer"} if status == 401 else None
                await JSONResponse(problem, status, challenge)(scope, receive, send)
                return
        await self._app(scope, receive, send)


def offered(tool: FunctionTool) -> Tool:
    return Tool(
        name=tool.spec.name,
        title="Long-term memory",
        description=tool.spec.description,
        input_schema=tool.spec.input_schema,
        annotations=ToolAnnotations(
            read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
        ),
    )


def _context_of(caller: McpUser, context: ServerRequestContext[Any]) -> ToolContext:
    """A call that no turn of this gateway stands behind: it has neither a session nor a turn."""
    request = context.request
    principal: Principal | None = None if request is None else request.scope.get("principal")
    key = idempotency_key(context) or new_operation_id()
    return ToolContext(
        session_id="",
        turn_id="",
        tool_call_id=key,
        owner=caller.user_id if principal is None else principal.user_id,
        idempotency_key=f"mcp:{key}",
        emit=lambda _: None,
        role_id=caller.role_id,
        project_id=caller.project_id,
        offered=frozenset({CLIENT}),
        ask=partial(_ask, context),
        may=partial(may, principal) if principal is not None else _may_all,
    )


def _may_all(_operation: str) -> bool:
    """Of who runs the server for themselves, over standard streams or without keys on this machine."""
    return True


def idempotency_key(context: ServerRequestContext[Any]) -> str | None:
    """What the client calls this call, the same in every repetition of it; None where it does not say."""
    given = (context.meta or {}).get(IDEMPOTENCY_KEY)
    return given[:MAX_KEY_LENGTH] if isinstance(given, str) and given else None


async def _ask(context: ServerRequestContext[Any], question: str) -> bool:
    """Whether the user says yes to the question in their own client, which shows it as a form; False where
    it has none. The client's model neither sees the form nor answers it."""
    if not context.session.can_send_request or not context.session.check_client_capability(FORMS):
        return False
    answer = await context.session.elicit_form(question, _YES_OR_NO, context.request_id)
    return answer.action == "accept" and (answer.content or {}).get("remember") is True


def result(text: str, *, is_error: bool) -> CallToolResult:
    """What the gateway did not wrap itself is escaped, as in a turn."""
    text = clean_text(text if isinstance(text, Wrapped) else defuse(text))
    return CallToolResult(content=[TextContent(text=text)], is_error=is_error)


def _in_url(name: str) -> str:
    return f"[{name}]" if ":" in name else name
