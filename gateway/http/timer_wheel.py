"""One timer for all open streams."""

import asyncio
from contextvars import Context
from itertools import cycle
from time import monotonic
from typing import Protocol

import structlog

SLOTS = 8
TURNS = 4
"""How often the wheel turns within the shortest time that is watched."""

log = structlog.get_logger(__name__)


class Watched(Protocol):
    def look(self, now: float) -> None:
        """Called once a turn, with the time by the monotonic clock. What it raises is logged."""
        ...


class Wheel:
    """Looks at each of those it watches about once in `period` seconds, a share of them at a time. Its timer
    runs while there are any."""

    def __init__(self, shortest: float) -> None:
        """`shortest` is the shortest time, in seconds, that anything watched is measured against."""
        self.period = shortest / TURNS
        self._slots: list[set[Watched]] = [set() for _ in range(SLOTS)]
        self._next = cycle(self._slots)
        self._turn = cycle(self._slots)
        self._timer: asyncio.TimerHandle | None = None

    def add(self, watched: Watched) -> set[Watched]:
        """Its slot, of which the caller discards it when it is over."""
        slot = next(self._next)
        slot.add(watched)
        if self._timer is None:
            self._wait()
        return slot

    def _wait(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(
            self.period / SLOTS, self._tick, context=Context()
        )

    def _tick(self) -> None:
        now = monotonic()
        for watched in tuple(next(self._turn)):
            try:
                watched.look(now)
            except Exception:
                # One stream's fault must not stop the others' heartbeats.
                log.exception("look_at_stream_failed")
        if any(self._slots):
            self._wait()
        else:
            self._timer = None
