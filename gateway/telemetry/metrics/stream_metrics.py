"""Counts the readers of the event streams."""

from collections.abc import Callable, Sequence
from typing import Final, Literal

from gateway.events.envelope import StoredEvent
from gateway.ids import now_ms
from gateway.telemetry.metrics import instrument_table as table
from gateway.telemetry.metrics.exemplars import of_trace
from gateway.telemetry.metrics.exposition import Exposition
from gateway.telemetry.semconv import DIALECT

StreamKind = Literal["live", "resume", "replay"]
CloseReason = Literal["done", "client", "slow", "shutdown", "error", "access_ended"]

CONTENT: Final = frozenset({"thinking", "text", "tool_call"})
"""Events that show a person that the model answers."""
NEVER: Final = 2**63
"""A seq that no session reaches."""


class Streams:
    """What the HTTP side reports its streams to. `is_kept` returns whether a trace (by its id)
    may be named as an example; without it, every one."""

    def __init__(self, exposition: Exposition, is_kept: Callable[[str], bool] = lambda _: True) -> None:
        self._is_kept = is_kept
        counters = exposition.counters
        self._active = counters.counter(table.STREAMS_ACTIVE)
        self._opened = counters.counter(table.STREAMS_OPENED)
        self._resumes = counters.counter(table.RESUMES)
        self._disconnects = counters.counter(table.DISCONNECTS)
        self._drops = counters.counter(table.SLOW_CONSUMER_DROPS)
        self.sent = counters.counter(table.EVENTS_SENT)
        self.backlog = counters.histogram(table.STREAM_BACKLOG)
        self.lag = counters.histogram(table.DELIVERY_LAG)
        self._first_event = exposition.histogram(table.FIRST_EVENT)

    def opened(
        self,
        kind: StreamKind,
        *,
        head: int | None = None,
        accepted_at: int | None = None,
        dialect: str | None = None,
    ) -> "StreamMetrics":
        """One stream was opened; the caller owes the result a `closed`.

        Events up to `head`, the session's last seq at that moment, are not new and cannot be late; None when
        nothing in the stream is new. `accepted_at` (Unix milliseconds) is given for the stream that answers
        the request for a new turn; `dialect` is the adapter's, None: one of our own streams.
        """
        self._active[kind, dialect] += 1
        self._opened[kind, dialect] += 1
        if kind == "resume":
            self._resumes[()] += 1
        return StreamMetrics(self, kind, NEVER if head is None else head, accepted_at, dialect)

    def first_content(self, seconds: float, trace_id: str | None, dialect: str | None) -> None:
        """A turn's own request was sent its first content."""
        context = of_trace(trace_id) if trace_id is not None and self._is_kept(trace_id) else None
        about = {DIALECT: dialect} if dialect is not None else {}
        self._first_event.record(max(seconds, 0), about, context)

    def closed(self, kind: StreamKind, reason: CloseReason, dialect: str | None) -> None:
        """One stream has ended."""
        self._active[kind, dialect] -= 1
        self._disconnects[kind, reason] += 1
        if reason == "slow":
            self._drops[()] += 1


class StreamMetrics:
    """Measures one stream. A write costs a few integer adds and a look at the clock."""

    __slots__ = (
        "_accepted_at",
        "_backlog",
        "_dialect",
        "_head",
        "_lag",
        "_sent",
        "_streams",
        "_trace_id",
        "close_reason",
        "events",
        "kind",
    )

    def __init__(
        self, streams: Streams, kind: StreamKind, head: int, accepted_at: int | None, dialect: str | None
    ) -> None:
        self.kind: StreamKind = kind
        self.events = 0
        self.close_reason: CloseReason | None = None
        self._streams = streams
        self._sent, self._backlog, self._lag = streams.sent, streams.backlog[kind,], streams.lag[()]
        self._head = head
        self._accepted_at = accepted_at
        self._dialect = dialect
        self._trace_id: str | None = None

    def sending(self, events: Sequence[StoredEvent]) -> None:
        """`events`, at least one, are handed to the socket now, in one write."""
        kind, sent, head = self.kind, self._sent, self._head
        for event in events:
            sent[kind, event.type] += 1
        self.events += len(events)
        self._backlog.add(len(events))
        if self._accepted_at is not None:  # also content that was there before the stream was opened
            self._look_for_content(events, self._accepted_at)
        if events[-1].seq <= head:
            return
        first = events[0]
        oldest = first if first.seq > head else next(event for event in events if event.seq > head)
        self._lag.add(max(now_ms() - oldest.ts, 0))

    def closed(self, reason: CloseReason) -> None:
        """The stream ended. Only the first reason counts."""
        if self.close_reason is None:
            self.close_reason = reason
            self._streams.closed(self.kind, reason, self._dialect)

    def _look_for_content(self, events: Sequence[StoredEvent], accepted_at: int) -> None:
        for event in events:
            if event.type == "turn_start":
                self._trace_id = event.load()["data"]["trace_id"]
            elif event.type in CONTENT:
                self._streams.first_content((now_ms() - accepted_at) / 1000, self._trace_id, self._dialect)
                self._accepted_at = None
                return
