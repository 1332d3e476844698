"""Lines with a word in them, with those around them, as `grep -n -i -F -C 5` prints them."""

import asyncio
import codecs
from dataclasses import dataclass
from itertools import count, pairwise

from gateway.artifacts.reading.chunks import ContentChunks, size_of_text
from gateway.artifacts.reading.line_range import bounded, span
from gateway.artifacts.reading.part import ContentPart, fits
from gateway.artifacts.reading.selector import LineSearch

AROUND = 5
"""Lines that are shown before and after one with a match."""
WIDTH = 200
"""Characters that are shown of a longer line: around the match, or its first ones."""
MAX_COUNTED = 10_000
"""Matching lines that are counted; then the search ends."""

_MAX_FOUND = 500  # matching lines that may be shown
_STEP = 262_144  # bytes looked through at a time: a text of them takes four times as many


def folded(text: str) -> str:
    """`text` as it is compared, without capitals, and of the same length: no place in it moves."""
    return text.replace("İ", "i").lower().replace("ς", "σ")


@dataclass(frozen=True, slots=True)
class _Match:
    """The first match in a line: the line's number and the byte where the match begins."""

    line: int
    at: int


@dataclass(frozen=True, slots=True)
class _Row:
    """A line as it is shown."""

    line: int
    text: str
    matches: bool


async def read_matches(chunks: ContentChunks, selector: LineSearch, most_tokens: int) -> ContentPart:
    """Goes through the lines in bounded memory. `next` is the line where the same search continues. Raises
    what `reader.read_part` does."""
    first, last = bounded(chunks, selector.lines)
    scan = await _scanned(chunks, selector.word, first, last)
    if not scan.found:
        remark = "No line that was looked at has this text. It is taken as it is, not as a pattern."
        return ContentPart("search", "", 0, 0, 0, None, remark)
    rows: list[_Row] = []
    shown, following = 0, None
    ends = [each.line for each in scan.found[1:]] + [last + 1]
    for match, end in zip(scan.found, ends, strict=False):
        await asyncio.sleep(0)  # what is read lies in memory mostly, and others wait meanwhile
        seen = rows[-1].line if rows else first - 1
        around = await _around(
            chunks,
            match,
            len(selector.word),
            max(match.line - AROUND, seen + 1),
            min(match.line + AROUND, end - 1),
        )
        up_to_match = [row for row in around if row.line <= match.line]
        if not _fit(rows, up_to_match, most_tokens) and not _fit(rows, up_to_match[-1:], most_tokens):
            following = match.line
            break
        shown += 1
        for row in around[len(up_to_match) :]:
            if not _fit(rows, [row], most_tokens):
                break
    else:
        if scan.counted > shown:
            following = scan.following
    return ContentPart(
        "search",
        _text(rows),
        min(shown, 1),
        shown,
        min(scan.counted, MAX_COUNTED),
        None
        if following is None
        else f"lines={following}-"
        if selector.lines.last is None
        else span(following, last),
        at_least=scan.counted > MAX_COUNTED,
    )


async def _scanned(chunks: ContentChunks, word: str, first: int, last: int) -> "_Scan":
    start, end = await chunks.line_start(first), await chunks.line_start(last + 1)
    scan = _Scan(word, first, start)
    async for piece in chunks.store.stream(chunks.row, start, end):
        await asyncio.to_thread(scan.take, piece)
        if scan.counted > MAX_COUNTED:
            break
    return scan


class _Scan:
    """Looks for a word in pieces of a content, of which the first begins with the line `line` at the byte
    `at`. `following` is the first matching line that is not among those `found`."""

    def __init__(self, word: str, line: int, at: int) -> None:
        self.found: list[_Match] = []
        self.following: int | None = None
        self.counted = 0
        self._word = folded(word)
        self._line, self._at = line, at
        self._rest = ""
        self._has_matched = False  # the line at the beginning of the rest
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")

    def take(self, piece: bytes) -> None:
        for start in range(0, len(piece), _STEP):
            self._take(self._rest + self._decoder.decode(piece[start : start + _STEP]))

    def _take(self, text: str) -> None:
        among = folded(text)
        place = 0
        while self.counted <= MAX_COUNTED:
            if self._has_matched:
                end = among.find("\n", place)
                if end < 0:
                    place = self._pass(text, place, len(text))
                    break
                place = self._pass(text, place, end + 1)
                self._has_matched = False
            hit = among.find(self._word, place)
            if hit < 0:
                place = self._pass(text, place, max(place, len(text) - len(self._word) + 1))
                break
            place = self._pass(text, place, hit)
            self._has_matched = True
            self._note()
        self._rest = text[place:]

    def _pass(self, text: str, place: int, to: int) -> int:
        self._line += text.count("\n", place, to)
        self._at += size_of_text(text[place:to])
        return to

    def _note(self) -> None:
        self.counted += 1
        if len(self.found) < _MAX_FOUND:
            self.found.append(_Match(self._line, self._at))
        elif self.following is None:
            self.following = self._line


async def _around(chunks: ContentChunks, match: _Match, length: int, first: int, last: int) -> list[_Row]:
    """The lines from `first` to `last`, which have that match among them; `length` is the word's."""
    starts = [await chunks.line_start(first)]
    while len(starts) < last - first + 2:
        starts.append(await chunks.next_line(starts[-1]))
    rows: list[_Row] = []
    for line, (start, end) in zip(count(first), pairwise(starts), strict=False):
        if line == match.line:
            rows.append(_Row(line, await _window(chunks, start, end, match.at, length), matches=True))
        else:
            rows.append(_Row(line, await _window(chunks, start, end, start, 0), matches=False))
    return rows


async def _window(chunks: ContentChunks, start: int, end: int, at: int, length: int) -> str:
    """The line from `start` to `end`; of a long one, WIDTH characters around the `length` ones at `at`."""
    # A character has at most four bytes; one that is cut at an end is left out.
    before = (await chunks.slice(max(start, at - 4 * WIDTH), at)).decode("utf-8", "ignore")
    data = await chunks.slice(at, min(end, at + 4 * (WIDTH + 3)))
    after = data.decode("utf-8", "ignore").removesuffix("\n").removesuffix("\r")
    left = max(0, len(before) - max((WIDTH - length) // 2, WIDTH - len(after)))
    shown = (before[left:] + after)[:WIDTH]
    is_cut_before = left > 0 or start < at - 4 * WIDTH
    is_cut_after = len(before) - left + len(after) > WIDTH
    return "…" * is_cut_before + shown + "…" * is_cut_after


def _fit(rows: list[_Row], more: list[_Row], most_tokens: int) -> bool:
    """Adds them if they fit all."""
    if not fits(_text([*rows, *more]), most_tokens):
        return False
    rows += more
    return True


def _text(rows: list[_Row]) -> str:
    shown: list[str] = []
    for index, row in enumerate(rows):
        if index and row.line > rows[index - 1].line + 1:
            shown.append("--")
        shown.append(f"{row.line}{':' if row.matches else '-'}{row.text}")
    return "\n".join(shown)
