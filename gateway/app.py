"""The ASGI application: routes, middleware, the page."""

from collections.abc import Iterable, Iterator, Sequence

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Route

from gateway.adapters.adapter import Adapter, switched_on
from gateway.api.url_table import ENDPOINTS
from gateway.auth.client_addresses import ClientAddresses
from gateway.errors import GatewayError
from gateway.http.audit_middleware import Audit
from gateway.http.endpoint import Endpoint
from gateway.http.error_responses import Dialect, on_bug, on_gateway_error, on_http_error
from gateway.http.middleware import Access, FailureResponses, RequestScope
from gateway.http.openapi import document
from gateway.http.stream_places import StreamPlaces
from gateway.lifespan import lifespan
from gateway.page import OPEN_PATHS as PAGE_PATHS
from gateway.page import PageFiles
from gateway.settings import Settings
from gateway.tools.base import FunctionTool
from gateway.wiring import function_skills
from gateway.wiring.authentication import open_authentication

OPEN_PATHS = (*PAGE_PATHS, "/openapi.json")
"""What is no endpoint of the API: the page and the description of the API."""


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
            *PageFiles(settings).routes(),
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
    """The paths where nobody is asked who they are; of one with parameters what comes before the first."""
    return (each.path.partition("{")[0] for each in endpoints if each.does.is_open)


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
