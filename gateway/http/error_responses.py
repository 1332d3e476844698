"""Errors to responses: the status of their table, the shape of the path's dialect, no stack traces."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import structlog
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Scope

from gateway.errors import GatewayError, StorageError
from gateway.http.body_encodings import CODINGS
from gateway.http.error_status_codes import status_of
from gateway.http.json_types import Reply, json_body

RETRY_AFTER_SECONDS = 2
"""Where an error says no other time in its details."""

HTTP_CODES = {404: "not_found", 405: "method_not_allowed", 413: "payload_too_large"}

log = structlog.get_logger(__name__)


class Problem(Reply):
    """One failure. `code` is for machines, `message` for people."""

    code: str
    message: str
    retryable: bool
    details: dict[str, Any] | None = None


class ProblemReply(Reply):
    error: Problem
    request_id: str


ProblemWriter = Callable[[GatewayError, int, str], tuple[bytes, str]]
"""Makes of an error, its status and the request's id the body of a refusal, and its media type."""


class Dialect(NamedTuple):
    """A dialect of other clients: the name of its adapter, and how it words a refusal."""

    name: str
    write_problem: ProblemWriter


def native_problem(error: GatewayError, _status: int, request_id: str) -> tuple[bytes, str]:
    """The body that our own routes refuse with."""
    problem = Problem(
        code=error.code, message=error.message, retryable=error.retryable, details=error.details
    )
    return json_body(ProblemReply(error=problem, request_id=request_id)), "application/json"


def problem_response(
    error: GatewayError, status: int, request_id: str, write: ProblemWriter = native_problem
) -> Response:
    """The response that tells `error`, in the words of `write`."""
    # Without it SDKs go by the status alone, and repeat conflicts and failures that stay.
    headers = {"cache-control": "no-store", "x-should-retry": "true" if error.retryable else "false"}
    if status in {429, 503}:
        headers["retry-after"] = str((error.details or {}).get("retry_after", RETRY_AFTER_SECONDS))
    if status == 401:
        headers["www-authenticate"] = "Bearer"
    if status == 415:
        headers["accept-encoding"] = CODINGS  # RFC 9110, section 15.5.16
    if status == 408:
        headers["connection"] = "close"  # RFC 9110, section 15.5.9: the rest of the body is not waited for
    body, media_type = write(error, status, request_id)
    return Response(body, status, headers, media_type)


def dialect_of(scope: Scope) -> Dialect | None:
    """That of the request's path: `app.state.dialects` has those that are not ours, by the beginnings of
    their paths."""
    dialects: Mapping[str, Dialect] = scope["app"].state.dialects
    path: str = scope["path"]
    fitting = [prefix for prefix in dialects if path == prefix or path.startswith(prefix + "/")]
    return dialects[max(fitting, key=len)] if fitting else None


def refusal(scope: Scope, error: GatewayError, status: int | None = None) -> Response:
    """The response that tells `error` in the dialect of the request's path."""
    scope["refused"] = error.code  # for the audit
    dialect = dialect_of(scope)
    write = dialect.write_problem if dialect is not None else native_problem
    request_id = scope.get("request_id", "r_unknown")
    return problem_response(error, status_of(error) if status is None else status, request_id, write)


async def on_gateway_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, GatewayError)
    # What the client does not get to see; and what an operator has to, also where nothing but a read fails.
    if error.cause or isinstance(error, StorageError):
        log.warning("request_refused", path=request.scope["path"], code=error.code, error=str(error))
    return refusal(request.scope, error)


async def on_http_error(request: Request, error: Exception) -> Response:
    """What Starlette itself refuses: unknown paths, wrong methods, oversize bodies."""
    assert isinstance(error, HTTPException)
    code = HTTP_CODES.get(error.status_code, "invalid_request")
    response = refusal(request.scope, GatewayError(str(error.detail), code=code), error.status_code)
    response.headers.update(error.headers or {})
    if error.status_code == 405 and "allow" in response.headers:  # of the first route with this path alone
        routes = [each for each in request.app.routes if each.matches(request.scope)[0] is not Match.NONE]
        if allowed := {name for each in routes for name in each.methods}:  # none: it is of a folder of files
            response.headers["allow"] = ", ".join(sorted(allowed))
    return response


async def on_bug(request: Request, error: Exception) -> Response:
    log.error("request_failed", path=request.scope["path"], exc_info=error)
    return refusal(request.scope, GatewayError("The server made a mistake; its log has the details."), 500)
