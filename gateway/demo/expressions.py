"""Finds arithmetic in a question, written with signs or in English or Chinese words."""

import ast
import re
import unicodedata

MAX_EXPRESSIONS = 4
MAX_EXPRESSION = 200
"""Characters of one expression."""
_SIGNS = str.maketrans({"×": "*", "✕": "*", "·": "*", "÷": "/", "−": "-", "–": "-"})
_BEFORE, _AFTER = r"(?<=[\d)])\s*(?:", r")\s*(?=[\d(\-])"
_WORDS = [
    (re.compile(f"{_BEFORE}{words}{_AFTER}", re.IGNORECASE), sign)
    for words, sign in (
        ("乘以|乘上|乘|times|multiplied by|x", "*"),
        ("除以|除|divided by|over", "/"),
        ("加上|加|plus", "+"),
        ("减去|減去|减|減|minus", "-"),
        ("to the power of", "**"),
    )
]
_POWER = re.compile(r"(?<!\d)(\d++(?:\.\d++)?)\s*的\s*(\d+)\s*次方")
_DATE = re.compile(r"\b\d{4}-\d{1,2}(?:-\d{1,2})?\b|\b\d+(?:\.\d+){2,}\b")
_HIDDEN = {ord("-"): 0xE000, ord("."): 0xE001}
"""Keeps the signs of dates and versions apart from those of arithmetic."""
_CANDIDATE = re.compile(r"[-+]?[\d(][\d\s.()+\-*/%^]*[\d)]")
_OPERATION = re.compile(r"[\d)]\s*(?:\*\*|//|[-+*/%^])\s*[-+(]*\s*\d")


def take(text: str) -> tuple[list[str], str]:
    """The arithmetic expressions in `text`, in Python's signs and without blanks, and the text without
    them."""
    plain = unicodedata.normalize("NFKC", text).translate(_SIGNS)
    plain = _DATE.sub(lambda date: date[0].translate(_HIDDEN), plain)
    plain = _POWER.sub(r"\1**\2", plain)
    for words, sign in _WORDS:
        plain = words.sub(sign, plain)
    found: list[str] = []

    def keep(match: re.Match[str]) -> str:
        if len(match[0]) > MAX_EXPRESSION or len(found) == MAX_EXPRESSIONS:
            return match[0]
        written = "".join(match[0].split()).replace("^", "**")
        if not _OPERATION.search(match[0]) or not _is_expression(written):
            return match[0]
        if written not in found:
            found.append(written)
        return " "

    rest = _CANDIDATE.sub(keep, plain)
    return found, rest.translate({hidden: sign for sign, hidden in _HIDDEN.items()})


def _is_expression(written: str) -> bool:
    try:
        ast.parse(written, mode="eval")
    except (SyntaxError, RecursionError, MemoryError, ValueError):
        return False
    return True
