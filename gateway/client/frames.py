"""Native SSE frames from a byte stream: LF line ends, one `data:` line, as docs/events.md says."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple


class Frame(NamedTuple):
    """One frame. `event` is its name, `data` the JSON text; `seq` is None in frames outside the log."""

    event: str
    seq: int | None
    data: bytes

    def load(self) -> dict[str, Any]:
        return json.loads(self.data)


class FrameReader:
    """Takes bytes as they come and gives the frames that are complete. Comments and fields without data are
    skipped, and so is an unfinished frame at the end: it comes again when the stream is resumed."""

    def __init__(self) -> None:
        self._rest = b""

    def take(self, chunk: bytes) -> Iterator[Frame]:
        *complete, self._rest = (self._rest + chunk).split(b"\n\n")
        for block in complete:
            if frame := _frame(block):
                yield frame


def read_frames(chunks: Iterable[bytes]) -> Iterator[Frame]:
    """The frames of a whole stream, as `FrameReader` gives them."""
    reader = FrameReader()
    for chunk in chunks:
        yield from reader.take(chunk)


def _frame(block: bytes) -> Frame | None:
    fields: dict[bytes, bytes] = {}
    for line in block.split(b"\n"):  # never splitlines(): text may hold other line separators
        name, _, value = line.partition(b":")
        fields[name] = value.removeprefix(b" ")
    if b"data" not in fields:
        return None
    name = fields.get(b"event", b"message").decode()
    seq = fields.get(b"id", b"")
    is_logged = name != "stream_open" and seq.isdigit()
    return Frame(name, int(seq) if is_logged else None, fields[b"data"])
