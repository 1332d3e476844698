"""The form of Markdown: its headings."""

import re

from gateway.artifacts.compact.base import MAX_TOKENS, Compact, counted, flat, listed
from gateway.artifacts.compact.line_stretches import found, scope
from gateway.artifacts.compact.text import text_form, word_of
from gateway.artifacts.content import ArtifactContent, Measured

_HEADING = re.compile(rb"^ {0,3}(?:(#{1,6})[ \t]+([^\n]{1,400})|(?:```|~~~))", re.MULTILINE)
_MAX_HEADINGS = 60  # headings that are kept
_TOKENS = 24  # of a heading


def markdown_form(content: ArtifactContent, measured: Measured) -> Compact:
    """The outline, as deep as it fits; without headings the form of text."""
    headings: list[tuple[int, int, str]] = []
    count, fenced = 0, False
    for number, match in found(content, _HEADING):
        if not match[1]:
            fenced = not fenced
        elif not fenced:
            count += 1
            if len(headings) < _MAX_HEADINGS:
                text = match[2].decode("utf-8", "ignore").strip().rstrip("#")
                headings.append((len(match[1]), number, flat(text, _TOKENS)))
    size = counted(measured.lines or 0, "line")
    if not headings:
        return text_form(content, measured, f"Markdown, {size} without headings")
    lines = [f"{number}: {'#' * level} {text}" for level, number, text in headings]
    outline = listed(lines, count, "headings", MAX_TOKENS - 40)
    word = word_of(headings[-1][2])
    title = f"Markdown, {size}, {counted(count, 'heading')}{scope(measured)}"
    return Compact("\n".join([title, *outline]), {"search": word} if word else {})
