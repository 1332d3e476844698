"""MCP servers: how they are doing, and the gateway's sign-in to those that ask for one."""

import secrets
from ipaddress import ip_address
from urllib.parse import urlsplit

from pydantic import Field, field_validator
from starlette.responses import RedirectResponse, Response

from gateway.api.sign_in_routes import CallbackQuery, browser_value, failure_page, page_of, set_browser_value
from gateway.errors import GatewayError
from gateway.http.json_types import Body, Reply, json_reply
from gateway.http.requests import ApiRequest
from gateway.service.mcp_servers import McpServerView
from gateway.tools.mcp.reconnecting_server import ServerStatus

COME_BACK = "/auth/mcp/callback"
"""Where browsers come back to: the one address that the gateway gives authorization servers for the page."""
BEGUN = "gateway_mcp_sign_in"
BEGUN_FOR = 600


class McpServerRow(Reply):
    """An MCP server of the settings."""

    name: str
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
        )


class McpServerList(Reply):
    """The MCP servers of the settings, by name."""

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


async def find(request: ApiRequest) -> Response:
    """The MCP servers, and whether they need a sign-in; for the operator."""
    found = await request.gateway.mcp_servers.list()
    return json_reply(McpServerList(servers=[McpServerRow.of(each) for each in found]))


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


async def finish(request: ApiRequest) -> Response:
    """Ends a sign-in that the same user began with an address on loopback."""
    body = await request.read_body(FinishMcpSignInBody)
    name = await request.gateway.mcp_servers.finish(
        request.principal, None, state=body.state, code=body.code, issuer=body.iss, error=body.error
    )
    return json_reply(SignedInMcpServer(name=name))


async def sign_out(request: ApiRequest) -> Response:
    """Forgets the sign-in to a server, and as what the gateway is registered there."""
    await request.gateway.mcp_servers.sign_out(request.principal, request.path_text("name"))
    return Response(status_code=204)


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
