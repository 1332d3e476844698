"""Metrics of the process: its log, its connections, its event loop."""

import asyncio
from time import monotonic

from gateway.storage.database import ConnectionPools
from gateway.telemetry.metrics import instrument_table as table
from gateway.telemetry.metrics.exposition import Exposition

INTERVAL = 0.25
"""Seconds between two looks at the event loop: four timers a second cost nothing and find every hang."""

STATES = ("used", "idle")
"""Of a connection."""


class LogMetrics:
    """Measures the writes of the event log; `flushed` is for the one who opens it."""

    def __init__(self, exposition: Exposition) -> None:
        counters = exposition.counters
        self._events = counters.histogram(table.FLUSH_EVENTS)[()]
        self._seconds = counters.histogram(table.FLUSH_DURATION)[()]
        self._failures = counters.counter(table.FLUSH_FAILURES)

    def flushed(self, events: int, seconds: float, failed: bool) -> None:
        """A transaction is over. It may have had no event, only other writes."""
        self._events.add(events)
        self._seconds.add(int(seconds * 1_000_000))
        if failed:
            self._failures[()] += 1


def measured_pools(exposition: Exposition) -> ConnectionPools:
    """Pools of connections, for those who open them: what they do, and how long work waits, is measured."""
    waits = exposition.counters.histogram(table.POOL_WAIT)
    pools = ConnectionPools(lambda name, seconds: waits[(name,)].add(int(seconds * 1_000_000)))

    def connections() -> dict[tuple[str, str], int]:
        found = pools.use().items()
        return {
            (name, state): count for name, use in found for state, count in zip(STATES, use[:2], strict=True)
        }

    observe = exposition.counters.observe
    observe(table.POOL_CONNECTIONS, connections)
    observe(table.POOL_WAITING, lambda: {(name,): use.waiting for name, use in pools.use().items()})
    return pools


class LoopMetrics:
    """Measures how late the event loop runs what is due: what every stream waits for. Use it as a context
    manager around the life of the process, on the loop."""

    def __init__(self, exposition: Exposition) -> None:
        self._lag = exposition.counters.histogram(table.LOOP_LAG)[()]
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> None:
        self._wait(asyncio.get_running_loop())

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def late(self, seconds: float) -> None:
        """A timer was run so long after it was due."""
        self._lag.add(max(int(seconds * 1_000_000), 0))

    def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_later(INTERVAL, self._tick, loop, monotonic() + INTERVAL)

    def _tick(self, loop: asyncio.AbstractEventLoop, due: float) -> None:
        self.late(monotonic() - due)
        self._wait(loop)
