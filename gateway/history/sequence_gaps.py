"""Numbers that the events of a session leave out: they were shown, and are gone with a server that failed."""

from collections.abc import Mapping
from typing import Any

import orjson

from gateway.events.envelope import StoredEvent
from gateway.events.lifecycle import EVENTS_LOST


class SequenceGaps:
    """The gaps between events that are taken in order, from the number behind `after` on. Each gap has to be
    named by a warning: else the events are missing, not known to be lost."""

    def __init__(self, after: int = 0) -> None:
        self.last = after
        """The number of the event that was taken last."""
        self._gaps: set[tuple[int, int]] = set()

    def take(self, event: StoredEvent) -> tuple[int, int] | None:
        """The gap before an event, from its first number to its last."""
        data = orjson.loads(event.body)["data"] if event.type == "warning" else {}
        return self.next(event.seq, data)

    def next(self, seq: int, warning: Mapping[str, Any]) -> tuple[int, int] | None:
        """As `take`, of an event with that number and, if it is a warning, its data."""
        gap = (self.last + 1, seq - 1) if seq != self.last + 1 else None
        if gap is not None:
            self._gaps.add(gap)
        self.last = seq
        if warning.get("code") == EVENTS_LOST:
            self._gaps.discard((warning.get("first", 0), warning.get("last", 0)))
        return gap

    @property
    def unnamed(self) -> tuple[int, int] | None:
        """A gap that no warning has named."""
        return min(self._gaps, default=None)
