"""The pace of one user's requests, so that a thousand of them in a second are not noticed by others.

Requests beyond it are not refused at once, which would cost as much as to answer some: each waits until its
time comes, and holds back the connection on which it came. Only where too many wait is one refused, after as
long a wait. Each replica has a pace of its own.
"""

import asyncio
from collections.abc import Callable
from time import monotonic

from gateway.bounded_dict import BoundedDict
from gateway.ids import now_ms
from gateway.storage.limits import LimitCounter, Standing, limit_reached

PER_SECOND = 30
"""Requests: a page asks a few in a second, a program that serves a hundred people one for each of them now
and then."""
AT_ONCE = 60
"""Requests that come after a pause and do not wait: what a page with several tabs asks as it is opened."""
WAIT_TIMEOUT = 1.0
"""Seconds."""
MAX_USERS = 100_000
"""Users whose pace is known; who asked first is forgotten."""


class UserPace:
    """One per process, on its event loop. `refused` is called with whom and what was too much."""

    def __init__(self, refused: Callable[[str, str], None] = lambda _who, _measure: None) -> None:
        self._refused = refused
        self._next = BoundedDict[str, float](MAX_USERS)

    async def keep(self, user_id: str) -> None:
        """Returns when it is time for another request of theirs. Raises errors.LimitReached."""
        now = monotonic()
        due = max(self._next.get(user_id, 0.0), now - AT_ONCE / PER_SECOND)
        if due - now > WAIT_TIMEOUT:
            await asyncio.sleep(WAIT_TIMEOUT)
            self._refused("user", "requests")
            ends = now_ms() + 1000
            counter = LimitCounter("", "user:requests/second", PER_SECOND, ends - 1000, ends)
            raise limit_reached(Standing(counter, PER_SECOND), 1, now_ms())
        self._next[user_id] = due + 1 / PER_SECOND
        if due > now:
            await asyncio.sleep(due - now)
