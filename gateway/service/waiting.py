"""The sessions that wait to be learned from, and for how long after a failure."""

import asyncio
from collections import OrderedDict
from dataclasses import dataclass, replace

from gateway.storage.memories import Scope

MAX_WAITING = 1000
"""Sessions that wait at the same time."""
MAX_ATTEMPTS = 3
"""Attempts with one session before it is left alone until its next turn, its next end or the next start."""
FIRST_RETRY, LAST_RETRY = 5.0, 300.0
"""Seconds after a failure until the next attempt: doubled each time, up to the last."""


@dataclass(frozen=True, slots=True)
class Due:
    """A session to learn from, not before `at` (of the event loop's clock)."""

    scope: Scope
    failures: int = 0
    at: float = 0.0


class Waiting:
    """In the order in which they came. A session that fails waits by itself; when the model's endpoint is
    what fails, all do."""

    def __init__(self, first_retry: float) -> None:
        self._first_retry = first_retry
        self._due: OrderedDict[str, Due] = OrderedDict()
        self._failed = 0  # times in a row that the endpoint did
        self._paused_until = 0.0

    def __len__(self) -> int:
        return len(self._due)

    def add(self, session_id: str, scope: Scope) -> bool:
        """False when too many wait already. One that waits goes on doing so."""
        if session_id not in self._due and len(self._due) >= MAX_WAITING:
            return False
        self._due.setdefault(session_id, Due(scope))
        return True

    def take(self) -> tuple[str, Due] | None:
        """The first one whose time has come."""
        now = _now()
        if now < self._paused_until:
            return None
        session_id = next((each for each, due in self._due.items() if due.at <= now), None)
        return (session_id, self._due.pop(session_id)) if session_id is not None else None

    def patience(self) -> float:
        """Seconds until the time of one of them comes; there must be one."""
        return max(0.0, max(self._paused_until, min(due.at for due in self._due.values())) - _now())

    def put_back(self, session_id: str, due: Due) -> bool:
        """After a failure; False when there were enough."""
        failures = due.failures + 1
        if failures >= MAX_ATTEMPTS:
            return False
        self._due[session_id] = replace(due, failures=failures, at=_now() + self._delay(due.failures))
        self._due.move_to_end(session_id)
        return True

    def pause(self) -> None:
        """The endpoint failed."""
        self._paused_until = _now() + self._delay(self._failed)
        self._failed += 1

    def go_on(self) -> None:
        """The endpoint answered."""
        self._failed = 0

    def _delay(self, failures: int) -> float:
        return min(self._first_retry * 2 ** min(failures, 20), LAST_RETRY)


def _now() -> float:
    return asyncio.get_running_loop().time()
