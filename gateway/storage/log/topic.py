"""One session's place on the bus: its newest events in memory, and the readers that they wake."""

import logging
from collections.abc import Sequence

from gateway.events.envelope import StoredEvent
from gateway.storage.log import OnEvents

log = logging.getLogger(__name__)

EVENT_OVERHEAD = 200
"""Bytes that a short event costs in memory beside its body."""


class Topic:
    """One session's place on the bus. `tail` are its newest events, without a gap, up to `head`, which is
    None while it is not known. `is_current`: commits beyond `head` will be published here. `announced` is the
    newest head that others have announced. `made_at`: when the session was made, if known."""

    __slots__ = ("announced", "head", "is_current", "made_at", "readers", "size", "tail")

    def __init__(self, *, is_current: bool) -> None:
        self.readers: list[Reader] = []
        self.head: int | None = None
        self.is_current = is_current
        self.made_at = 0
        self.announced = 0
        self.tail: list[StoredEvent] = []
        self.size = 0

    def extend(self, events: Sequence[StoredEvent], limit: int) -> Sequence[StoredEvent]:
        """Adds those of `events` that are new, which it returns, and drops the oldest beyond `limit` bytes,
        but never of these."""
        if self.head is not None and events[0].seq != self.head + 1:
            events = [event for event in events if event.seq > self.head]
            if not events:
                return events
            if events[0].seq != self.head + 1:
                self.clear()
        self.tail.extend(events)
        self.head = events[-1].seq
        self.size += sum(map(_size, events))
        surplus = 0
        while self.size > limit and surplus < len(self.tail) - len(events):
            self.size -= _size(self.tail[surplus])
            surplus += 1
        if surplus:
            del self.tail[:surplus]
        return events

    def clear(self) -> None:
        self.tail, self.size, self.head = [], 0, None

    def begin(self, head: int) -> None:
        """Nothing is beyond `head`, and what will be comes here."""
        if self.head is None or self.head < head:
            self.clear()
            self.head = head
        self.is_current = True

    def notify(self, events: Sequence[StoredEvent]) -> None:
        for reader in tuple(self.readers):
            if reader.on_events is not None:
                try:
                    reader.on_events(events)
                except Exception:
                    # Neither the turn whose events these are nor the other readers have to do with it.
                    log.exception("a reader of the bus failed")


class Reader:
    """A place in a session's live stream. `gone`: the session was deleted since, nothing that is read under
    its id belongs to this reader."""

    __slots__ = ("_asked", "_topic", "gone", "on_events")

    def __init__(self, topic: Topic, on_events: OnEvents | None) -> None:
        self.on_events = on_events
        self.gone = False
        self._topic = topic
        self._asked: tuple[int | None, int, int] = (None, 0, -1)

    def since(self, seq: int) -> Sequence[StoredEvent] | None:
        """Events after `seq` that are still in memory. Empty: there are none yet, wait for the next (with no
        other await in between). None: read the log from there, then ask again, also when it had nothing: a
        reader that was sent to the log and asks again from the same place has seen its end, so that unless
        something was published meanwhile it may wait."""
        topic = self._topic
        if topic.head is not None and seq >= topic.head:
            if topic.is_current:
                return ()
        elif topic.tail:
            first = topic.tail[0].seq
            if seq >= first - 1:
                return topic.tail[seq - first + 1 :]
        asked = (topic.head, topic.announced, seq)
        if self._asked == asked:
            if not topic.is_current:
                topic.begin(seq)
            return ()
        self._asked = asked
        return None


def _size(event: StoredEvent) -> int:
    return len(event.body) + EVENT_OVERHEAD
