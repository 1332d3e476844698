"""Passages of a long text: the units that are indexed, and shown where the whole would be too long. Pure."""

import re
from collections.abc import Iterator, Sequence

from gateway.lexical import estimate_tokens
from gateway.storage.memories import Passage

WHOLE_TOKENS = 450
"""A text of at most so many tokens (estimated) is shown whole and has no passages."""
PASSAGE_TOKENS = 300
"""The most of one passage."""
MIN_TOKENS = 100
"""A passage below it goes on over the next heading."""
MAX_HEADING = 80
"""Characters of one heading."""

_PARAGRAPH = re.compile(r"\S.*?(?=\n[ \t]*\n|\n#{1,6}[ \t]|\Z)", re.DOTALL)
_LINE = re.compile(r"[^\n]+")
_SENTENCE = re.compile(r".+?(?:[。！？；!?]+[”’」』）)]*|\.(?=\s)|\n|\Z)", re.DOTALL)
_WORDS = re.compile(r".{1,120}(?:\s|\Z)|.{1,120}", re.DOTALL)
_MARKDOWN = re.compile(r"(#{1,6})[ \t]+(.*?)[ \t#]*\Z")
# 第三章 …, 第二节 …, 一、…: headings of Chinese texts, where nothing ends a sentence.
_NUMBERED = re.compile(
    r"(?:第[一二三四五六七八九十百零0-9]+([编編章篇部])|第[一二三四五六七八九十百零0-9]+[节節]|"
    r"([一二三四五六七八九十]+、)).{0,40}\Z"
)
_FENCE = re.compile(r"^ {0,3}(?:```|~~~)", re.MULTILINE)
_ENDS = "。！？；，.!?;,:："


def passages(text: str) -> Sequence[Passage]:
    """The passages of a text in their order, none of a short one. All of it but blanks is in them: each ends
    with a paragraph, or with a line or a sentence where a paragraph is too long."""
    if len(text) <= WHOLE_TOKENS // 2 or estimate_tokens(text) <= WHOLE_TOKENS:
        return ()
    parts = _joined(text)
    return [Passage(number, len(parts), *part) for number, part in enumerate(parts, 1)]


Span = tuple[int, int]


def _joined(text: str) -> list[tuple[int, int, tuple[str, ...]]]:
    """Begin and end of each passage, and the headings above it."""
    found: list[tuple[int, int, tuple[str, ...]]] = []
    above: dict[int, str] = {}
    begin, end, tokens, headings = 0, 0, 0, ()
    has_text = in_code = False
    for piece_begin, piece_end in _pieces(text, (0, len(text)), (_PARAGRAPH, _LINE, _SENTENCE, _WORDS)):
        piece = text[piece_begin:piece_end]
        cost = estimate_tokens(piece) + 1
        level, heading = (0, "") if in_code else _heading(piece)
        in_code ^= len(_FENCE.findall(piece)) % 2 == 1
        is_full = tokens + cost > PASSAGE_TOKENS or (level and tokens >= MIN_TOKENS)
        if is_full and (has_text or tokens >= MIN_TOKENS):
            found.append((begin, end, headings))
            tokens, has_text = 0, False
        if level:
            above = {each: title for each, title in above.items() if each < level} | {level: heading}
        if not has_text:
            headings = tuple(above.values())
        begin, end, tokens = begin if tokens else piece_begin, piece_end, tokens + cost
        has_text |= not level or "\n" in piece
    if found and not has_text:  # headings alone answer nothing
        begin, _, headings = found.pop()
    return [*found, (begin, end, headings)] if end else []


def _pieces(text: str, span: Span, ways: Sequence[re.Pattern[str]]) -> Iterator[Span]:
    """Parts of at most PASSAGE_TOKENS; what is longer is divided in the next of `ways`."""
    way, *finer = ways
    for found in way.finditer(text, *span):
        start = found.start() + len(found[0]) - len(found[0].lstrip())
        end = start + len(found[0].strip())
        if end <= start:
            continue
        if finer and (
            end - start > PASSAGE_TOKENS // 2 and estimate_tokens(text[start:end]) > PASSAGE_TOKENS
        ):
            yield from _pieces(text, (start, end), finer)
        else:
            yield start, end


def _heading(piece: str) -> tuple[int, str]:
    """The level and the words of a heading with which a piece begins; level 0: it has none."""
    line = piece.partition("\n")[0].strip()
    if found := _MARKDOWN.match(line):
        return len(found[1]), found[2][:MAX_HEADING]
    if (found := _NUMBERED.match(line)) and line[-1] not in _ENDS:
        return (3 if found[2] else 1 if found[1] else 2), line[:MAX_HEADING]
    return 0, ""
