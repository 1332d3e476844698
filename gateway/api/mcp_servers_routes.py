"""MCP servers: how they are doing, and the gateway's sign-in to those that ask for one."""

import secrets
from ipaddress import ip_address
from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import Field, field_validator
from starlette.responses import RedirectResponse, Response

from gateway.api.sign_in_routes import CallbackQuery, browser_value, failure_page, page_of, set_browser_value
from gateway.errors import GatewayError, InvalidRequest
from gateway.http.endpoint import endpoint
from gateway.http.json_types import Body, Reply, json_reply
from gateway.http.requests import ApiRequest
from gateway.service.added_mcp_servers import ServerParts
from gateway.service.mcp_servers import McpServerView
from gateway.settings.value_types import check_server_name
from gateway.tools.mcp.reconnecting_server import ServerStatus

McpTransport = Literal["auto", "http", "sse"]
COME_BACK = "/auth/mcp/callback"
"""Where browsers come back to: the one address that the gateway gives authorization servers for the page."""
BEGUN = "gateway_mcp_sign_in"
BEGUN_FOR = 600


class McpServerRow(Reply):
    """An MCP server, of the settings or added."""

    name: str
    url: str | None = Field(
        None, description="Without its query; absent: it is a program that the gateway runs."
    )
    transport: McpTransport
    headers: list[str] = Field(description="Names of the headers that are sent to it.")
    trust_hints: bool = Field(description="Whether its word counts that a tool only reads.")
    is_fixed: bool = Field(description="It is one of the settings, and is changed there alone.")
    status: ServerStatus
    tools: int = Field(description="How many are offered.")
    error: str | None = Field(None, description="Why it is not connected.")
    since: int = Field(description="Since when its status is what it is, in Unix milliseconds.")
    takes_sign_in: bool = Field(description="Whether the gateway can sign in to it.")
    is_signed_in: bool = Field(description="Whether it is signed in.")

    @classmethod
    def of(cls, view: McpServerView) -> "McpServerRow":
        state = view.state
        return cls(
            name=state.name,
            status=state.status,
            tools=state.tools,
            error=state.error,
            since=state.since,
            takes_sign_in=view.takes_sign_in,
            is_signed_in=view.is_signed_in,
            url=view.url,
            transport=view.transport,
            headers=list(view.headers),
            trust_hints=view.trust_hints,
            is_fixed=view.is_fixed,
        )


HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")]
HeaderValue = Annotated[
    str, Field(pattern=r"^[\x21-\x7e\x80-\xff]([\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?$")
]


class McpOAuthBody(Body):
    """A client that is registered at the server's authorization server; what is absent is found out."""

    client_id: str | None = Field(None, min_length=1, max_length=2048)
    client_secret: str | None = Field(None, min_length=1, max_length=4096)
    issuer: str | None = Field(None, min_length=1, max_length=2048)
    scopes: list[Annotated[str, Field(min_length=1, max_length=200)]] = Field([], max_length=50)


class McpServerBody(Body):
    """A server to add, or what becomes of one. Headers and `oauth` that are not named stay as they are,
    unless it moves to another address."""

    url: str = Field(min_length=1, max_length=2048, description="On the public web, or in GATEWAY_MCP_HOSTS.")
    transport: McpTransport = "auto"
    headers: dict[HeaderName, Annotated[HeaderValue, Field(max_length=8192)]] | None = Field(
        None, max_length=20, description="Sent with every request; no answer shows their values."
    )
    oauth: McpOAuthBody | None = None
    trust_hints: bool = Field(False, description="Whether its word counts that a tool only reads.")
    timeout: float | None = Field(None, gt=0, le=3600, description="Seconds for the answer to one call.")


class McpServerList(Reply):
    """The MCP servers, by name."""

    servers: list[McpServerRow]


class BeginMcpSignInBody(Body):
    """Where the person comes back to."""

    redirect_uri: str = Field(
        "page",
        max_length=200,
        description="`page`: to this gateway, in the browser that asks; else an http address on loopback, "
        "where a program waits that then asks POST /api/mcp/sign-ins.",
    )

    @field_validator("redirect_uri")
    @classmethod
    def _is_own(cls, given: str) -> str:
        """RFC 8252, 7.3: whoever listens there is on the person's own machine."""
        if given != "page" and not _is_loopback(given):
            raise ValueError("must be `page`, or http://127.0.0.1:PORT/PATH")
        return given


class BegunMcpSignIn(Reply):
    """Where to sign in."""

    url: str = Field(description="The authorization server's page, for a browser.")
    expires_in: int = Field(description="Seconds in which one must come back.")


class FinishMcpSignInBody(Body):
    """What the authorization server has added to the address where the person came back."""

    state: str = Field(max_length=512)
    code: str = Field("", max_length=4096)
    iss: str | None = Field(None, max_length=2048)
    error: str | None = Field(None, max_length=200)


class SignedInMcpServer(Reply):
    """The server that the gateway is signed in to now."""

    name: str


