"""Lines of a text: `lines=1-50`."""

from gateway.artifacts.reading.chunks import (
    ContentChunks,
    nth_end,
    readable,
    size_of_text,
    text_of,
    whole_characters,
)
from gateway.artifacts.reading.part import MAX_BYTES, ContentPart, fitting
from gateway.artifacts.reading.selector import LineRange
from gateway.errors import InvalidRequest


async def read_lines(chunks: ContentChunks, selector: LineRange, most_tokens: int) -> ContentPart:
    """As many whole lines as fit, without CR at their ends. Of a first line that does not fit there is the
    beginning, and `next` goes on in it by bytes. Raises what `reader.read_part` does."""
    total = chunks.lines
    first, last = bounded(chunks, selector)
    if total == 0:
        return ContentPart("lines", "", 0, 0, 0)
    start = await chunks.line_start(first)
    data = whole_characters(await chunks.slice(start, start + MAX_BYTES + 4))
    if data.count(b"\n") > last - first:
        data = data[: nth_end(data, last - first + 1)]
    text = text_of(data)
    # What ends before the last line was wanted has more than MAX_BYTES, so it never fits whole.
    if (kept := fitting(readable(text), most_tokens)) == len(text):
        following = span(last + 1, min(total, 2 * last - first + 1)) if last < total else None
        return ContentPart("lines", _plain(text), first, last, total, following)
    text = text[:kept]
    if ends := text.count("\n"):
        shown = text[: text.rindex("\n")]
        return ContentPart("lines", _plain(shown), first, first + ends - 1, total, span(first + ends, last))
    end, there = await chunks.next_line(start), size_of_text(text)
    remark = f"Line {first:,} has {end - start:,} bytes; these are the first {there:,} of them."
    return ContentPart(
        "lines", readable(text), first, first, total, f"bytes={start + there}-{end - 1}", remark
    )


def bounded(chunks: ContentChunks, selector: LineRange) -> tuple[int, int]:
    """The first and last of these lines that are there. Raises errors.InvalidRequest (bad_range): none is."""
    total = chunks.lines
    if selector.first > max(total, 1):
        raise InvalidRequest(
            f"{chunks.row.ref} has {total:,} lines, there is no line {selector.first:,}: "
            f"write {span(max(1, total - 49), total)}."
            if total
            else f"{chunks.row.ref} is empty, it has no lines.",
            code="bad_range",
            details={"lines": total},
        )
    return selector.first, total if selector.last is None else min(selector.last, total)


def span(first: int, last: int) -> str:
    """How these lines are asked for."""
    return f"lines={first}-{last}" if first < last else f"lines={first}"


def _plain(text: str) -> str:
    """Without the end of the last line, and without CR at line ends."""
    return readable(text).replace("\r\n", "\n").removesuffix("\n").removesuffix("\r")
