"""Counts the readers of the event streams."""

from collections.abc import Callable
from functools import partial
from typing import Literal

from opentelemetry.metrics import Meter

from gateway.telemetry.semconv import REASON, STREAM_KIND

StreamKind = Literal["live", "resume", "replay"]
CloseReason = Literal["done", "client", "slow", "shutdown", "error"]


class Streams:
    """The door through which the HTTP side tells of its streams."""

    def __init__(self, meter: Meter) -> None:
        self._active = meter.create_up_down_counter(
            "gateway.stream.active", "{stream}", "Open event streams."
        )
        self._opened = meter.create_counter("gateway.stream.opened", "{stream}", "Event streams opened.")
        self._resumes = meter.create_counter(
            "gateway.stream.resumes", "{resume}", "Streams that went on from a cursor."
        )
        self._disconnects = meter.create_counter(
            "gateway.stream.disconnects", "{disconnect}", "Event streams that ended, by reason."
        )
        self._events_sent = meter.create_counter(
            "gateway.stream.events_sent", "{event}", "Events sent to readers, counted when their stream ends."
        )

    def opened(self, kind: StreamKind) -> "StreamMeter":
        """One stream was opened; the caller owes the result a `closed`."""
        about: dict[str, str] = {STREAM_KIND: kind}
        self._active.add(1, about)
        self._opened.add(1, about)
        if kind == "resume":
            self._resumes.add(1)
        return StreamMeter(partial(self._closed, about))

    def _closed(self, about: dict[str, str], reason: CloseReason, events: int) -> None:
        self._active.add(-1, about)
        self._disconnects.add(1, {**about, REASON: reason})
        self._events_sent.add(events, about)


class StreamMeter:
    """Counts one stream. While it runs nothing is done but an integer add."""

    __slots__ = ("_events", "_flush")

    def __init__(self, flush: Callable[[CloseReason, int], None]) -> None:
        self._events = 0
        self._flush: Callable[[CloseReason, int], None] | None = flush

    def events_sent(self, count: int) -> None:
        self._events += count

    def closed(self, reason: CloseReason) -> None:
        """The stream ended. Only the first reason counts."""
        flush, self._flush = self._flush, None
        if flush is not None:
            flush(reason, self._events)
