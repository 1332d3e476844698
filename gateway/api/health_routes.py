"""Is it alive, is it ready, what has it counted, what does it speak."""

import asyncio
import platform
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict
from shutil import disk_usage
from typing import Literal

import orjson
import structlog
from pydantic import Field
from starlette.responses import Response

from gateway import __version__
from gateway.auth import Role, Scope
from gateway.auth.signed_in import is_signed_in
from gateway.errors import GatewayError
from gateway.events.contract import json_schema
from gateway.http.conditional_requests import LastingDocument
from gateway.http.endpoint import endpoint
from gateway.http.json_types import Reply, json_reply
from gateway.http.requests import ApiRequest
from gateway.model.model_limits import notices
from gateway.service.admin_rights import is_operator
from gateway.supervisor import Supervisor

log = structlog.get_logger(__name__)

Check = Callable[[], Awaitable[None]]
"""Raises GatewayError when turns cannot be taken. Anybody may read its code and message, without a key."""

EVENT_SCHEMA = LastingDocument(lambda: orjson.dumps(json_schema()), "application/schema+json")

CHECK_TIMEOUT = 5.0
"""Seconds after which a check has failed that says nothing."""


class FailedCheck(Reply):
    """Why the gateway is not ready."""

    code: str
    message: str


class FailingTask(Reply):
    """A background task that failed and has not been steady since: since when (Unix ms), how often in a row,
    and the type or code of its newest failure."""

    since: int
    failures: int
    why: str


class ReplicasSeen(Reply):
    """How many replicas of one database live, this one among them, and in what they `differ`: `version`,
    `schema` (the newest that each knows), `lease`, `prompts`, `skills`, and settings by name, as
    `GATEWAY_MODEL`. While one version takes the place of another they do. Each judges the others by its own
    lease: `GATEWAY_LEASE` must be the same on all."""

    alive: int
    differ: list[str]


class Health(Reply):
    """Whether turns are taken. `failed` has the checks that say no, by name, and `failing_tasks` the
    background tasks that fail; only `/readyz` names them, with PostgreSQL the `replicas`, also when there is
    one, and in `newer_schema` what of its schema is newer than this version: `sessions`, `memories`, each
    with its revision. `notices` are sentences about the models: which one to set, which is to be retired."""

    status: Literal["ok", "draining", "unavailable"]
    version: str
    model: str
    demo: bool
    failed: dict[str, FailedCheck] | None = None
    failing_tasks: dict[str, FailingTask] | None = None
    replicas: ReplicasSeen | None = None
    newer_schema: dict[str, str] | None = None
    notices: list[str] | None = None


class DiskSpace(Reply):
    """Of the file system on which the data folder lies, in bytes."""

    free: int
    total: int


class ServerReply(Reply):
    """One process of the gateway, and what it runs on. Sizes are in bytes."""

    health: Health
    python: str
    engine: Literal["sqlite", "postgresql"]
    started_at: int = Field(description="Unix milliseconds.")
    sizes: dict[str, int] = Field(description="What the database takes, by part.")
    disk: DiskSpace


class Caller(Reply):
    """Who asks, and what they may choose."""

    user_id: str
    tenant: str
    roles: list[Role]
    scopes: list[Scope]
    has_key: bool = Field(description="Keys are asked for: who has another one is another user.")
    signed_in: bool = Field(description="By the page's sign-in, which can be ended (POST /auth/sign-out).")
    is_admin: bool = Field(description="Looks after the people of their tenant: its keys, audit, holds.")
    is_operator: bool = Field(
        description="Looks after the gateway: may switch skills, change documents, try edits of the prompt."
    )
    models: list[str] = Field(description="Those that a turn may choose, the default first.")
    public_links: bool = Field(description="Links to chats may be for anybody who has them.")


@endpoint("GET", "/api/me", "caller.read", {200: (Caller,)})
async def me(request: ApiRequest) -> Response:
    """Who you are for this gateway, and the models that your turns may choose."""
    settings, who = request.settings, request.principal
    return json_reply(
        Caller(
            user_id=who.user_id,
            tenant=who.tenant,
            roles=sorted(who.roles),
            scopes=sorted(who.scopes),
            has_key=request.app.state.authentication.is_required,
            signed_in=is_signed_in(request.headers, request.settings),
            is_admin="admin" in who.scopes,
            is_operator=is_operator(who),
            models=list(settings.models),
            public_links=settings.public_links,
        )
    )


