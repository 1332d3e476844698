"""A part of an artifact as it is read: bounded, with what there is in all and how to go on."""

from bisect import bisect_right
from dataclasses import dataclass
from typing import Literal

import orjson

from gateway.lexical import estimate_tokens

MAX_TOKENS = 4000
"""Tokens, estimated, of a part's text."""
MIN_TOKENS = 500
"""A part may be asked to be shorter, but not than this: so one line that a search found fits always."""
MAX_BYTES = 24_000
"""Bytes of UTF-8 of a part's text; its JSON takes at most twice as many."""

How = Literal["lines", "bytes", "json_path", "search"]


@dataclass(frozen=True, slots=True)
class ContentPart:
    """What was read. `first` to `last` of `total` are lines, bytes (from 0), values that a JSON path selects,
    or lines that a search found; 0, 0 and 0 where there was nothing. `at_least`: there are more than `total`,
    which were not counted. `next` is the argument that goes on where this ends, such as `lines=51-100` (with
    a search: beside the same search); None at the end. `remark` is what else there is to know of how it is
    shown."""

    how: How
    text: str
    first: int
    last: int
    total: int
    next: str | None = None
    remark: str | None = None
    at_least: bool = False

    @property
    def shown(self) -> str:
        """What it is in words: `Lines 1-50 of 52,301.`"""
        names = {"lines": "Line", "bytes": "Byte", "json_path": "Value", "search": "Matching line"}
        if self.total == 0:
            return "There is nothing in it." if self.how in {"lines", "bytes"} else "Nothing was found."
        more = "more than " if self.at_least else ""
        if self.first == self.last:
            return f"{names[self.how]} {self.first:,} of {more}{self.total:,}."
        return f"{names[self.how]}s {self.first:,}-{self.last:,} of {more}{self.total:,}."


def fits(text: str, most_tokens: int) -> bool:
    """Whether a part's text may be that. Each `<` counts as it is written where it would forge one of our
    tags (tools/wrapping.py), so that what fits does so wrapped, too."""
    written = text.replace("<", "&lt;").replace("＜", "&lt;")
    return (
        len(text) <= MAX_BYTES
        and len(written.encode()) <= MAX_BYTES
        and len(orjson.dumps(written)) <= 2 * MAX_BYTES
        and estimate_tokens(written) <= most_tokens
    )


def fitting(text: str, most_tokens: int) -> int:
    """How many characters from the beginning of `text` fit."""
    if fits(text, most_tokens):
        return len(text)
    return bisect_right(
        range(1, min(len(text), MAX_BYTES) + 1), 0, key=lambda end: not fits(text[:end], most_tokens)
    )
