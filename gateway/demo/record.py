"""What the demo was asked: the newest requests for tests to read, and which it has seen before."""

from collections import OrderedDict, deque
from dataclasses import dataclass
from typing import Any

import orjson

from gateway.demo.connection import Request

MAX_REQUESTS = 200
MAX_SEEN = 20_000
_SHOWN = (
    "content-type",
    "user-agent",
    "anthropic-version",
    "anthropic-beta",
    "traceparent",
    "x-demo",
    "idempotency-key",
)


@dataclass(frozen=True, slots=True)
class Recorded:
    """A request as it came; it is parsed only when somebody looks."""

    request: Request

    def show(self) -> dict[str, Any]:
        headers = self.request.headers
        shown = {name: headers[name] for name in _SHOWN if name in headers}
        key = (
            "x-api-key" if "x-api-key" in headers else "authorization" if "authorization" in headers else None
        )
        try:
            body = orjson.loads(self.request.body)
        except orjson.JSONDecodeError:
            body = None
        return {"path": self.request.path, "auth": key, "headers": shown, "body": body}


class Record:
    """Both lists are bounded: the oldest goes first."""

    def __init__(self) -> None:
        self._requests: deque[Recorded] = deque(maxlen=MAX_REQUESTS)
        self._seen: OrderedDict[str, None] = OrderedDict()

    def add(self, request: Request) -> None:
        self._requests.append(Recorded(request))

    def last(self, limit: int) -> list[dict[str, Any]]:
        """The newest `limit` requests, oldest first, without secrets."""
        wanted = list(self._requests)[-limit:] if limit > 0 else []
        return [recorded.show() for recorded in wanted]

    def seen_before(self, key: str) -> bool:
        """Whether `key` was asked about before; it is remembered."""
        if key in self._seen:
            return True
        self._seen[key] = None
        if len(self._seen) > MAX_SEEN:
            self._seen.popitem(last=False)
        return False

    def clear(self) -> None:
        self._requests.clear()
        self._seen.clear()
