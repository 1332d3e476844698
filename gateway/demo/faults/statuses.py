"""Faults that are an answer other than 200: statuses, and what their headers ask for."""

import time
from collections.abc import Mapping
from email.utils import formatdate

import orjson

from gateway.demo.connection import Act, whole
from gateway.demo.faults.case import Case, Fault

_JSON = {"content-type": "application/json", "request-id": "req_fault"}
_HTML = {"content-type": "text/html"}
_PAGE = b"<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"
_TOO_LONG = "prompt is too long: 208310 tokens > 200000 maximum"


def _error(status: int, kind: str, message: str, headers: Mapping[str, str] | None = None) -> list[Act]:
    body = orjson.dumps({"type": "error", "error": {"type": kind, "message": message}})
    return whole(status, body, {**_JSON, **(headers or {})})


def _status(name: str, status: int, kind: str, message: str, expected: str) -> Fault:
    """Retryable as the API documents it: 408, 409, 429 and every 5xx."""
    retryable = status in {408, 409, 429} or status >= 500
    description = f"HTTP {status} {kind}"
    return Fault(
        name, description, expected, retryable, lambda _: _error(status, kind, message), streams_only=False
    )


def _limited(name: str, description: str, headers: Mapping[str, str]) -> Fault:
    """A 429 with `headers`; the directive's argument stands in for their values."""

    def play(case: Case) -> list[Act]:
        given = {key: value if case.argument is None else case.argument for key, value in headers.items()}
        return _error(429, "rate_limit_error", "This request would exceed your rate limit.", given)

    return Fault(name, description, "upstream_rate_limited", True, play, streams_only=False)


def _limited_until(case: Case) -> list[Act]:
    when = formatdate(time.time() + case.number(1), usegmt=True)
    return _error(
        429, "rate_limit_error", "This request would exceed your rate limit.", {"retry-after": when}
    )


def _should_retry(name: str, status: int, says: str, retryable: bool) -> Fault:
    def play(_: Case) -> list[Act]:
        kind = "api_error" if status >= 500 else "invalid_request_error"
        return _error(status, kind, "The endpoint knows better.", {"x-should-retry": says})

    description = f"HTTP {status} with x-should-retry: {says}"
    return Fault(name, description, "upstream_error", retryable, play, streams_only=False)


FAULTS = (
    _limited(
        "http_429_seconds", "HTTP 429, retry-after in seconds (argument: how many, 1)", {"retry-after": "1"}
    ),
    Fault(
        "http_429_date",
        "HTTP 429, retry-after as a date (argument: seconds from now, 1)",
        "upstream_rate_limited",
        True,
        _limited_until,
        streams_only=False,
    ),
    _limited("http_429_ms", "HTTP 429, retry-after-ms (argument: how many, 50)", {"retry-after-ms": "50"}),
    _limited("http_429_3600", "HTTP 429 that asks to wait an hour", {"retry-after": "3600"}),
    _limited(
        "http_429_garbage", "HTTP 429 with a retry-after nobody can read", {"retry-after": "soon, very soon"}
    ),
    _limited("http_429_negative", "HTTP 429 with a negative retry-after", {"retry-after": "-5"}),
    _limited("http_429_bare", "HTTP 429 without retry-after", {}),
    _status("http_400", 400, "invalid_request_error", "max_tokens: Field required", "upstream_error"),
    _status("http_400_context", 400, "invalid_request_error", _TOO_LONG, "context_overflow"),
    _status("http_401", 401, "authentication_error", "invalid x-api-key", "upstream_auth"),
    _status("http_403", 403, "permission_error", "Your API key may not use this model.", "upstream_auth"),
    _status("http_404", 404, "not_found_error", "model: no-such-model", "upstream_error"),
    _status("http_408", 408, "timeout_error", "Request timed out", "upstream_timeout"),
    _status("http_409", 409, "api_error", "Conflict", "upstream_error"),
    _status("http_413", 413, "request_too_large", "Request exceeds the maximum size", "context_overflow"),
    _status("http_500", 500, "api_error", "Internal server error", "upstream_error"),
    Fault(
        "http_502_html",
        "HTTP 502 with a proxy's HTML page",
        "upstream_error",
        True,
        lambda _: whole(502, _PAGE, _HTML),
        streams_only=False,
    ),
    _status("http_503", 503, "api_error", "Service unavailable", "upstream_error"),
    _status("http_504", 504, "timeout_error", "Gateway timeout", "upstream_timeout"),
    _status("http_529", 529, "overloaded_error", "Overloaded", "upstream_overloaded"),
    _should_retry("should_retry_header", 400, "true", True),
    _should_retry("should_not_retry_header", 500, "false", False),
    Fault(
        "http_307",
        "HTTP 307 to another place: the key must not follow",
        "upstream_error",
        False,
        lambda _: whole(307, b"", {"location": "/elsewhere/v1/messages"}),
        streams_only=False,
    ),
    Fault(
        "http_500_empty",
        "HTTP 500 without a body",
        "upstream_error",
        True,
        lambda _: whole(500, b"", {}),
        streams_only=False,
    ),
    Fault(
        "http_200_html",
        "HTTP 200 with an HTML page instead of a stream",
        "upstream_error",
        True,
        lambda _: whole(200, _PAGE, _HTML),
    ),
)
