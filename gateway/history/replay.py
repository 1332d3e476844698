"""A stored session once more, as it happened: the same events, at their own pace or another."""

import asyncio
import re
from collections.abc import AsyncGenerator, Sequence

from gateway.errors import InvalidRequest
from gateway.events.envelope import StoredEvent
from gateway.ids import OPERATION_PREFIX
from gateway.storage.log.event_log import EventLog

PAGE = 1000
"""Events read from the log at a time: what a replay holds in memory."""

MAX_PAUSE = 10.0
"""Seconds of the longest wait between two events, unless the caller gives another: between two messages of a
person there may be days."""

TICK = 0.002
"""Seconds. Events that are due within it are handed out together."""

SPEED = r"^(max|[0-9]{1,6}([.][0-9]{1,6})?)$"


def read_speed(text: str) -> float | None:
    """A speed as people write it: 1 as it was, 10 ten times as fast; None, written max, without waiting.
    Raises errors.InvalidRequest."""
    if text == "max":
        return None
    if re.fullmatch(SPEED, text) is None or float(text) == 0:
        raise InvalidRequest(
            "speed must be max, or a number above 0 such as 10 or 0.5, with at most six digits before the "
            "point and six after it."
        )
    return float(text)


async def replay(
    log: EventLog,
    session_id: str,
    *,
    after: int,
    until: int,
    speed: float | None,
    max_pause: float = MAX_PAUSE,
    stop: asyncio.Event | None = None,
    turns: frozenset[str] | None = None,
) -> AsyncGenerator[Sequence[StoredEvent]]:
    """Yields the events with seq > `after` and <= `until`, in order, some at a time.

    The time between two events is what it was, divided by `speed`, and at most `max_pause` seconds. None
    does not wait at all. A reader that is late gets what is due at once and is on time again. Ends early when
    `stop` is set. With `turns` only theirs, and what happened beside turns. Only reads: nothing is counted or
    published again.

    Raises:
        errors.StorageError, errors.ArchiveDamaged: as `EventLog.read`.
    """
    pace = None if speed is None else Pace(speed, max_pause)
    while after < until:
        page = await log.read(session_id, after=after, limit=PAGE, until=until)
        if not page or (stop is not None and stop.is_set()):
            return
        after = page[-1].seq
        if turns is not None:
            page = [
                each for each in page if each.turn_id in turns or each.turn_id.startswith(OPERATION_PREFIX)
            ]
            if not page:
                continue
        if pace is None:
            yield page
            continue
        for events, due in pace.batches(page):
            if await _stopped_before(due, stop):
                return
            yield events


class Pace:
    """When events are due, in the time of the running event loop. The first one is due at once."""

    def __init__(self, speed: float, max_pause: float) -> None:
        self._speed = speed
        self._max_pause = max_pause
        self._due = asyncio.get_running_loop().time()
        self._written: int | None = None

    def batches(self, page: Sequence[StoredEvent]) -> list[tuple[Sequence[StoredEvent], float]]:
        """`page` in pieces, each with the time at which it is due."""
        batches: list[tuple[list[StoredEvent], float]] = []
        for event in page:
            self._due += self._pause_before(event)
            if batches and self._due - batches[-1][1] < TICK:
                batches[-1][0].append(event)
            else:
                batches.append(([event], self._due))
        return [(events, due) for events, due in batches]

    def _pause_before(self, event: StoredEvent) -> float:
        written = event.ts
        before, self._written = self._written, written
        if before is None:
            return 0
        # Clocks can be set back.
        return min(max(written - before, 0) / 1000 / self._speed, self._max_pause)


async def _stopped_before(due: float, stop: asyncio.Event | None) -> bool:
    """Waits until `due`; whether `stop` was set meanwhile."""
    left = due - asyncio.get_running_loop().time()
    if left <= 0:
        return stop is not None and stop.is_set()
    if stop is None:
        await asyncio.sleep(left)
        return False
    try:
        await asyncio.wait_for(stop.wait(), left)
    except TimeoutError:
        return False
    return True
