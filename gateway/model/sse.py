"""Server-sent events, read from bytes as they come: any chunk boundary, LF, CRLF or CR.

The format is the WHATWG HTML standard's, "Parsing an event stream". Only `data` is kept, as the data repeat
what the `event:` line has; of an error that is not so everywhere, and its data are marked.
"""

import re

from gateway.errors import ModelError

MAX_EVENT = 16 * 1024 * 1024
"""Bytes of one event. The largest real ones are tool inputs written in one piece."""

DONE = b"[DONE]"
"""Data that some endpoints end a stream with, as OpenAI's does."""

_USUAL = re.compile(rb"^event: [^e\n].*\ndata: (.*)\n\n", re.MULTILINE)
"""An event as most endpoints write it, but for errors: no other name begins with an e."""
_BOM = b"\xef\xbb\xbf"


class ErrorData(bytes):
    """The data of an event whose `event:` line names an error, whatever the data themselves say."""


class SseParser:
    """Turns the bytes of one stream into the data of its events, in order. An event that the stream's end
    cuts off is never reported, as the standard demands."""

    __slots__ = ("_at_start", "_held", "_held_size", "_max_event", "_skip_lf")

    def __init__(self, max_event: int = MAX_EVENT) -> None:
        self._max_event = max_event
        self._held: list[bytes] = []
        self._held_size = 0
        self._at_start = True
        self._skip_lf = False

    def feed(self, data: bytes) -> list[bytes]:
        """The data of every event that `data` completes.

        Raises:
            ModelError: an event is longer than `max_event` bytes.
        """
        if self._at_start:
            data = self._without_bom(data)
        if self._skip_lf or b"\r" in data:
            data = self._with_lf(data)
        if not data:
            return []
        if self._held:
            ends_here = b"\n\n" in data or (data[0] == 10 and self._held[-1][-1] == 10)
            if not ends_here:
                self._hold(data)
                return []
            # Joined only now, so that an event of many reads is copied once.
            data = b"".join([*self._held, data])
            self._held, self._held_size = [], 0
        end = data.rfind(b"\n\n") + 2
        usual = _USUAL.findall(data, 0, end)
        # Three line ends for each event: there is nothing else.
        if usual and data.count(b"\n", 0, end) == 3 * len(usual) and len(data) <= self._max_event:
            if end < len(data):
                self._hold(data[end:])
            return usual
        blocks = data.split(b"\n\n")
        rest = blocks.pop()
        if len(data) > self._max_event and any(len(block) > self._max_event for block in blocks):
            raise self._too_long()
        if rest:
            self._hold(rest)
        return [found for block in blocks for found in _data_of(block)]

    def rest(self) -> list[bytes]:
        """The data of the event that the end of the stream has cut off: by the standard there is none, but a
        server that leaves out the last empty line may have sent it whole."""
        data = b"".join(self._held)
        self._held, self._held_size = [], 0
        return _data_of(data)

    def _hold(self, data: bytes) -> None:
        self._held.append(data)
        self._held_size += len(data)
        if self._held_size > self._max_event:
            raise self._too_long()

    def _without_bom(self, data: bytes) -> bytes:
        data = b"".join([*self._held, data])
        self._held, self._held_size = [], 0
        if len(data) < len(_BOM) and _BOM.startswith(data):
            if data:
                self._hold(data)
            return b""
        self._at_start = False
        return data.removeprefix(_BOM)

    def _with_lf(self, data: bytes) -> bytes:
        """`data` with every line end as LF. A CR ends its line at once; the LF of a CRLF that arrives later
        is then skipped."""
        if self._skip_lf and data:
            self._skip_lf = False
            data = data.removeprefix(b"\n")
        if data:
            self._skip_lf = data[-1] == 13
        return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")

    def _too_long(self) -> ModelError:
        return ModelError(
            f"The model's endpoint sent an event of over {self._max_event} bytes.",
            code="upstream_error",
            retryable=True,
        )


def _data_of(block: bytes) -> list[bytes]:
    """The data of one event, line by line: one item, or none when the event has no data."""
    lines: list[bytes] = []
    is_error = False
    for line in block.split(b"\n"):
        if line.startswith(b"data:"):
            lines.append(line[5:].removeprefix(b" "))
        elif line == b"data":
            lines.append(b"")
        elif line.startswith(b"event:"):
            is_error = line[6:].strip() == b"error"
    if not lines:
        return []
    data = b"\n".join(lines)
    return [ErrorData(data) if is_error else data]
