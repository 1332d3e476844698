"""Quotes found in messages although models write them with other signs: width, case, script (simplified or
traditional), typographic quotation marks, commas, dashes and white space make no difference. Pure."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from gateway.lexical import plain_form

MAX_ELIDED = 600
"""Characters of the text that a quote with "…" in it may span."""

_CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
# A number with what stands inside it, a word, a CJK character, or a sign with a meaning ($ % + & 👍).
_TOKEN = re.compile(
    rf"\d+(?:[.,:/-]\d+)*|[^\W\d_{_CJK}]+(?:'[^\W\d_{_CJK}]+)*|[{_CJK}]"
    rf"|(?<=\w)#|[^\w\s!\"#'()*,.:;<>?\[\]`{{|}}~_\u2010-\u203a\u3001-\u301f-]"
)
_ELISION = re.compile(r"\s*[\[(（]?(?:\.{3,}|…+)[\])）]?\s*")
_SIGNS = str.maketrans("‘’‚′‐‑‒–—−、。", "''''------,.")
_END = "\x1f"


class QuoteToken(NamedTuple):
    """A word, a number, a CJK character or a sign as it is compared, from `start` to `end` of its text."""

    text: str
    start: int
    end: int


def locate(quote: str, text: str) -> tuple[int, int] | None:
    """Where `text` has the words of `quote`: the characters from and to which it does, without signs around
    them. A quote may leave something out with "…"; then it is all of that place. None: nowhere."""
    parts = [each for part in _ELISION.split(quote) if (each := [unit.text for unit in quote_tokens(part)])]
    if not parts:
        return None
    there = quote_tokens(text)
    begin: int | None = None
    after = 0
    for part in parts:
        found = _find(part, there, after)
        if found is None:
            return None
        begin, after = found if begin is None else begin, found + len(part)
    span = there[begin or 0].start, there[after - 1].end
    return None if len(parts) > 1 and span[1] - span[0] > MAX_ELIDED else span


def quote_tokens(text: str) -> Sequence[QuoteToken]:
    """The text as it is compared."""
    folded: list[str] = []
    places: list[int] = []
    for place, sign in enumerate(text):
        if written := _folded(sign):
            folded.append(written)
            places += [place] * len(written)
    written = "".join(folded)
    return [
        QuoteToken(_spelled(each[0]), places[each.start()], places[each.end() - 1] + 1)
        for each in _TOKEN.finditer(written)
    ]


def _find(part: Sequence[str], there: Sequence[QuoteToken], after: int) -> int | None:
    """The first unit from which `there` is `part`, from the unit `after` on."""
    texts = [unit.text for unit in there[after:]]
    starts = list(accumulate((len(each) + 1 for each in texts), initial=0))
    found = (_END + _END.join([*texts, ""])).find(_END + _END.join([*part, ""]))
    return None if found < 0 else after + bisect_right(starts, found) - 1


@lru_cache(maxsize=20_000)
def _folded(sign: str) -> str:
    return (plain_form(sign) or sign).translate(_SIGNS)


def _spelled(unit: str) -> str:
    if unit[0].isdigit():
        return re.sub(r",(?=\d{3}(?!\d))", "", unit)
    return unit.replace("'", "")
