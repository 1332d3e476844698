"""The failures of a model's endpoint, and their codes here. Pure: no SDK, no I/O.

Sources: docs.claude.com "Errors" (statuses and error types) and RFC 9110 section 10.2.3 (Retry-After).
"""

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any, NamedTuple

from gateway.errors import ModelError
from gateway.messages import clean_text, shortened
from gateway.model.overflow import overflow_in

MAX_MESSAGE = 360
"""Characters of a failure's message: ours, and about 300 of the endpoint's own."""
_MAX_BODY = 4 * MAX_MESSAGE
_SHORTEST_SECRET = 8
"""Characters. A shorter key guards nothing (endpoints that need none are given "x"), and to hide it would
garble the message."""


class _Kind(NamedTuple):
    code: str
    retryable: bool
    text: str


_RATE_LIMITED = _Kind("upstream_rate_limited", True, "The model's endpoint limits the rate of requests")
_OVERLOADED = _Kind("upstream_overloaded", True, "The model's endpoint is overloaded")
_TIMEOUT = _Kind("upstream_timeout", True, "The model's endpoint ran into a timeout")
_AUTH = _Kind("upstream_auth", False, "The model's endpoint refused the API key")
_OVERFLOW = _Kind("context_overflow", False, "The conversation is longer than the model can read")
_REFUSED = _Kind("upstream_error", False, "The model's endpoint refused the request")
_FAILED = _Kind("upstream_error", True, "The model's endpoint failed")
_NOT_FOUND = _Kind(
    "upstream_error",
    False,
    "The model or the address is not known: check the model's name and ANTHROPIC_BASE_URL, without /v1",
)
_REDIRECTED = _Kind(
    "upstream_error",
    False,
    "The model's endpoint redirects, which is not followed: check ANTHROPIC_BASE_URL",
)

_STATUSES = {
    401: _AUTH,
    403: _AUTH,
    408: _TIMEOUT,
    413: _OVERFLOW,
    429: _RATE_LIMITED,
    504: _TIMEOUT,
    529: _OVERLOADED,
}
"""Statuses that decide, for any body."""

_TYPES = {
    "api_error": _FAILED,
    "authentication_error": _AUTH,
    "invalid_request_error": _REFUSED,
    "not_found_error": _NOT_FOUND,
    "overloaded_error": _OVERLOADED,
    "permission_error": _AUTH,
    "rate_limit_error": _RATE_LIMITED,
    "request_too_large": _OVERFLOW,
    "timeout_error": _TIMEOUT,
}


def failure_of_status(status: int, headers: Mapping[str, str], body: object) -> ModelError:
    """The failure behind a response that is not a success. `body` is decoded JSON, text or None; `headers`
    are looked up in lower case."""
    error = _error_in(body)
    kind = _STATUSES.get(status) or _TYPES.get(error.type) or _by_range(status)
    detail = error.message or (body if isinstance(body, str) and not body.lstrip().startswith("<") else "")
    should_retry = headers.get("x-should-retry")
    return _failure(
        kind,
        f"HTTP {status}",
        detail,
        retryable={"true": True, "false": False}.get(should_retry or ""),
        retry_after=_retry_after(headers),
    )


def decoded_body(body: bytes, charset: str | None) -> object:
    """The content of a failure's body, for `failure_of_status`: its JSON, else its text. `charset` is the one
    that the response names."""
    try:
        text = body.decode(charset or "utf-8", "replace").strip()
    except (LookupError, ValueError):  # a name that is none, or of something else than text
        text = body.decode(errors="replace").strip()
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def failure_of_event(event: Mapping[str, Any]) -> ModelError:
    """The failure of an `error` event inside a stream."""
    error = _error_in(event)
    return _failure(_TYPES.get(error.type, _FAILED), "in the stream", error.message)


def protocol_failure(what: str) -> ModelError:
    """The endpoint broke the rules of the stream; `what` names the breach."""
    return ModelError(
        f"The model's endpoint broke its protocol: {what}.", code="upstream_error", retryable=True
    )


def too_large(what: str) -> ModelError:
    """The answer is larger than one may be; the same request would bring as much again."""
    return ModelError(f"The model's answer is too large: {what}.", code="upstream_error", retryable=False)


def truncated() -> ModelError:
    """The stream ended before the message was complete."""
    return ModelError(
        "The model's answer broke off before its end.", code="upstream_truncated", retryable=True
    )


def timed_out(what: str) -> ModelError:
    return ModelError(what, code="upstream_timeout", retryable=True)


def unreachable(where: str, why: Exception) -> ModelError:
    """No response came: refused, reset, not resolved, bad certificate; or one that is not HTTP."""
    detail = f"cannot be reached: {_one_line(str(why))}"
    if not isinstance(why, OSError):
        detail = f"closed the connection or did not answer in HTTP ({type(why).__name__})."
    return ModelError(f"The model's endpoint {where} {detail}", code="upstream_error", retryable=True)


