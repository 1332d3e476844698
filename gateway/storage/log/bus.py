"""The bus of a process: each session's newest events in memory, and a wake-up for its readers.

A reader that has seen the newest event here may wait without a look at the log if no newer one can have been
committed without a publication here. In a process that is alone that always holds; beside others it holds for
a session that this process writes, and for a followed one after a reader has found the end of the log (see
`Topic.is_current`).
"""

import logging
from collections import OrderedDict
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager

from gateway.events.envelope import StoredEvent
from gateway.storage.log import OnEvents
from gateway.storage.log.topic import Reader, Topic

log = logging.getLogger(__name__)

Observer = Callable[[str, Sequence[StoredEvent]], None]

MAX_LIVES = 10_000
"""Deleted sessions that are known as such, for what is still on its way to them."""


class Bus:
    """Notifies readers that the log has grown. The record is the log; a bus may forget, never invent.

    `tail_bytes` bounds what is kept of one session, `idle_bytes` what is kept of all sessions without a
    follower. `is_alone`: only this process writes the log.
    """

    def __init__(
        self, *, tail_bytes: int = 2_048, idle_bytes: int = 8_388_608, is_alone: bool = True
    ) -> None:
        self._is_alone = is_alone
        self._owned: set[str] = set()
        self._tail_bytes = tail_bytes
        self._idle_bytes = idle_bytes
        self._followed: dict[str, Topic] = {}
        self._idle: OrderedDict[str, Topic] = OrderedDict()
        self._idle_size = 0
        self._observers: list[Observer] = []
        self._on_followed: Callable[[str], None] | None = None
        self._lives: dict[str, int] = {}
        self._forgotten = 0

    def publish(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        """Hands durable events, in order, to the followers of the session; without any it only has them look
        again. Never waits for a reader, nor raises what one of them does."""
        topic = self._followed.get(session_id)
        if not events:
            if topic is not None:
                topic.notify(events)
            return
        if topic is not None:
            new = topic.extend(events, self._tail_bytes)
            if new:
                topic.notify(new)
        else:
            topic = self._take_idle(session_id) or self._new_topic()
            topic.extend(events, self._tail_bytes)
            self._put_idle(session_id, topic)
        for observer in self._observers:
            try:
                observer(session_id, events)
            except Exception:
                # An observer only looks on: its faults must not reach the turn whose events these are.
                log.exception("an observer of the bus failed")

    def hear(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        """Hands on events that another process has committed: readers get them, observers do not."""
        topic = self._followed.get(session_id)
        if topic is not None and topic.is_current and (new := topic.extend(events, self._tail_bytes)):
            topic.notify(new)

    def missing(self, heads: Mapping[str, int]) -> dict[str, int]:
        """Others have committed: `heads` are the newest events of sessions now. Returns of which the events
        are to be read, for `hear`, and behind which one."""
        found: dict[str, int] = {}
        for session_id, head in heads.items():
            topic = self._followed.get(session_id)
            if topic is None:
                if (topic := self._idle.get(session_id)) is not None:
                    topic.is_current = False
            elif not topic.is_current or topic.head is None:
                topic.announced = max(topic.announced, head)
                topic.notify(())
            elif head > topic.head:
                topic.announced = head
                found[session_id] = topic.head
        return found

    @property
    def followed(self) -> list[str]:
        """The sessions with a follower here that other processes may write."""
        return [session_id for session_id in self._followed if session_id not in self._owned]

    def expect(self, session_id: str, head: int, made_at: int = 0) -> None:
        """A turn is about to be written in this process, from `head` on, and no other process writes the
        session before `release`: a reader that has seen `head` need not read the log. `made_at` as for
        `shown`."""
        if not self._is_alone:
            self._owned.add(session_id)
        topic = self._topic(session_id, made_at)
        if topic is None:
            topic = self._idle[session_id] = self._new_topic(made_at)
        if topic.head != head:
            size = topic.size
            topic.begin(head)
            if session_id in self._idle:
                self._idle_size += topic.size - size
            topic.notify(())
        topic.is_current = True

    def release(self, session_id: str) -> None:
        """The turn is not written here any more: others may write the session."""
        self._owned.discard(session_id)
        if session_id in self._followed:
            self._is_followed(session_id)

    @contextmanager
    def subscribe(
        self, session_id: str, on_events: OnEvents | None = None, made_at: int = 0
    ) -> Generator[Reader]:
        """A place in the session's stream until the context is left; each publication calls `on_events`.
        `made_at` as for `shown`."""
        topic = self._topic(session_id, made_at)
        if topic is None or session_id not in self._followed:
            topic = self._take_idle(session_id) or self._new_topic(made_at)
            self._followed[session_id] = topic
            topic.is_current &= self._is_alone or session_id in self._owned
            self._is_followed(session_id)
        reader = Reader(topic, on_events)
        topic.readers.append(reader)
        try:
            yield reader
        finally:
            topic.readers.remove(reader)
            if not topic.readers and not reader.gone:
                del self._followed[session_id]
                if topic.tail:
                    self._put_idle(session_id, topic)

    def shown(self, session_id: str, made_at: int = 0) -> int:
        """The highest number of the session that is known to have been published; 0 when nothing is known.
        One that was made at another time had the same id before: it is forgotten. 0: it is that of before."""
        topic = self._topic(session_id, made_at)
        return (topic.head if topic is not None else None) or 0

    def newest(self, session_id: str) -> tuple[int, int]:
        """When the session was made, and its highest published number; 0: not known, as it had no
        follower."""
        topic = self._followed.get(session_id) or self._idle.get(session_id)
        return (0, 0) if topic is None else (topic.made_at, topic.head or 0)

    def life(self, session_id: str) -> int:
        """Another number after each `forget`: events that were on their way before are dropped."""
        return self._lives.get(session_id, 0)

    @property
    def readers(self) -> int:
        """Subscriptions that are open now; may be asked in another thread."""
        return sum(len(topic.readers) for topic in list(self._followed.values()))

    def watch(self, observer: Observer) -> None:
        """Calls `observer(session_id, events)` for every publication; it must be quick and must not raise."""
        self._observers.append(observer)

    def on_followed(self, observer: Callable[[str], None]) -> None:
        """Calls `observer(session_id)`, which must be quick, when a session comes to be one of `followed`."""
        self._on_followed = observer

    def forget(self, session_id: str) -> None:
        """The session was deleted and its id may be used again, by anybody: its readers are woken, find it
        gone, and get nothing that is published under that id later."""
        self._forgotten += 1
        self._lives[session_id] = self._forgotten
        if len(self._lives) > MAX_LIVES:
            del self._lives[next(iter(self._lives))]
        self._take_idle(session_id)
        if topic := self._followed.pop(session_id, None):
            topic.clear()
            for reader in topic.readers:
                reader.gone = True
            topic.notify(())

    def _is_followed(self, session_id: str) -> None:
        if self._on_followed is not None and session_id not in self._owned:
            self._on_followed(session_id)

    def _topic(self, session_id: str, made_at: int) -> Topic | None:
        """What is known of the session that was made then."""
        topic = self._followed.get(session_id) or self._idle.get(session_id)
        if topic is None or not made_at or topic.made_at == made_at:
            return topic
        if topic.made_at:
            self.forget(session_id)
            return None
        if not self._is_alone:  # of which session that was is unknown
            if self._take_idle(session_id) is topic:
                return None
            topic.clear()
        topic.made_at = made_at
        return topic

    def _new_topic(self, made_at: int = 0) -> Topic:
        topic = Topic(is_current=self._is_alone)
        topic.made_at = made_at
        return topic

    def _take_idle(self, session_id: str) -> Topic | None:
        topic = self._idle.pop(session_id, None)
        if topic is not None:
            self._idle_size -= topic.size
        return topic

    def _put_idle(self, session_id: str, topic: Topic) -> None:
        self._idle[session_id] = topic
        self._idle_size += topic.size
        while self._idle_size > self._idle_bytes:
            _, oldest = self._idle.popitem(last=False)
            self._idle_size -= oldest.size
