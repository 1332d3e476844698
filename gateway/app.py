"""The ASGI application: routes, middleware, the page."""

import asyncio
import os
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from mimetypes import guess_type
from pathlib import Path

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import PathLike, StaticFiles
from starlette.types import Scope

from gateway.adapters.adapter import Adapter, switched_on
from gateway.api.url_table import ENDPOINTS
from gateway.auth.client_addresses import ClientAddresses
from gateway.errors import GatewayError
from gateway.http.audit_middleware import Audit
from gateway.http.conditional_requests import is_known
from gateway.http.endpoint import Endpoint
from gateway.http.error_responses import Dialect, on_bug, on_gateway_error, on_http_error
from gateway.http.middleware import CONTENT_POLICY, Access, FailureResponses, RequestScope
from gateway.http.openapi import document
from gateway.http.stream_places import StreamPlaces
from gateway.lifespan import lifespan
from gateway.settings import Settings
from gateway.tools.base import FunctionTool
from gateway.wiring import function_skills
from gateway.wiring.authentication import open_authentication

OPEN_PATHS = ("/", "/openapi.json", "/assets/")
"""What is no endpoint of the API: the page and the description of the API."""
PAGE = Path(__file__).parent / "ui"
UNBUILT = (
    "The page is not built: `make page` does it, with npm's packages. The API works: see /openapi.json.\n"
)


def build_app(
    settings: Settings,
    *,
    demo: bool = False,
    tools: Sequence[FunctionTool] = (),
    picks_model: bool = False,
) -> Starlette:
    """The application. Everything is opened by its lifespan.

    With `demo` a demo model is served on loopback and answers instead of a real one; `tools` are added to the
    built-in ones. Where the settings name no model and the endpoint lists several, one is taken with
    `picks_model`. `app.state.begin_shutdown()`, called on the event loop, starts the draining and returns its
    task: new turns are refused, running ones get `shutdown_grace` seconds, then all streams end.

    Raises:
        SettingsError: a setting is wrong.
    """
    adapters = switched_on(settings.adapters)
    endpoints = (*ENDPOINTS, *(row for adapter in adapters.values() for row in adapter.endpoints))
    app = Starlette(
        routes=[
            *(each.route() for each in endpoints),
            Route("/openapi.json", document(endpoints)),
            Route("/", _page),
            Mount("/assets", _Assets(directory=PAGE / "assets", check_dir=False)),
        ],
        middleware=[
            Middleware(RequestScope, settings=settings, addresses=ClientAddresses(settings)),
            *_cors(settings, adapters.values()),
            Middleware(FailureResponses),
            Middleware(Audit),
            Middleware(Access, settings=settings, open_paths=[*OPEN_PATHS, *_open(endpoints)]),
        ],
        exception_handlers={GatewayError: on_gateway_error, HTTPException: on_http_error, Exception: on_bug},
        lifespan=lifespan,
    )
    app.router.redirect_slashes = False  # RequestScope has them without
    app.state.authentication, app.state.identity_provider = open_authentication(settings)
    app.state.settings = (
        settings.model_copy(update={"model": "demo", "allowed_models": ()}) if demo else settings
    )
    app.state.stream_places = StreamPlaces(settings)
    app.state.demo, app.state.picks_model = demo, picks_model
    app.state.dialects = {each.prefix: Dialect(name, each.write_problem) for name, each in adapters.items()}
    if demo:
        from gateway.demo.demo_tools import demo_tools  # noqa: PLC0415 - nobody else waits for the demo model's parts

        tools = (*tools, *demo_tools(settings.data_dir))
    app.state.functions = function_skills(settings, tools)
    return app


def _open(endpoints: Iterable[Endpoint]) -> Iterator[str]:
    """The paths where nobody is asked who they are."""
    return (each.path for each in endpoints if each.does.is_open)


def _cors(settings: Settings, adapters: Iterable[Adapter]) -> list[Middleware]:
    if not settings.cors_origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=list(settings.cors_origins),
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            # Any, as the origins are named one by one: SDKs send many of their own (x-stainless-…).
            allow_headers=["*"],
            expose_headers=[
                "accept-ranges",
                "content-disposition",
                "content-range",
                "etag",
                "location",
                "x-request-id",
                "x-session-id",
                "x-turn-id",
                "retry-after",
                "ratelimit",
                "ratelimit-policy",
                "server-timing",
                *(name for adapter in adapters for name in adapter.exposed_headers),
            ],
        )
    ]


class _Assets(StaticFiles):
    """The page's files: each name has a hash of the content in it, so that a browser keeps them."""

    async def check_config(self) -> None:
        """Without a build there are none, and that is no fault."""

    def file_response(
        self, full_path: PathLike, stat_result: os.stat_result, scope: Scope, status_code: int = 200
    ) -> Response:
        """Compressed by the build, where a browser takes it so and no proxy has to."""
        packed = Path(f"{full_path}.gz")
        if "gzip" in Headers(scope=scope).get("accept-encoding", "") and packed.is_file():
            response = super().file_response(packed, packed.stat(), scope, status_code)
            response.headers["content-encoding"] = "gzip"
            response.headers["content-type"] = f"{guess_type(full_path)[0]}; charset=utf-8"
        else:
            response = super().file_response(full_path, stat_result, scope, status_code)
        response.headers.update(
            {"cache-control": "public, max-age=31536000, immutable", "vary": "accept-encoding"}
        )
        return response


def page_policy(page: bytes) -> str:
    """CONTENT_POLICY which also allows the scripts that stand in the page itself, each by its hash (CSP 3,
    2.3.1)."""
    digests = (b64encode(sha256(script).digest()).decode() for script in _INLINE.findall(page))
    allowed = " ".join(["script-src 'self'", *(f"'sha256-{digest}'" for digest in digests)])
    return CONTENT_POLICY.replace("script-src 'self'", allowed)


_INLINE = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


async def _page(request: Request) -> Response:
    """Asked for again each time, by its content: two builds differ in names of equal length."""
    try:
        page = await asyncio.to_thread((PAGE / "index.html").read_bytes)
    except FileNotFoundError:
        return PlainTextResponse(UNBUILT, 404)
    etag = f'"{sha256(page).hexdigest()[:32]}"'
    about = {"cache-control": "no-cache", "etag": etag, "content-security-policy": page_policy(page)}
    if is_known(request.headers, etag):
        return Response(status_code=304, headers=about)
    return HTMLResponse(page, headers=about)
