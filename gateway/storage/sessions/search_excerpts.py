"""Where the words of a search stand in a session: a part of a message of one turn, or its title."""

import re
from collections.abc import Iterator, Sequence
from itertools import groupby, takewhile
from typing import NamedTuple

from gateway.lexical import MAX_WORD, Sought, beginnings, places
from gateway.storage.sessions import MarkedText

LENGTH = 160
"""Characters of an excerpt: two lines of a list."""
BEFORE = 40
"""Characters before its first word, at most."""
MAX_LOOKED_AT = 50_000
"""Characters of a text in which the words are looked for by their first letters."""
PASSAGE = 1000
"""Characters from the first of the words on that are read as words: reading all of a long message would take
a second of a processor."""
MAX_READ = 8000
"""Characters of one session's texts that are read so, and of a text in which no word is found by its first
letters."""
MAX_PLACES = 500
"""Places of the words in one passage that are compared."""

# Marks of Markdown, which say nothing on one line: of headings, quotations, lists, tables, code, emphasis. A
# star between two letters or two blanks is a sign of its own.
_MARKS = re.compile(
    r"^ {0,3}(?:#{1,6} |> ?|[-*+] |(?:```|~~~).*$|[ :-]{3,}$)"
    r"|`+|\*\*|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])",
    re.MULTILINE,
)
_LINK = re.compile(r"!?\[([^\[\]\n]{1,200})\]\([^()\s]{0,2000}\)")

Hits = Sequence[tuple[int, int, int]]


class _Passage(NamedTuple):
    """A part of a text on one line, without marks; whether the text begins and ends with it."""

    line: str
    is_first: bool
    is_last: bool


def excerpt(texts: Sequence[str], words: Sequence[Sought]) -> list[MarkedText] | None:
    """The part of the texts in which most of `words` stand near each other, the first of several; None when
    none of them is there. On one line, with an ellipsis where it was cut. Of long texts only what surrounds
    the first of the words is read."""
    most, best = 0, None
    for passage in _passages(texts, words):
        hits = places(passage.line, words)[:MAX_PLACES]
        for index, hit in enumerate(hits):
            near = takewhile(lambda other: other[1] <= hit[0] + LENGTH - BEFORE, hits[index:])  # noqa: B023
            if (count := max(len({word for _, _, word in near}), 1)) > most:
                most, best = count, (passage, hits, hit)
        if most == len(words):
            break
    return _cut(*best) if best is not None else None


def has_all(texts: Sequence[str], words: Sequence[Sought]) -> bool:
    """Whether all of `words` are in what `excerpt` reads of the texts."""
    missing = set(range(len(words)))
    for passage in _passages(texts, words):
        missing.difference_update(word for _, _, word in places(passage.line, words))
        if not missing:
            return True
    return False


def marked(text: str, words: Sequence[Sought]) -> list[MarkedText] | None:
    """All of `text`; None when none of `words` is in it."""
    hits = places(text, words)
    return _marked_texts(text, 0, len(text), hits) if hits else None


def _passages(texts: Sequence[str], wanted: Sequence[Sought]) -> Iterator[_Passage]:
    left = MAX_READ
    for text in texts:
        end = 0
        if len(text) > 2 * PASSAGE:
            for first in beginnings(text[:MAX_LOOKED_AT], wanted):
                if first < end:
                    continue
                if left <= 0:
                    return
                begin = max(end, first - 2 * BEFORE)
                begin = (begin and text.find(" ", begin, first) + 1) or begin
                end = _end_of_word(text, first + PASSAGE)
                left -= end - begin
                yield _passage(text, begin, end)
        if end == 0 and left > 0:  # short; or in another script, or not at all
            end = _end_of_word(text, left)
            left -= end
            yield _passage(text, 0, end)


def _end_of_word(text: str, end: int) -> int:
    return min(end, len(text)) if (blank := text.find(" ", end, end + MAX_WORD)) < 0 else blank


def _passage(text: str, begin: int, end: int) -> _Passage:
    plain = _MARKS.sub("", text[begin:end].replace("|", " "))
    return _Passage(" ".join(_LINK.sub(r"\1", plain).split()), begin == 0, end >= len(text))


def _cut(passage: _Passage, hits: Hits, first: tuple[int, int, int]) -> list[MarkedText]:
    """The part of the passage around the first of its words."""
    line = passage.line
    start = max(first[0] - BEFORE, 0)
    if start and (blank := line.find(" ", start, first[0])) >= 0:
        start = blank + 1
    end = min(start + LENGTH, len(line))
    if end < len(line) and (blank := line.rfind(" ", max(first[1], end - BEFORE), end)) >= 0:
        end = blank
    before = [] if start == 0 and passage.is_first else [MarkedText("… ")]
    after = [] if end == len(line) and passage.is_last else [MarkedText(" …")]
    return [*before, *_marked_texts(line, start, end, hits), *after]


def _marked_texts(text: str, start: int, end: int, hits: Hits) -> list[MarkedText]:
    """What stands between the two places, with the hits marked."""
    is_hit = bytearray(end - start)
    for first, until, _ in hits:
        for at in range(max(first, start), min(until, end)):
            is_hit[at - start] = 1
    runs = groupby(range(start, end), key=lambda at: is_hit[at - start])
    return [MarkedText("".join(text[at] for at in run), hit=bool(hit)) for hit, run in runs]
