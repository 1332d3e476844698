"""The lines of a content, in stretches: one after another would take too long."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from gateway.artifacts.content import ArtifactContent, Measured

LOOKED_THROUGH = 4_194_304
"""Bytes whose lines are looked at: with a match in each line, half a second."""

_MAX_LINE = 1024  # bytes of a line that lies across two pieces


class Stretch(NamedTuple):
    """Whole lines: `data` from `start` to `end`, whose first one has that number."""

    number: int
    data: bytes
    start: int
    end: int


class LineMatch(NamedTuple):
    """What a pattern found, and the number of its line."""

    number: int
    match: re.Match[bytes]


def stretches(content: ArtifactContent) -> Iterator[Stretch]:
    """The lines of the first LOOKED_THROUGH bytes, in order. Of one that lies across pieces, only the
    beginning."""
    number, begun, left = 1, b"", LOOKED_THROUGH
    for piece in content.chunks():
        if not left:
            break
        chunk = piece[:left]
        left -= len(chunk)
        first = chunk.find(b"\n") + 1
        if not first:
            begun = (begun + chunk[:_MAX_LINE])[:_MAX_LINE]
            continue
        line = (begun + chunk[: first - 1])[:_MAX_LINE]
        yield Stretch(number, line, 0, len(line))
        last = chunk.rfind(b"\n") + 1
        if last > first:
            yield Stretch(number + 1, chunk, first, last)
        number += 1 + chunk.count(b"\n", first, last)
        begun = chunk[last : last + _MAX_LINE]
    if begun:
        yield Stretch(number, begun, 0, len(begun))


def scope(measured: Measured) -> str:
    """The words beside counts when there are more lines than were looked at."""
    return f" (counted in its first {LOOKED_THROUGH:,} bytes)" if measured.size > LOOKED_THROUGH else ""


def found(content: ArtifactContent, pattern: re.Pattern[bytes]) -> Iterator[LineMatch]:
    """What a pattern finds, which must begin with a line's beginning or match within one line."""
    for stretch in stretches(content):
        number, counted = stretch.number, stretch.start
        for match in pattern.finditer(stretch.data, stretch.start, stretch.end):
            number += stretch.data.count(b"\n", counted, match.start())
            counted = match.start()
            yield LineMatch(number, match)