@endpoint("GET", "/healthz", "health.read", {200: (Health,)})
async def alive(request: ApiRequest) -> Response:
    """The process answers; also while it drains."""
    return json_reply(_health(request, "draining" if request.gateway.is_draining else "ok"))


@endpoint("GET", "/readyz", "health.read", {200: (Health,)}, refusals=(503,))
async def ready(request: ApiRequest) -> Response:
    """New turns are taken: not while draining, nor when the database cannot be read, or could not write the
    last time and still cannot. `failed` says which check it is, and why. `failing_tasks` names background
    tasks that fail; turns are taken without them. `replicas` says how many of one database live, and in what
    they differ; `newer_schema` that a newer version has brought the database to its revision."""
    health = await _readiness(request)
    if health.status != "ok":
        return json_reply(health, 503, headers={"retry-after": "2"})
    return json_reply(health)


@endpoint("GET", "/api/server", "server.read", {200: (ServerReply,)}, refusals=(403,))
async def server(request: ApiRequest) -> Response:
    """How this process is doing, for the operator: as `/readyz`, and where it runs."""
    sizes, disk = await asyncio.gather(
        request.app.state.sizes(), asyncio.to_thread(disk_usage, request.settings.data_dir)
    )
    return json_reply(
        ServerReply(
            health=await _readiness(request),
            python=platform.python_version(),
            engine="postgresql" if request.settings.is_shared else "sqlite",
            started_at=request.app.state.started_at,
            sizes=dict(sizes),
            disk=DiskSpace(free=disk.free, total=disk.total),
        )
    )


@endpoint("GET", "/metrics", "metrics.read", {200: ("text/plain", "application/openmetrics-text")})
async def metrics(request: ApiRequest) -> Response:
    """Metrics in the Prometheus text format, or in OpenMetrics with exemplars."""
    accept = ",".join(request.headers.getlist("accept"))
    body, media_type = await request.telemetry.render_metrics(accept)
    return Response(body, headers={"content-type": media_type, "cache-control": "no-store"})


@endpoint("GET", "/api/schema/events.json", "schema.read", {200: ("application/schema+json",)})
async def event_schema(request: ApiRequest) -> Response:
    """JSON Schema of one event."""
    return await EVENT_SCHEMA.response(request.headers)


async def _readiness(request: ApiRequest) -> Health:
    if request.gateway.is_draining:
        return _health(request, "draining")
    supervisor: Supervisor = request.app.state.supervisor
    failing = {name: asdict(task) for name, task in supervisor.failing.items()} or None
    checks: Mapping[str, Check] = request.app.state.checks
    found = zip(checks, await asyncio.gather(*map(_failed, checks.values())), strict=True)
    if failed := {name: why for name, why in found if why is not None}:
        return _health(request, "unavailable", failed=failed, failing_tasks=failing)
    heartbeat = request.gateway.heartbeat
    seen: ReplicasSeen | None = None
    if request.settings.is_shared:  # also when one is left, which is when somebody looks
        seen = ReplicasSeen(alive=1 + len(heartbeat.peers), differ=list(heartbeat.differences))
    newer = request.app.state.newer_schema() or None
    about = notices(request.settings, request.app.state.endpoint) or None
    return _health(request, "ok", failing_tasks=failing, replicas=seen, newer_schema=newer, notices=about)


async def _failed(check: Check) -> FailedCheck | None:
    try:
        async with asyncio.timeout(CHECK_TIMEOUT):
            await check()
    except TimeoutError:
        return FailedCheck(code="check_timeout", message=f"No answer within {CHECK_TIMEOUT:g} seconds.")
    except GatewayError as error:
        log.warning("not_ready", code=error.code, error=str(error))
        return FailedCheck(code=error.code, message=error.message)
    return None


def _health(request: ApiRequest, status: str, **more: object) -> Health:
    return Health.model_validate(
        {
            "status": status,
            "version": __version__,
            "model": request.settings.model,
            "demo": request.app.state.demo,
            **more,
        }
    )
