"""The ASGI application: routes + middleware + what lives as long as the process."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Coroutine, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from gateway import wiring
from gateway.api.middleware import Access, RequestScope
from gateway.api.openapi import document
from gateway.api.problems import on_bug, on_gateway_error, on_http_error
from gateway.api.routes import routes
from gateway.auth import ApiKeys
from gateway.demo.notes import write_note
from gateway.demo.server import serve_demo
from gateway.errors import GatewayError
from gateway.history.indexing import Indexer
from gateway.messages import Usage
from gateway.model.prices import cost_of
from gateway.model.prices import window as window_in_force
from gateway.service.archiving import Archiver
from gateway.service.gateway import Gateway
from gateway.service.upkeep import Upkeep
from gateway.settings import Settings
from gateway.skills.library import SkillLibrary
from gateway.telemetry.logs import configure_logging
from gateway.telemetry.setup import open_telemetry
from gateway.tools.base import FunctionTool
from gateway.tools.mcp.servers import McpServers
from gateway.turn.in_flight import InFlight
from gateway.turn.remembering import Remembering

START_PATIENCE = 30.0
"""Seconds that the start waits at most for MCP servers that are not ready before their `connect_timeout`; who
comes later is connected while the gateway serves."""

PAGE = Path(__file__).parent / "ui"

log = structlog.get_logger(__name__)


def build_app(settings: Settings, *, demo: bool = False, tools: Sequence[FunctionTool] = ()) -> Starlette:
    """The application. Everything is opened by its lifespan.

    With `demo` a demo model is served on loopback and answers instead of a real one; `tools` are added to the
    built-in ones. `app.state.begin_shutdown()`, called on the event loop, starts the draining and returns its
    task: new turns are refused, running ones get `shutdown_grace` seconds, then all streams end.

    Raises:
        SettingsError: a setting is wrong.
    """
    keys = ApiKeys(settings.api_keys.get_secret_value())
    app = Starlette(
        routes=[
            *routes(),
            Route("/openapi.json", document),
            Route("/", _page),
            Mount("/ui", _Assets(directory=PAGE)),
        ],
        middleware=[
            Middleware(RequestScope),
            *_cors(settings),
            Middleware(Access, settings=settings, keys=keys),
        ],
        exception_handlers={GatewayError: on_gateway_error, HTTPException: on_http_error, Exception: on_bug},
        lifespan=_lifespan,
    )
    app.state.settings = (
        settings.model_copy(update={"model": "demo", "allowed_models": ()}) if demo else settings
    )
    app.state.demo = demo
    given = (*tools, write_note(settings.data_dir)) if demo else tools
    app.state.functions = wiring.function_skills(settings, given)
    return app


@asynccontextmanager
async def _lifespan(app: Starlette) -> AsyncGenerator[None]:
    settings: Settings = app.state.settings
    configure_logging(settings.log_level, settings.log_format)
    async with AsyncExitStack() as stack:
        telemetry = open_telemetry(settings)
        stack.push_async_callback(telemetry.shutdown)
        storage = await stack.enter_async_context(
            wiring.open_storage(settings, flushed=telemetry.meters.log.flushed)
        )
        storage.bus.watch(telemetry.observe)
        telemetry.meters.watch_readers(lambda: storage.bus.readers)
        demo_url = await stack.enter_async_context(serve_demo()) if app.state.demo else None
        model = wiring.open_model(settings, demo_url)
        await asyncio.to_thread(
            cost_of, settings.model, Usage(input_tokens=1, output_tokens=1)
        )  # loads prices
        stack.push_async_callback(model.close)
        skills, servers = await _open_skills(app, storage, stack)
        remembering = Remembering()
        parts = wiring.assemble_parts(settings, storage, model, skills, remembering)
        in_flight = InFlight(parts, telemetry, traces_recorded=telemetry.tracing is not None)
        archiver = Archiver(parts, telemetry.archived)
        gateway = Gateway(parts, in_flight, archiver)
        app.state.parts, app.state.gateway, app.state.telemetry = parts, gateway, telemetry
        telemetry.meters.watch_queue(lambda: gateway.queued)
        telemetry.meters.watch_parked(lambda: gateway.approvals.parked)
        telemetry.meters.watch_skills(lambda: Counter((s.type, s.enabled) for s in skills.catalog.skills))
        telemetry.meters.watch_mcp(lambda: {s.name: s.status == "connected" for s in servers.states})
        stack.enter_context(telemetry.meters.loop)
        draining: list[asyncio.Task[None]] = []

        def begin_shutdown() -> asyncio.Task[None]:
            if not draining:
                log.info("draining", grace=settings.shutdown_grace)
                draining.append(asyncio.create_task(gateway.drain(settings.shutdown_grace)))
            return draining[0]

        app.state.begin_shutdown = begin_shutdown
        for work, name in (
            (skills.watch(), "skills"),
            (remembering.run(), "memory suggestions"),
        ):
            await stack.enter_async_context(_in_background(work, name))
        await _wait_for(servers, settings)
        await skills.refresh()
        await gateway.recover()
        deadlines = gateway.approvals.watch_deadlines()  # not before: a turn that it wakes has an owner
        await stack.enter_async_context(_in_background(deadlines, "deadlines of approvals"))
        indexer, upkeep = Indexer(storage.search), Upkeep(parts, archiver)
        storage.bus.watch(indexer.watch)
        await stack.enter_async_context(_in_background(indexer.run(), "search index"))
        if upkeep.has_work:
            await stack.enter_async_context(_in_background(upkeep.run(), "upkeep"))
        app.state.indexer = indexer
        try:
            yield
        finally:
            await begin_shutdown()
            await remembering.close()


async def _open_skills(
    app: Starlette, storage: wiring.Storage, stack: AsyncExitStack
) -> tuple[SkillLibrary, McpServers]:
    """The catalog, still to be looked at, and the MCP servers, which are being connected."""
    settings: Settings = app.state.settings

    def changed() -> None:
        skills.changed()

    servers = McpServers(settings.mcp_servers, changed=changed)
    window = await window_in_force(settings, settings.model)
    skills = wiring.open_skills(
        settings, storage.switches, app.state.functions, lambda: servers.tools, window
    )
    await stack.enter_async_context(_in_background(servers.run(), "MCP servers"))
    return skills, servers


async def _wait_for(servers: McpServers, settings: Settings) -> None:
    """The first turns shall find the tools of MCP servers, and so shall calls that somebody approved before a
    restart, which are made as soon as the gateway serves."""
    limits = [server.connect_timeout for server in settings.mcp_servers.values()]
    if not limits:
        return
    patience = min(START_PATIENCE, max(limits))
    log.info("mcp_servers_awaited", servers=sorted(settings.mcp_servers), longest=patience)
    try:
        await asyncio.wait_for(servers.tried(), patience)
    except TimeoutError:
        late = [state.name for state in servers.states if state.status == "connecting"]
        log.warning("mcp_servers_not_ready", servers=late, waited=patience)


@asynccontextmanager
async def _in_background(work: Coroutine[Any, Any, None], name: str) -> AsyncGenerator[None]:
    """Runs `work` beside the requests until the context is left."""
    task = asyncio.create_task(work, name=name)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


def _cors(settings: Settings) -> list[Middleware]:
    if not settings.cors_origins:
        return []
    return [
        Middleware(
            CORSMiddleware,
            allow_origins=list(settings.cors_origins),
            allow_methods=["GET", "POST", "PATCH", "DELETE"],
            allow_headers=[
                "authorization",
                "content-type",
                "last-event-id",
                "x-api-key",
                "x-request-id",
                "traceparent",
                "tracestate",
                "baggage",
            ],
            expose_headers=[
                "location",
                "x-request-id",
                "x-session-id",
                "x-turn-id",
                "retry-after",
                "server-timing",
            ],
        )
    ]


class _Assets(StaticFiles):
    """The page's files; asked for again each time, so that an upgrade is not mixed with old scripts."""

    def file_response(self, *args: Any, **options: Any) -> Response:
        response = super().file_response(*args, **options)
        response.headers["cache-control"] = "no-cache"
        return response


async def _page(request: Request) -> Response:
    return FileResponse(PAGE / "index.html", headers={"cache-control": "no-cache"})
