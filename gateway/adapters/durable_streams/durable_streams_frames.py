"""A session's log as a stream of the Durable Streams protocol: offsets, cursors, bodies. Pure.

https://github.com/durable-streams/durable-streams, PROTOCOL.md, version 1.0: sections 5.6 to 5.8, 8 to 10.
"""

import random
import re
from collections.abc import Sequence

import orjson

from gateway.errors import InvalidRequest
from gateway.events.envelope import StoredEvent

BEGINNING, TAIL = "-1", "now"
CURSOR_EPOCH, CURSOR_SECONDS = 1_728_432_000, 20
"""Unix time of 2024-10-09T00:00:00Z, and the length of an interval (section 10.1)."""
MAX_JITTER = 3600
"""Seconds (section 10.1)."""
_OFFSET, _CURSOR = re.compile(r"[0-9]{20}"), re.compile(r"[0-9]{1,12}")


def offset_of(seq: int) -> str:
    """The offset behind the event `seq`: of equal length, so that they sort as text."""
    return f"{seq:020d}"


def read_offset(text: str) -> int | None:
    """The seq of the event that `text` is behind; None: the tail. Raises errors.InvalidRequest."""
    if text == TAIL:
        return None
    if text == BEGINNING:
        return 0
    if not _OFFSET.fullmatch(text):
        raise InvalidRequest("offset must be -1, now, or the Stream-Next-Offset of an answer.")
    return int(text)


def next_cursor(given: str | None, now: float) -> str:
    """The number of the interval at `now` (Unix seconds); where the client's is not smaller, a larger one
    than that, by chance, so that no cache answers with itself for ever."""
    current = int(now - CURSOR_EPOCH) // CURSOR_SECONDS
    last = int(given) if given is not None and _CURSOR.fullmatch(given) else -1
    if last < current:
        return str(current)
    return str(last + random.randint(1, MAX_JITTER // CURSOR_SECONDS))  # noqa: S311 - no secret


def encode_messages(events: Sequence[StoredEvent]) -> bytes:
    """A JSON array of the events, each in the bytes of the log."""
    return b"[%b]" % b",".join([event.body for event in events])


class Frames:
    """Server-sent events of one reader, who was at the tail `head` when it came."""

    def __init__(self, head: int, cursor: str) -> None:
        self._head = head
        self._cursor = cursor

    def encode(self, events: Sequence[StoredEvent]) -> bytes:
        """The events, and the control event behind them."""
        return b"event: data\ndata: %b\n\n%b" % (encode_messages(events), self.control(events[-1].seq))

    def control(self, seq: int) -> bytes:
        """Where to go on behind the event `seq`."""
        control = {"streamNextOffset": offset_of(seq), "streamCursor": self._cursor}
        if seq >= self._head:
            control |= {"upToDate": True}
        return b"event: control\ndata: %b\n\n" % orjson.dumps(control)
