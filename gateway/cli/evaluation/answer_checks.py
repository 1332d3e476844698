"""Checks of a turn: the memories that the model was given, and its answer, in any spelling, script and
typography.
"""

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from gateway.cli.evaluation.conversations import Language, ScriptedMessage
from gateway.lexical import is_cjk, plain_form

Kind = Literal["recalled", "answered", "not_said"]
KINDS: tuple[Kind, ...] = ("recalled", "answered", "not_said")

CHINESE_SHARE = 0.2
"""Of the letters of an answer in Chinese, which may name things in English."""
_MARKUP = re.compile(r"[*_`]")
_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")


class CheckResult(NamedTuple):
    """`wanted` says of what, in the words of the file."""

    kind: Kind
    wanted: str
    passed: bool


def check(message: ScriptedMessage, given: Iterable[str], answer: str) -> list[CheckResult]:
    """The checks of a message that got this answer from a model which was `given` these memories."""
    known, text = _plain("\n".join(given)), _plain(answer)
    checks = [CheckResult("recalled", " / ".join(each), _has(known, each)) for each in message.recalled]
    checks += [CheckResult("answered", " / ".join(each), _has(text, each)) for each in message.answered]
    if message.language is not None:
        answered = language_of(answer) == message.language
        checks.append(CheckResult("answered", f"in {message.language}", answered))
    return checks + [CheckResult("not_said", each, not _has(text, (each,))) for each in message.not_said]


def missed(message: ScriptedMessage) -> list[CheckResult]:
    """The checks of a message that got no answer: none is passed."""
    return [each._replace(passed=False) for each in check(message, (), "")]


def language_of(text: str) -> Language | None:
    """English, or Chinese in the script of most of its characters that are not the same in both. None: it has
    no letters, or only such as both scripts share."""
    letters = [letter for letter in text if letter.isalpha()]
    chinese = "".join(filter(is_cjk, letters))
    if not chinese or len(chinese) < CHINESE_SHARE * len(letters):
        return "english" if letters else None
    traditional, simplified = (_changed(chinese, to) for to in ("t2s", "s2t"))
    if traditional == simplified:
        return None
    return "traditional" if traditional > simplified else "simplified"


def _plain(text: str) -> str:
    """As it is compared: without emphasis, with plain quotation marks and digits in a row."""
    text = _MARKUP.sub("", unicodedata.normalize("NFKC", text)).replace("’", "'")
    return _GROUPED.sub("", plain_form(text))


def _has(text: str, alternatives: Iterable[str]) -> bool:
    """Whether one of the alternatives is in a plain text. A word may go on (peanut, peanuts) but not begin
    inside another one, and a number is no part of another one."""
    for each in map(_plain, alternatives):
        before = r"(?<![a-z0-9])(?<!\d[.,])" if each[:1].isascii() and each[:1].isalnum() else ""
        after = r"(?![.,]?\d)" if each[-1:].isascii() and each[-1:].isdigit() else ""
        if re.search(f"{before}{re.escape(each)}{after}", text):
            return True
    return False


def _changed(text: str, to: str) -> int:
    return sum(before != after for before, after in zip(text, _converter(to).convert(text), strict=False))


@lru_cache(maxsize=2)
def _converter(to: str) -> Any:
    import opencc  # reads its dictionaries, for Chinese answers only

    return opencc.OpenCC(to)
