"""The memories that a request tells of: in its system prompt, beside the user's own words, and in the results
of the tool that keeps them.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

MOST = 1000
"""Memories of one request that are looked at."""

_WRAPPED = re.compile(r"^<(long_term_memory|retrieved_context)>\n.*?^</\1>$", re.DOTALL | re.MULTILINE)
_LINE = re.compile(r"^\[([\w-]{1,64})\] ([a-z_]{1,40})(?:, importance [1-5])?: (\S.*)$", re.MULTILINE)


class Remembered(NamedTuple):
    """A memory as it is told on one line."""

    id: str
    type: str
    text: str


def is_wrapped(text: str) -> bool:
    """Whether a block of text holds memories, and is nobody's words."""
    found = _WRAPPED.match(text)
    return found is not None and not text[found.end() :].strip()


def wrapped_in(texts: Iterable[str]) -> list[Remembered]:
    """The memories that the gateway wrapped in one of `texts`; of one that stands there twice the last."""
    blocks = [block[0] for text in texts for block in _WRAPPED.finditer(text)]
    return list({each.id: each for block in blocks for each in lines(block)}.values())[:MOST]


def lines(text: str) -> list[Remembered]:
    """The memories in a text that has each on a line of its own."""
    return [Remembered(*line.groups()) for line in _LINE.finditer(text)]