@endpoint("GET", "/api/mcp/servers", "mcp_server.list", {200: (McpServerList,)}, refusals=(403,))
async def find(request: ApiRequest) -> Response:
    """The MCP servers, and whether they need a sign-in; for the operator."""
    found = await request.gateway.mcp_servers.list()
    return json_reply(McpServerList(servers=[McpServerRow.of(each) for each in found]))


@endpoint(
    "PUT",
    "/api/mcp/servers/{name}",
    "mcp_server.put",
    {200: (McpServerRow,)},
    McpServerBody,
    refusals=(403, 409, 413),
)
async def put(request: ApiRequest) -> Response:
    """Adds a server, or changes one that was added, for everybody and at once; for the operator. Programs are
    in the settings alone."""
    name, body = _server_name(request), await request.read_body(McpServerBody)
    given = body.model_dump(exclude_none=True)
    view = await request.gateway.added_mcp_servers.put(request.principal, name, ServerParts(**given))
    return json_reply(McpServerRow.of(view))


@endpoint("DELETE", "/api/mcp/servers/{name}", "mcp_server.remove", {204: (None,)}, refusals=(403, 404, 409))
async def remove(request: ApiRequest) -> Response:
    """Removes a server that was added, with the sign-in to it; for the operator."""
    await request.gateway.added_mcp_servers.remove(request.principal, request.path_text("name"))
    return Response(status_code=204)


@endpoint(
    "POST",
    "/api/mcp/servers/{name}/sign-in",
    "mcp_server.sign_in",
    {200: (BegunMcpSignIn,)},
    BeginMcpSignInBody,
    refusals=(403, 404, 409, 413),
)
async def begin(request: ApiRequest) -> Response:
    """Begins the gateway's sign-in to a server; for the operator, whose browser goes to `url` then."""
    body, name = await request.read_body(BeginMcpSignInBody), request.path_text("name")
    servers = request.gateway.mcp_servers
    if body.redirect_uri != "page":
        url = await servers.begin(request.principal, name, body.redirect_uri, None)
        return json_reply(BegunMcpSignIn(url=url, expires_in=BEGUN_FOR))
    page, browser = page_of(request), secrets.token_urlsafe(32)
    url = await servers.begin(request.principal, name, page + COME_BACK, browser)
    response = json_reply(BegunMcpSignIn(url=url, expires_in=BEGUN_FOR))
    set_browser_value(response, page, BEGUN, browser, BEGUN_FOR)
    return response


@endpoint(
    "GET",
    COME_BACK,
    "mcp_server.come_back",
    {303: (None,), 409: ("text/html",)},
    query=CallbackQuery,
    refusals=(403,),
)
async def come_back(request: ApiRequest) -> Response:
    """Ends the sign-in to an MCP server, in the browser that began it, and sends that to the page."""
    asked, page = await request.read_query(CallbackQuery), page_of(request)
    browser = browser_value(request, page, BEGUN)
    try:
        await request.gateway.mcp_servers.finish(
            None, browser or "", state=asked.state, code=asked.code, issuer=asked.iss, error=asked.error
        )
    except GatewayError as error:
        request.scope["refused"] = error.code
        response = failure_page(error)
    else:
        response = RedirectResponse(f"{urlsplit(page).path}/#p=skills", 303)
    set_browser_value(response, page, BEGUN, "", 0)
    response.headers["cache-control"] = "no-store"
    return response


@endpoint(
    "POST",
    "/api/mcp/sign-ins",
    "mcp_server.sign_in",
    {200: (SignedInMcpServer,)},
    FinishMcpSignInBody,
    refusals=(403, 409, 413),
)
async def finish(request: ApiRequest) -> Response:
    """Ends a sign-in that the same user began with an address on loopback."""
    body = await request.read_body(FinishMcpSignInBody)
    name = await request.gateway.mcp_servers.finish(
        request.principal, None, state=body.state, code=body.code, issuer=body.iss, error=body.error
    )
    return json_reply(SignedInMcpServer(name=name))


@endpoint(
    "DELETE", "/api/mcp/servers/{name}/sign-in", "mcp_server.sign_out", {204: (None,)}, refusals=(403, 404)
)
async def sign_out(request: ApiRequest) -> Response:
    """Forgets the sign-in to a server, and as what the gateway is registered there."""
    await request.gateway.mcp_servers.sign_out(request.principal, request.path_text("name"))
    return Response(status_code=204)


def _server_name(request: ApiRequest) -> str:
    name = request.path_text("name")
    try:
        check_server_name(name)
    except ValueError as error:
        raise InvalidRequest(str(error)) from None
    return name


def _is_loopback(url: str) -> bool:
    try:
        parts = urlsplit(url)
        is_here = parts.hostname == "localhost" or ip_address(parts.hostname or "").is_loopback
        is_plain = (
            url.isprintable() and " " not in url and parts.port != 0
        )  # .port raises for none that is one
        is_bare = not (parts.username or parts.fragment or parts.query)
        return parts.scheme == "http" and is_here and is_plain and is_bare
    except ValueError:
        return False
