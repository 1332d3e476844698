"""Where the words of a search stand in a session: a part of a message of one turn, or its title."""

import re
from collections.abc import Sequence
from itertools import groupby, takewhile

from gateway.lexical import places
from gateway.storage.sessions import MarkedText

LENGTH = 160
"""Characters of an excerpt: two lines of a list."""
BEFORE = 40
"""Characters before its first word, at most."""
MAX_LOOKED_AT = 50_000
"""Characters of a text in which the words are looked for."""
MAX_PLACES = 500
"""Places of the words in one text that are compared."""

# Marks of Markdown, which say nothing on one line: of headings, quotations, lists, tables, code, emphasis. A
# star between two letters or two blanks is a sign of its own.
_MARKS = re.compile(
    r"^ {0,3}(?:#{1,6} |> ?|[-*+] |(?:```|~~~).*$|[ :-]{3,}$)"
    r"|`+|\*\*|(?<![\w*])\*(?=\S)|(?<=\S)\*(?![\w*])",
    re.MULTILINE,
)
_LINK = re.compile(r"!?\[([^\[\]\n]{1,200})\]\([^()\s]{0,2000}\)")

Hits = Sequence[tuple[int, int, str]]


def excerpt(texts: Sequence[str], words: Sequence[str]) -> list[MarkedText] | None:
    """The part of the texts in which most of `words` stand near each other, the first of several; None when
    none of them is there. On one line, with an ellipsis where it was cut."""
    wanted = frozenset(words)
    most, best = 0, None
    for text in texts:
        plain = _MARKS.sub("", text[:MAX_LOOKED_AT].replace("|", " "))
        line = " ".join(_LINK.sub(r"\1", plain).split())
        hits = places(line, wanted)[:MAX_PLACES]
        for index, hit in enumerate(hits):
            near = takewhile(lambda other: other[1] <= hit[0] + LENGTH - BEFORE, hits[index:])  # noqa: B023
            if (count := max(len({word for _, _, word in near}), 1)) > most:
                most, best = count, (line, hits, hit)
        if most == len(wanted):
            break
    return _cut(*best) if best is not None else None


def marked(text: str, words: Sequence[str]) -> list[MarkedText] | None:
    """All of `text`; None when none of `words` is in it."""
    hits = places(text, frozenset(words))
    return _marked_texts(text, 0, len(text), hits) if hits else None


def _cut(line: str, hits: Hits, first: tuple[int, int, str]) -> list[MarkedText]:
    """The part of the line around the first of its words."""
    start = max(first[0] - BEFORE, 0)
    if start and (blank := line.find(" ", start, first[0])) >= 0:
        start = blank + 1
    end = min(start + LENGTH, len(line))
    if end < len(line) and (blank := line.rfind(" ", max(first[1], end - BEFORE), end)) >= 0:
        end = blank
    before = [MarkedText("… ")] if start else []
    after = [MarkedText(" …")] if end < len(line) else []
    return [*before, *_marked_texts(line, start, end, hits), *after]


def _marked_texts(text: str, start: int, end: int, hits: Hits) -> list[MarkedText]:
    """What stands between the two places, with the hits marked."""
    is_hit = bytearray(end - start)
    for first, until, _ in hits:
        for at in range(max(first, start), min(until, end)):
            is_hit[at - start] = 1
    runs = groupby(range(start, end), key=lambda at: is_hit[at - start])
    return [MarkedText("".join(text[at] for at in run), hit=bool(hit)) for hit, run in runs]
