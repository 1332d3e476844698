"""Times HTTP requests by route, under the names of the conventions for HTTP."""

from typing import Final

from gateway.telemetry import semconv
from gateway.telemetry.metrics import instrument_table as table
from gateway.telemetry.metrics.exposition import Exposition

METHODS: Final = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
"""A client can send any word; others are recorded as _OTHER, by the conventions."""


class Requests:
    """What the HTTP side reports its requests to."""

    def __init__(self, exposition: Exposition) -> None:
        self._seconds = exposition.histogram(table.REQUEST_DURATION)

    def ended(
        self,
        method: str,
        route: str | None,
        status: int,
        seconds: float,
        *,
        scheme: str = "http",
    ) -> None:
        """A request that was no event stream was answered. `route` is the template of its path, None when no
        route has it."""
        about = {
            semconv.HTTP_METHOD: method if method in METHODS else semconv.OTHER,
            semconv.URL_SCHEME: scheme if scheme in {"http", "https"} else semconv.OTHER,
            semconv.HTTP_STATUS: status,
        }
        if route is not None:
            about[semconv.HTTP_ROUTE] = route
        if status >= 500:
            about[semconv.ERROR_TYPE] = str(status)
        self._seconds.record(seconds, about)
