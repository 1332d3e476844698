"""The form of a text: its first and its last lines."""

import re

from gateway.artifacts.compact.base import MAX_TOKENS, Compact, counted, fitted, flat
from gateway.artifacts.content import ArtifactContent, Measured
from gateway.artifacts.kinds.tables import head_text
from gateway.lexical import is_cjk

_LINE = 40  # tokens of one line
_FIRST, _LAST = 8, 5
_WORD = re.compile(r"[^\W\d_]{2,16}")
_CHINESE = 4  # characters that are a word


def text_form(_content: ArtifactContent, measured: Measured, title: str | None = None) -> Compact:
    """`title` is the first line, in place of one that names it a text."""
    title = title or f"Text, {counted(measured.lines or 0, 'line')}"
    lines = [title, *ends(measured, MAX_TOKENS - 40)]
    word = word_of(head_text(measured)[:2000])
    return Compact("\n".join(lines), {"search": word} if word else {})


def ends(measured: Measured, tokens: int) -> list[str]:
    """The first and the last lines, each with its number; of one long line, its beginning and its end."""
    total = measured.lines or 0
    head = head_text(measured).split("\n")[: min(_FIRST, total)]
    first = fitted((f"{number}: {flat(line, _LINE)}" for number, line in enumerate(head, 1)), tokens * 3 // 5)
    shown = len(first)
    tail = measured.tail.decode("utf-8", "ignore").removesuffix("\n").split("\n")
    last: list[str] = []
    for back, line in enumerate(reversed(tail[-_LAST:])):
        number = total - back
        whole = measured.size <= len(measured.tail) or back < len(tail) - 1
        if number > shown:
            last.append(f"{number}: {flat(line, _LINE) if whole else _end(line)}")
        elif number == shown and not whole:
            last.append(f"{number}, its end: {_end(line)}")
    last = fitted(last, tokens * 2 // 5)[::-1]
    return [*first, "…", *last] if shown + len(last) < total and last else [*first, *last]


def word_of(text: str) -> str | None:
    """A word that is worth a search: the longest of `text`, the first of those."""
    longest = max(_WORD.findall(text), key=len, default=None)
    return longest[:_CHINESE] if longest and is_cjk(longest) else longest


def _end(line: str) -> str:
    return f"…{flat(line[-_LINE:], _LINE)}"