def presentable(failure: ModelError, secret: str | None) -> ModelError:
    """`failure` fit to be shown: without `secret`, which endpoints like to repeat, and cut to length."""
    message = failure.message
    if secret and len(secret) >= _SHORTEST_SECRET:
        message = _masked(message, secret)
    message = shortened(message, MAX_MESSAGE)
    failure.message, failure.args = message, (message,)
    return failure


def _masked(text: str, secret: str) -> str:
    """The text without the secret, and without any part of it of _SHORTEST_SECRET letters and digits: as it
    is, in capitals, backwards, with other signs between, in base64, in hex, or escaped for an address."""
    kept = [(at, char.lower()) for at, char in enumerate(text) if char.isalnum() and len(char.lower()) == 1]
    joined, parts = "".join(char for _, char in kept), _parts_of(secret)
    hidden: list[tuple[int, int]] = []
    for size in {len(part) for part in parts}:
        for first in range(len(joined) - size + 1):
            if joined[first : first + size] in parts:
                begin, end = kept[first][0], kept[first + size - 1][0] + 1
                if hidden and begin <= hidden[-1][1]:
                    hidden[-1] = (hidden[-1][0], max(end, hidden[-1][1]))
                else:
                    hidden.append((begin, end))
    shown, at = [], 0
    for begin, end in sorted(hidden):
        if begin >= at:
            shown += [text[at:begin], "[key]"]
        at = max(at, end)
    return "".join([*shown, text[at:]])


def _parts_of(secret: str) -> set[str]:
    """The parts of a secret in all forms, as they are compared; the whole of one that is shorter."""
    raw = secret.encode()
    # What base64 makes of the same bytes depends on how many come before, as a name and a colon may.
    encoded = [b64encode(b"\0" * shift + raw).decode()[shift + 1 :] for shift in range(3)]
    urlsafe = [urlsafe_b64encode(b"\0" * shift + raw).decode()[shift + 1 :] for shift in range(3)]
    escaped = "".join(chr(byte) if chr(byte).isalnum() and byte < 128 else f"%{byte:02x}" for byte in raw)
    forms = [secret, secret[::-1], raw.hex(), escaped, *encoded, *urlsafe]
    plain = ["".join(char for char in form.lower() if char.isalnum()) for form in forms]
    return {
        form[at : at + _SHORTEST_SECRET]
        for form in plain
        for at in range(max(1, len(form) - _SHORTEST_SECRET + 1))
        if form
    }


def _one_line(text: str) -> str:
    """Foreign text on one line and printable."""
    return " ".join("".join(c if c.isprintable() else " " for c in clean_text(text[:_MAX_BODY])).split())


class _Error(NamedTuple):
    type: str
    message: str


def _error_in(body: object) -> _Error:
    """The error object of a body: `{"error": {"type", "message"}}`, or what other servers make of it."""
    error: Any = body.get("error", body) if isinstance(body, Mapping) else None
    if isinstance(error, str):
        return _Error("", error)
    if not isinstance(error, Mapping):
        return _Error("", "")
    kind, message = error.get("type"), error.get("message") or error.get("detail")
    return _Error(kind if isinstance(kind, str) else "", message if isinstance(message, str) else "")


def _by_range(status: int) -> _Kind:
    if status == 409 or status >= 500:
        return _FAILED
    if status == 404:
        return _NOT_FOUND
    return _REDIRECTED if 300 <= status < 400 else _REFUSED


def _failure(
    kind: _Kind,
    where: str,
    message: str,
    *,
    retryable: bool | None = None,
    retry_after: float | None = None,
) -> ModelError:
    overflow = overflow_in(message) if kind.code in {"upstream_error", "context_overflow"} else None
    if overflow is not None:
        kind = _OVERFLOW
    quoted = _one_line(message)
    return ModelError(
        f"{kind.text} ({where})" + (f": {quoted}" if quoted else "."),
        code=kind.code,
        retryable=kind.retryable if retryable is None else retryable,
        refused=kind is _REFUSED,
        retry_after=retry_after,
        overflow=overflow,
    )


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds the endpoint asks to wait: `retry-after-ms` (milliseconds), else `retry-after` (seconds or an
    HTTP date). What cannot be read is as if it were absent."""
    seconds = _number(headers.get("retry-after-ms"))
    if seconds is not None:
        return seconds / 1000
    written = headers.get("retry-after")
    seconds = _number(written)
    if seconds is not None or written is None:
        return seconds
    try:
        when = parsedate_to_datetime(written)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


def _number(written: str | None) -> float | None:
    try:
        value = float(written or "")
    except ValueError:
        return None
    return value if isfinite(value) and value >= 0 else None
