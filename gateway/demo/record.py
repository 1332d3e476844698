"""What the demo was asked: the newest requests for tests to read, and which it has seen before."""

from collections import deque
from typing import Any

import orjson

from gateway.bounded_dict import BoundedDict
from gateway.demo.connection import Request

MAX_REQUESTS = 200
MAX_SEEN = 20_000
_SHOWN = [
    "content-type",
    "user-agent",
    "anthropic-version",
    "anthropic-beta",
    "traceparent",
    "x-demo",
    "idempotency-key",
]


class Record:
    """Both lists are bounded: the oldest goes first."""

    def __init__(self) -> None:
        self._requests: deque[Request] = deque(maxlen=MAX_REQUESTS)
        self._seen = BoundedDict[str, None](MAX_SEEN)

    def add(self, request: Request) -> None:
        self._requests.append(request)

    def last(self, limit: int) -> list[dict[str, Any]]:
        """The newest `limit` requests, oldest first, without secrets. They are parsed only now."""
        return [_shown(request) for request in list(self._requests)[-limit:]] if limit > 0 else []

    def seen_before(self, key: str) -> bool:
        """Whether `key` was asked about before; it is remembered."""
        if key in self._seen:
            return True
        self._seen[key] = None
        return False

    def clear(self) -> None:
        self._requests.clear()
        self._seen.clear()


def _shown(request: Request) -> dict[str, Any]:
    try:
        body = orjson.loads(request.body)
    except orjson.JSONDecodeError:
        body = None
    return {
        "path": request.path,
        "auth": next((name for name in ("x-api-key", "authorization") if name in request.headers), None),
        "headers": {name: request.headers[name] for name in _SHOWN if name in request.headers},
        "body": body,
    }
