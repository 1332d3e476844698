"""An authorization server and an MCP server that asks for its tokens, over one socket: it signs everybody in,
and misbehaves as it is told."""

import asyncio
import base64
import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

from tests.loopback import served

OBJECT = {"type": "object"}


class AuthorizationServer:
    """`asked` are the forms of token requests, `calls` the MCP calls that were let in. `fault` is what goes
    wrong: `metadata`, `resource`, `issuer`, `redirect`, `huge`, `hang`, `html`, `elsewhere`, `no-pkce`,
    `no-registration`, `token-500`, `refuse`, `slow-refresh`, `repeat` and, to the
    authorization server alone, `repeat-token`: it says again what it was sent."""

    def __init__(self) -> None:
        self.url = ""
        self.fault = ""
        self.codes: dict[str, dict[str, str]] = {}
        self.clients: set[str] = set()
        self.registered: list[dict[str, Any]] = []
        self.access: set[str] = set()
        self.refresh: set[str] = set()
        self.expires_in: Any = 3600
        self.rotates = True
        self.asked: list[dict[str, str]] = []
        self.authorizations: list[str] = []
        self.calls = 0
        self.hung = asyncio.Event()

    async def resource(self, _: Request) -> Response:
        resource = "https://elsewhere.example/mcp" if self.fault == "resource" else f"{self.url}/mcp"
        return JSONResponse(
            {"resource": resource, "authorization_servers": [self.url], "scopes_supported": ["use"]}
        )

    async def metadata(self, _: Request) -> Response:
        match self.fault:
            case "hang":
                await self.hung.wait()
            case "huge":
                return Response(b" " * 10_000_000, media_type="application/json")
            case "html":
                return Response("<html>", media_type="text/html")
            case "metadata":
                return Response(status_code=500)
            case "redirect":
                return RedirectResponse("http://169.254.169.254/latest", 307)
            case _:
                pass
        base = "https://10.0.0.7" if self.fault == "elsewhere" else self.url
        told: dict[str, Any] = {
            "issuer": "https://evil.example" if self.fault == "issuer" else self.url,
            "authorization_endpoint": f"{self.url}/authorize",
            "token_endpoint": f"{base}/token",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["plain"] if self.fault == "no-pkce" else ["S256"],
            "token_endpoint_auth_methods_supported": ["none", "client_secret_basic"],
            "authorization_response_iss_parameter_supported": True,
        }
        if self.fault != "no-registration":
            told["registration_endpoint"] = f"{self.url}/register"
        return JSONResponse(told)

    async def register(self, request: Request) -> Response:
        asked = await request.json()
        self.registered.append(asked)
        client = f"client-{len(self.registered)}"
        self.clients.add(client)
        return JSONResponse({**asked, "client_id": client}, 201)

    async def authorize(self, request: Request) -> Response:
        """Signs in whoever comes, without a question."""
        given = dict(request.query_params)
        code = f"code-{len(self.codes) + 1}"
        self.codes[code] = given
        back = {"state": given["state"], "iss": self.url}
        back |= {"error": "access_denied"} if self.fault == "refuse" else {"code": code}
        return RedirectResponse(f"{given['redirect_uri']}?{urlencode(back)}", 302)

    async def token(self, request: Request) -> Response:
        form = dict(parse_qsl((await request.body()).decode()))
        self.asked.append(form)
        self.authorizations.append(request.headers.get("authorization", ""))
        if self.fault in ("token-500", "repeat", "repeat-token"):
            return self._failing(form)
        if self.fault == "slow-refresh":
            await asyncio.sleep(0.2)
        client = form.get("client_id", "configured")
        if client not in {*self.clients, "configured"}:
            return JSONResponse({"error": "invalid_client", "error_description": "secret-words"}, 401)
        match form["grant_type"]:
            case "authorization_code":
                known = self.codes.pop(form["code"], None)
                digest = hashlib.sha256(form["code_verifier"].encode()).digest()
                challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
                if known is None or known["code_challenge"] != challenge:
                    return JSONResponse({"error": "invalid_grant"}, 400)
                if known["redirect_uri"] != form["redirect_uri"]:
                    return JSONResponse({"error": "invalid_grant"}, 400)
            case "refresh_token":
                if form["refresh_token"] not in self.refresh:
                    return JSONResponse({"error": "invalid_grant"}, 400)
                if self.rotates:
                    self.refresh.discard(form["refresh_token"])
            case _:
                pass
        number = len(self.asked)
        self.access = {f"access-{number}"}
        given: dict[str, Any] = {
            "access_token": f"access-{number}",
            "token_type": "bearer",
            "expires_in": self.expires_in,
        }
        if form["grant_type"] != "client_credentials" and (
            self.rotates or form["grant_type"] == "authorization_code"
        ):
            self.refresh.add(f"refresh-{number}")
            given["refresh_token"] = f"refresh-{number}"
        return JSONResponse(given)

    def _failing(self, form: dict[str, str]) -> Response:
        if self.fault == "token-500":
            return Response("out of order", 500)
        said = "&".join([*form.values(), *self.authorizations[-1:], urlencode(form)])
        return JSONResponse({"error": said[:90], "error_description": f"bad: {said}"}, 400)

    async def mcp(self, request: Request) -> Response:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self.fault == "repeat":
            return JSONResponse({"error": f"Bearer {token} may not do that"}, 403)
        if token not in self.access:
            where = f"{self.url}/.well-known/oauth-protected-resource/mcp"
            return Response("no", 401, {"www-authenticate": f'Bearer resource_metadata="{where}"'})
        if request.method != "POST":
            return Response(status_code=405)
        message = await request.json()
        if "id" not in message:
            return Response(status_code=202)
        self.calls += message["method"] == "tools/call"
        results: dict[str, Any] = {
            "initialize": {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "guarded", "version": "1"},
            },
            "tools/list": {"tools": [{"name": "who", "inputSchema": OBJECT}]},
            "tools/call": {"content": [{"type": "text", "text": "let in"}]},
        }
        if (result := results.get(message["method"])) is None:
            return Response(status_code=404)
        return JSONResponse({"jsonrpc": "2.0", "id": message["id"], "result": result})


@asynccontextmanager
async def guarded() -> AsyncGenerator[AuthorizationServer]:
    """The two servers; the MCP server is at `/mcp` of its `url`."""
    server = AuthorizationServer()
    routes = [
        Route("/.well-known/oauth-protected-resource/mcp", server.resource),
        Route("/.well-known/oauth-authorization-server", server.metadata),
        Route("/register", server.register, methods=["POST"]),
        Route("/authorize", server.authorize),
        Route("/token", server.token, methods=["POST"]),
        Route("/mcp", server.mcp, methods=["GET", "POST", "DELETE"]),
    ]
    async with served(Starlette(routes=routes), lifespan=False) as server.url:
        try:
            yield server
        finally:
            server.hung.set()


async def gone_through(url: str) -> dict[str, str]:
    """What a browser comes back with that goes to the address."""
    async with httpx2.AsyncClient(trust_env=False) as browser:
        answer = await browser.get(url)
    assert answer.status_code == 302, answer.text
    return dict(parse_qsl(urlsplit(answer.headers["location"]).query))
