"""Is it alive, is it ready, what has it counted, what does it speak."""

import orjson
from starlette.requests import Request
from starlette.responses import Response

from gateway import __version__
from gateway.api.bodies import Health
from gateway.api.replies import json_reply
from gateway.api.requests import gateway_of, parts_of, settings_of, telemetry_of
from gateway.errors import StorageError
from gateway.events.contract import json_schema

_SCHEMA = orjson.dumps(json_schema())


async def alive(request: Request) -> Response:
    """The process answers; also while it drains."""
    return json_reply(_health(request, "draining" if gateway_of(request).is_draining else "ok"))


async def ready(request: Request) -> Response:
    """New turns are taken: not while draining, nor when the database does not answer."""
    if gateway_of(request).is_draining:
        return json_reply(_health(request, "draining"), 503, headers={"retry-after": "2"})
    try:
        await parts_of(request).turns.open_turn("ready")
    except StorageError:
        return json_reply(_health(request, "unavailable"), 503, headers={"retry-after": "2"})
    return json_reply(_health(request, "ok"))


async def metrics(request: Request) -> Response:
    """Metrics in the Prometheus text format, or in OpenMetrics with exemplars."""
    accept = ",".join(request.headers.getlist("accept"))
    body, media_type = await telemetry_of(request).render_metrics(accept)
    return Response(body, headers={"content-type": media_type, "cache-control": "no-store"})


async def event_schema(request: Request) -> Response:
    """JSON Schema of one event."""
    return Response(_SCHEMA, media_type="application/schema+json")


def _health(request: Request, status: str) -> Health:
    return Health.model_validate(
        {
            "status": status,
            "version": __version__,
            "model": settings_of(request).model,
            "demo": request.app.state.demo,
        }
    )
