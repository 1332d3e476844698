"""Work that waits in the background, by key: who is next, and how long one waits after a failure."""

import asyncio
from contextlib import suppress
from itertools import islice
from time import monotonic
from typing import Generic, TypeVar

from gateway.bounded_dict import BoundedDict

K = TypeVar("K")
V = TypeVar("V")


def doubled(first: float, failures: int, last: float) -> float:
    """Seconds until the next attempt after so many failures in a row: doubled each time, up to the last."""
    return min(first * 2 ** min(failures - 1, 20), last)


class Failures(Generic[K]):
    """Keys with which something failed: `in` says whether one is to be left alone for now, the longer the
    more often it failed in a row. Of more than `limit` the oldest is forgotten."""

    def __init__(self, first_retry: float, last_retry: float, limit: int) -> None:
        self._first_retry, self._last_retry = first_retry, last_retry
        self._known = BoundedDict[K, tuple[int, float]](limit)  # failures, and until when

    def add(self, key: K) -> int:
        """Counts a failure of the work; returns how often it failed in a row."""
        count = self._known.pop(key, (0, 0.0))[0] + 1
        self._known[key] = count, monotonic() + doubled(self._first_retry, count, self._last_retry)
        return count

    def forget(self, key: K) -> None:
        """Nothing failed this time."""
        self._known.pop(key, None)

    def until(self, key: K) -> float:
        """When its next attempt is due, by the monotonic clock."""
        return self._known[key][1] if key in self._known else 0.0

    def __contains__(self, key: K) -> bool:
        return monotonic() < self.until(key)

    def __len__(self) -> int:
        return len(self._known)


class Backlog(Generic[K, V]):
    """Keys that wait for one worker, each with what the worker needs; at most `limit` of them. They are taken
    in the order in which they came. One that fails waits by itself; when what fails is what all of them need,
    all do (`pause`)."""

    def __init__(
        self, *, limit: int, first_retry: float, last_retry: float, attempts: int | None = None
    ) -> None:
        self._limit, self._attempts = limit, attempts
        self._first_retry, self._last_retry = first_retry, last_retry
        self._waiting: dict[K, V] = {}
        self._failures = Failures[K](first_retry, last_retry, limit)
        self._pauses = 0  # in a row
        self._rests_until = 0.0
        self._wake, self._idle = asyncio.Event(), asyncio.Event()
        self._is_to_look = False

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, key: K, value: V) -> bool:
        """Never raises and never waits. False when too many wait already; one that waits goes on doing so."""
        if key not in self._waiting and len(self._waiting) >= self._limit:
            return False
        self._waiting.setdefault(key, value)
        self._idle.clear()
        self._wake.set()
        return True

    def look(self) -> None:
        """There is something to be found that nobody added: `ready` returns once, though nothing waits."""
        self._is_to_look = True
        self._idle.clear()
        self._wake.set()

    async def ready(self) -> None:
        """Returns when one can be taken. The worker has done its work until now: while nothing waits, the
        backlog is settled."""
        while not self._is_to_look:
            self._wake.clear()
            delay: float | None = None
            if self._waiting:
                next_due = min(map(self._failures.until, self._waiting)) if self._failures else 0.0
                delay = max(self._rests_until, next_due) - monotonic()
                if delay <= 0:
                    return
            else:
                self._idle.set()
            with suppress(TimeoutError):
                async with asyncio.timeout(delay):
                    await self._wake.wait()
        self._is_to_look = False

    def take(self, limit: int = 1) -> dict[K, V]:
        """Takes out those that came first, of those whose time has come."""
        due = list(islice((key for key in self._waiting if key not in self._failures), limit))
        return {key: self._waiting.pop(key) for key in due}

    def failed(self, key: K, value: V, *, gives_up: bool = True) -> bool:
        """Puts it back. False when too many wait, or, unless it never `gives_up`, when it has had its
        attempts."""
        failures = self._failures.add(key)
        spent = gives_up and self._attempts is not None and failures >= self._attempts
        if not spent and self.add(key, value):
            return True
        self._failures.forget(key)
        return False

    def done(self, key: K) -> None:
        """Forgets the failures of the work."""
        self._failures.forget(key)

    def pause(self) -> float:
        """Notes that what all of them need failed: nothing is taken for a while. Returns the seconds."""
        self._pauses += 1
        seconds = doubled(self._first_retry, self._pauses, self._last_retry)
        self.rest(seconds)
        return seconds

    def go_on(self) -> None:
        """Notes that what all of them need works."""
        self._pauses = 0

    def rest(self, seconds: float) -> None:
        """Nothing is taken meanwhile."""
        self._rests_until = monotonic() + seconds

    async def settled(self) -> None:
        """Returns when all that was added until now is done, or was given up."""
        await self._idle.wait()
