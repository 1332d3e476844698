"""Bounds the number of label values that models and clients can invent: a series, once made, stays for
good."""

from gateway.telemetry.semconv import OTHER


class FewNames:
    """The first `limit` names are themselves, the others are all one."""

    def __init__(self, limit: int = 100) -> None:
        self._limit = limit
        self._known: set[str] = set()

    def name(self, given: str) -> str:
        if given not in self._known:
            if len(self._known) >= self._limit:
                return OTHER
            self._known.add(given)
        return given
