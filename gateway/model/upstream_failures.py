"""The failures of a model's endpoint, and their codes here. Pure: no SDK, no I/O.

Sources: docs.claude.com "Errors" (statuses and error types) and RFC 9110 section 10.2.3 (Retry-After).
"""

import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any

from gateway.errors import ModelError
from gateway.messages import clean_text, shortened
from gateway.model.error_bodies import ErrorWords, error_words, excerpt_of, is_error
from gateway.model.failure_kinds import (
    AUTH,
    CODES,
    FAILED,
    FORBIDDEN,
    LATE,
    NAMES_ACCESS,
    NOT_FOUND,
    OVERFLOW,
    OVERLOADED,
    QUOTA,
    RATE_LIMITED,
    REDIRECTED,
    REFUSED,
    STATUSES,
    STOPS,
    TIMEOUT,
    TYPES,
    UNSUPPORTED,
    Kind,
    kind_of_words,
)
from gateway.model.overflow import overflow_in

MAX_MESSAGE = 360
"""Characters of a failure's message: ours, and about 300 of the endpoint's own."""
_MAX_BODY = 4 * MAX_MESSAGE
_SHORTEST_SECRET = 8
"""Characters. A shorter key guards nothing (endpoints that need none are given "x"), and to hide it would
garble the message."""

_SSL = re.compile(r" ssl:(<[^>]*>|\w+)")
"""What aiohttp says of its own settings, also where there is no TLS."""


def failure_of_status(status: int, headers: Mapping[str, str], body: object) -> ModelError:
    """The failure behind a response that is not a success. `body` is decoded JSON, text or None; `headers`
    are looked up in lower case."""
    error, retry_after = error_words(body), _retry_after(headers)
    kind = _kind_of(error, status)
    if status == 429 and retry_after is not None:  # it will answer again, whatever it calls that
        kind = RATE_LIMITED
    should_retry = headers.get("x-should-retry")
    return _failure(
        kind,
        f"HTTP {status}",
        error.words or excerpt_of(body),
        retryable={"true": True, "false": False}.get(should_retry or ""),
        retry_after=retry_after,
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


def failure_of_event(event: object) -> ModelError:
    """The failure of an event that reports one, inside a stream: its decoded JSON, or its text."""
    error = error_words(event)
    return _failure(_kind_of(error, None), "in the stream", error.words)


def failure_of_stop(stop_reason: str) -> ModelError | None:
    """The failure that a stop reason tells of; None: the message has its end."""
    kind = STOPS.get(stop_reason.lower())
    return _failure(kind, f"stop reason {stop_reason}", "") if kind is not None else None


def failure_in_event(event: Mapping[str, Any]) -> ModelError | None:
    """The failure of an event of no known type, if it reports one."""
    return failure_of_event(event) if is_error(event) else None


def failure_of_body(status: int, content_type: str, body: object) -> ModelError:
    """The failure behind a success whose body is no stream: the endpoint's words, if it has any."""
    error = error_words(body)
    if not isinstance(body, str) and error.words:
        return _failure(_kind_of(error, None), f"HTTP {status} with {content_type:.40}", error.words)
    if (failure := failure_of_other_api(body)) is not None:
        return failure
    words = _one_line(error.words or excerpt_of(body))
    words = f": {words}" if words else ""
    return protocol_failure(
        f"it sent {content_type:.40} instead of a stream (check ANTHROPIC_BASE_URL){words}"
    )


def failure_of_other_api(body: object) -> ModelError | None:
    """The failure of what is an answer, and none of the Messages API; None if it is not of OpenAI's."""
    if not (isinstance(body, Mapping) and isinstance(body.get("choices"), list)):
        return None
    return ModelError(
        "The model's endpoint answers as OpenAI's chat completions do, and not as the Messages API: set "
        "ANTHROPIC_BASE_URL to a server, or a proxy, that has /v1/messages.",
        code="upstream_error",
        retryable=False,
    )


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
    detail = f"cannot be reached: {_one_line(_SSL.sub('', str(why)))}"
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


def _kind_of(error: ErrorWords, status: int | None) -> Kind:
    """The kind of an error with that HTTP status (None: there is none, as inside a stream)."""
    kind = TYPES.get(error.type) or TYPES.get(error.code) or CODES.get(error.code)
    if status is None and kind in (None, FAILED) and re.fullmatch(r"[45]\d\d", error.code):
        status = int(error.code)
    by_status = STATUSES.get(status) if status is not None else FAILED
    by_words, words = kind_of_words(error.words), error.words
    if status is None:
        return _of_words(kind or FAILED, by_words, words)
    if status == 401 and by_words is QUOTA:
        return QUOTA
    if status == 403:
        return _kind_of_403(error, kind, by_words)
    if status == 429 and QUOTA in (kind, by_words):
        return QUOTA
    if by_status is not None:
        return by_status
    if 400 <= status < 500 and status != 409:  # the same request never becomes right
        kind = None if kind is FAILED else kind
    return _of_words(kind or _by_range(status), by_words, words)


def _of_words(kind: Kind, by_words: Kind | None, words: str) -> Kind:
    """The kind that the words name, where all that is known is that the request failed or was refused."""
    if kind not in (FAILED, REFUSED) or overflow_in(words) is not None:
        return kind
    if by_words is not None:
        return by_words
    if kind is FAILED and UNSUPPORTED.search(words):
        return REFUSED
    return TIMEOUT if kind is FAILED and LATE.search(words) else kind


def _kind_of_403(error: ErrorWords, kind: Kind | None, by_words: Kind | None) -> Kind:
    """Whether 403 is a question of the key."""
    if error.is_page:
        return FORBIDDEN
    if by_words is not None or kind in (QUOTA, RATE_LIMITED, OVERLOADED):
        return by_words or kind or FORBIDDEN
    says_something = any(char.isalpha() for char in error.words)
    is_of_key = kind is AUTH or not says_something or NAMES_ACCESS.search(error.words)
    return AUTH if is_of_key else FORBIDDEN


def _by_range(status: int) -> Kind:
    if status == 409 or status >= 500:
        return FAILED
    if status == 404:
        return NOT_FOUND
    return REDIRECTED if 300 <= status < 400 else REFUSED


def _failure(
    kind: Kind,
    where: str,
    message: str,
    *,
    retryable: bool | None = None,
    retry_after: float | None = None,
) -> ModelError:
    overflow = overflow_in(message) if kind.code in {"upstream_error", "context_overflow"} else None
    if overflow is not None:
        kind = OVERFLOW
    quoted = _one_line(message)
    return ModelError(
        f"{kind.text} ({where})" + (f": {quoted}" if quoted else "."),
        code=kind.code,
        retryable=kind.retryable if retryable is None else retryable,
        refused=kind is REFUSED,
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
