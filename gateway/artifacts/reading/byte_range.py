"""Bytes of a content, as text where that is possible: `bytes=0-999`."""

import re

from gateway.artifacts.reading.chunks import ContentChunks, is_inside, readable, size_of_text, text_of
from gateway.artifacts.reading.part import MAX_BYTES, ContentPart, fitting
from gateway.artifacts.reading.selector import Bytes
from gateway.errors import InvalidRequest

_ROW = 16  # bytes in a row of a dump
_MAX_DUMPED = MAX_BYTES // 64 * _ROW  # a row has 67 characters
_NO_TEXT = re.compile(
    "[\udc80-\udcff\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
)  # invalid bytes as surrogates; controls


async def read_bytes(chunks: ContentChunks, selector: Bytes, most_tokens: int) -> ContentPart:
    """As much as fits of a range, with its true bounds and in whole characters: one that begins in the range
    is there, so that ranges side by side join without gap or repetition. What is no text is dumped as xxd
    does. Raises what `reader.read_part` does."""
    size = chunks.row.size
    if selector.first >= max(size, 1):
        bounds = f"write bytes={max(0, size - 1000)}-{size - 1}." if size else "it is empty."
        raise InvalidRequest(
            f"{chunks.row.ref} has {size:,} bytes, counted from 0: {bounds}",
            code="bad_range",
            details={"bytes": size},
        )
    if size == 0:
        return ContentPart("bytes", "", 0, 0, 0)
    last = size - 1 if selector.last is None else min(selector.last, size - 1)
    first, data = (
        selector.first,
        await chunks.slice(selector.first, min(last + 1, selector.first + MAX_BYTES + 4)),
    )
    if is_text := chunks.row.lines is not None:
        first, data = await _in_characters(chunks, first, data)
    text, taken, remark = _shown(data, first, most_tokens, is_text=is_text)
    end = first + taken - 1
    asked = last - selector.first + 1
    until = last if end < last else min(size - 1, end + asked)
    if remark is None and (first != selector.first or end > last):
        remark = "The range was moved to whole characters."
    return ContentPart(
        "bytes", text, first, end, size, f"bytes={end + 1}-{until}" if end + 1 < size else None, remark
    )


async def _in_characters(chunks: ContentChunks, first: int, data: bytes) -> tuple[int, bytes]:
    """The characters that begin in `data`, which lies at `first`; if none does, the one it is a part of."""
    inside = next((at for at, byte in enumerate(data[:4]) if not is_inside(byte)), len(data))
    if inside < len(data):
        first, data = first + inside, data[inside:]
    elif len(data) < 4:
        before = await chunks.slice(max(0, first - 3), first)
        back = next((at for at, byte in enumerate(reversed(before), 1) if not is_inside(byte)), 0)
        first, data = first - back, before[len(before) - back :] + data
    after = await chunks.slice(first + len(data), first + len(data) + 3)
    more = next((at for at, byte in enumerate(after) if not is_inside(byte)), len(after))
    return first, data + after[:more]


def _shown(data: bytes, first: int, most_tokens: int, *, is_text: bool) -> tuple[str, int, str | None]:
    """What fits of it as text or as a dump, how many bytes that are, and the remark on it."""
    text = text_of(data)
    if is_text or ("\0" not in text and len(_NO_TEXT.findall(text)) * 10 <= len(text)):
        shown = readable(text)
        kept = fitting(shown, most_tokens)
        remark = None if shown == text else "Bytes that are no UTF-8 are shown as \ufffd."
        return shown[:kept], size_of_text(text[:kept]), remark
    rows = [_row(data[at : at + _ROW], first + at) for at in range(0, min(len(data), _MAX_DUMPED), _ROW)]
    dump = "\n".join(rows) + "\n"
    dump = dump[: dump.rindex("\n", 0, fitting(dump, most_tokens))]
    taken = min((dump.count("\n") + 1) * _ROW, len(data))
    return dump, taken, "It is no text here: shown as xxd prints it."


def _row(data: bytes, at: int) -> str:
    readable = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in data)
    return f"{at:08x}: {data.hex(' ', -2):<39}  {readable}"
