"""Errors to responses: one table, one shape, no stack traces."""

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from gateway import errors
from gateway.api.bodies import Problem, ProblemReply
from gateway.errors import GatewayError

STATUS: tuple[tuple[type[GatewayError], int], ...] = (
    (errors.NotAuthenticated, 401),
    (errors.Forbidden, 403),
    (errors.NotFound, 404),
    (errors.TurnInProgress, 409),
    (errors.MemoryChanged, 412),
    (errors.MemoryFull, 409),
    (errors.ArtifactsFull, 409),
    (errors.Conflict, 409),
    (errors.NothingToCompress, 409),
    (errors.TooLarge, 413),
    (errors.BodyTooSlow, 408),
    (
        errors.ClientLeft,
        499,
    ),  # nobody reads it: the status is for metrics and spans (nginx has made it common)
    (errors.QueueFull, 429),
    (errors.Draining, 503),
    (errors.RequestRefused, 400),
    (errors.ArchiveDamaged, 500),
    (errors.ArtifactDamaged, 500),
    (errors.StorageError, 503),
    (errors.CompressionFailed, 502),
    (errors.LearningFailed, 502),
    (errors.ModelError, 502),
    (GatewayError, 500),
)
RETRY_AFTER_SECONDS = "2"

HTTP_CODES = {404: "not_found", 405: "method_not_allowed", 413: "payload_too_large"}

log = structlog.get_logger(__name__)


def status_of(error: GatewayError) -> int:
    return next(status for kind, status in STATUS if isinstance(error, kind))


def problem_response(error: GatewayError, status: int, request_id: str) -> Response:
    """The response that tells `error`."""
    headers = {"cache-control": "no-store"}
    if status in {429, 503}:
        headers["retry-after"] = RETRY_AFTER_SECONDS
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if status == 408:
        headers["connection"] = "close"  # RFC 9110, section 15.5.9: the rest of the body is not waited for
    problem = Problem(
        code=error.code, message=error.message, retryable=error.retryable, details=error.details
    )
    reply = ProblemReply(error=problem, request_id=request_id)
    body = reply.model_dump_json(exclude_none=True)
    return Response(body, status, headers, media_type="application/json")


async def on_gateway_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, GatewayError)
    return problem_response(error, status_of(error), request_id_of(request))


async def on_http_error(request: Request, error: Exception) -> Response:
    """What Starlette itself refuses: unknown paths, wrong methods, oversize bodies."""
    assert isinstance(error, HTTPException)
    code = HTTP_CODES.get(error.status_code, "invalid_request")
    shown = GatewayError(str(error.detail), code=code)
    response = problem_response(shown, error.status_code, request_id_of(request))
    response.headers.update(error.headers or {})
    return response


async def on_bug(request: Request, error: Exception) -> Response:
    log.error("request_failed", path=request.scope["path"], exc_info=error)
    shown = GatewayError("The server made a mistake; its log has the details.")
    return problem_response(shown, 500, request_id_of(request))


def request_id_of(request: Request) -> str:
    return request.scope.get("request_id", "r_unknown")
