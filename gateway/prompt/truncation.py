"""Cutting a component to a number of tokens, at a place where it reads well, with a mark that shows it."""

import re
import unicodedata
from bisect import bisect_left, bisect_right

from gateway.lexical import estimate_tokens

MARKER_TOKENS = 30
"""Tokens that the marker may take beside the text that stays."""
_ROUNDING = 2  # one character may cost so many tokens

_JOINS = {"\u200c", "\u200d", *map(chr, range(0xFE00, 0xFE10)), *map(chr, range(0x1F3FB, 0x1F400))}
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
_MAX_CLUSTER_LENGTH = 32  # code points looked back over for the start of a character


def smallest(tokens: int, min_tokens: int) -> int:
    """The fewest tokens to which a text of `tokens` can be cut when `min_tokens` of it must stay."""
    return min(tokens, min_tokens + MARKER_TOKENS + _ROUNDING)


def cut(text: str, limit: int, min_tokens: int = 0) -> str:
    """`text` in at most `limit` tokens, the visible marker included, keeping at least `min_tokens` of it.

    `limit` must be at least `smallest(...)`. Cuts at the end of a paragraph if that keeps half of what fits,
    else at the end of a line on the same condition, else between two characters as a reader sees them (or, in
    an endless cluster of combining marks, between code points).
    """
    total = estimate_tokens(text)
    if total <= limit:
        return text
    most = _longest(text, limit - MARKER_TOKENS)
    least = _shortest(text, min_tokens)
    kept = text[: _place(text, max(least, most // 2), least, most)]
    marker = f"[... truncated: {estimate_tokens(kept)} of {total} tokens shown ...]"
    return f"{kept}\n\n{marker}" if kept else marker


def _place(text: str, half: int, least: int, most: int) -> int:
    for boundary in (r"\n[ \t]*\n", r"\n"):
        last = max((match.start() for match in re.finditer(boundary, text[: most + 1])), default=0)
        if last > 0 and half <= last <= most:
            return last
    for place in range(most, max(least, most - _MAX_CLUSTER_LENGTH) - 1, -1):
        if not _inside_character(text, place):
            return place
    return most


def _inside_character(text: str, place: int) -> bool:
    if not 0 < place < len(text):
        return False
    before, after = text[place - 1], text[place]
    if after in _FLAG_LETTERS:  # a flag is two of them
        earlier = text[:place]
        return (len(earlier) - len(earlier.rstrip(_FLAG_LETTERS))) % 2 == 1
    return before == "\u200d" or after in _JOINS or unicodedata.combining(after) > 0


def _longest(text: str, budget: int) -> int:
    """The length of the longest beginning of at most `budget` tokens."""
    return bisect_right(_lengths(text, budget), budget, key=lambda length: estimate_tokens(text[:length])) - 1


def _shortest(text: str, tokens: int) -> int:
    """The length of the shortest beginning of at least `tokens` tokens."""
    return bisect_left(_lengths(text, tokens), tokens, key=lambda length: estimate_tokens(text[:length]))


def _lengths(text: str, tokens: int) -> range:
    """The lengths among which the one for `tokens` is: no 4 characters cost less than a token."""
    return range(min(len(text), 4 * tokens + 4) + 1)
