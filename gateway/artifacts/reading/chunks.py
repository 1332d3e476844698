"""Bytes of a content at any place, and where its lines begin, with at most two chunks in memory."""

import re
from collections import OrderedDict

from gateway.artifacts.artifact_store import ArtifactStore
from gateway.errors import InvalidRequest
from gateway.storage.artifacts import CHUNK, ArtifactRow

_HELD = 2  # chunks: what is read next to one another may lie in two


class ContentChunks:
    """One content, for one reader. What reads raises errors.ArtifactDamaged and errors.StorageError."""

    def __init__(self, store: ArtifactStore, row: ArtifactRow) -> None:
        self.store = store
        self.row = row
        self._held: OrderedDict[int, bytes] = OrderedDict()

    @property
    def lines(self) -> int:
        """How many lines it has. Raises errors.InvalidRequest (not_text)."""
        if self.row.lines is None:
            raise InvalidRequest(
                f"{self.row.ref} is no text in UTF-8, it has no lines: read it by bytes=0-999.",
                code="not_text",
            )
        return self.row.lines

    async def slice(self, start: int, end: int) -> bytes:
        """The bytes from `start` up to, and without, `end`, as far as there are such."""
        end = min(end, self.row.size)
        found = bytearray()
        while start < end:
            number, offset = divmod(start, CHUNK)
            piece = (await self._chunk(number))[offset : offset + end - start]
            found += piece
            start += len(piece)
        return bytes(found)

    async def line_start(self, line: int) -> int:
        """Where a line (from 1) begins; the size for the one after the last. Reads one chunk."""
        before = line - 1  # line ends
        if before == 0:
            return 0
        for number, chunk in enumerate(self.row.chunks):
            if before <= chunk.line_ends:
                return number * CHUNK + nth_end(await self._chunk(number), before)
            before -= chunk.line_ends
        return self.row.size

    async def next_line(self, start: int) -> int:
        """Where the line after the one at `start` begins; the size where there is none."""
        number, offset = divmod(start, CHUNK)
        for each in range(number, len(self.row.chunks)):
            if self.row.chunks[each].line_ends:
                end = (await self._chunk(each)).find(b"\n", offset)
                if end >= 0:
                    return each * CHUNK + end + 1
            offset = 0
        return self.row.size

    async def _chunk(self, number: int) -> bytes:
        if (held := self._held.get(number)) is not None:
            self._held.move_to_end(number)
            return held
        if len(self._held) == _HELD:
            self._held.popitem(last=False)
        self._held[number] = piece = await self.store.read(self.row, number * CHUNK, CHUNK)
        return piece


def nth_end(data: bytes, count: int) -> int:
    """The place behind the line end with that number, from 1; there are so many in `data`."""
    low, high = 0, len(data)
    while high - low > 1:
        middle = (low + high) // 2
        ends = data.count(b"\n", low, middle)
        if ends < count:
            low, count = middle, count - ends
        else:
            high = middle
    return high


def text_of(data: bytes) -> str:
    """Text in which each byte that is no UTF-8 is one surrogate, so that places can be counted in bytes again
    (`size_of_text`); `readable` before anybody reads it."""
    return data.decode("utf-8", "surrogateescape")


def size_of_text(text: str) -> int:
    """Bytes of what `text_of` gave, or of a part of it."""
    return len(text.encode("utf-8", "surrogateescape"))


def readable(text: str) -> str:
    """What `text_of` gave, of the same length, with a mark in the place of each byte that is no UTF-8 and of
    each NUL."""
    return _DAMAGED.sub("\ufffd", text)


_DAMAGED = re.compile("[\udc80-\udcff\0]")


def is_inside(byte: int) -> bool:
    """Whether a byte of UTF-8 goes on with a character that began before it."""
    return byte & 0xC0 == 0x80


def whole_characters(data: bytes) -> bytes:
    """`data` without a character at its end that is not all there."""
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if not is_inside(byte):
            needs = 1 + (byte >= 0xC0) + (byte >= 0xE0) + (byte >= 0xF0)
            return data if needs <= back else data[:-back]
    return data
