"""Normalization of a text for comparison: speakers, contractions, number words and days in one spelling."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from gateway.lexical import is_cjk, plain_form, tokens

NEGATIONS = frozenset({"not", "never", "no", "without", "neither", "nor", *"不没未别勿无"})

_CJK = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_UNIT = re.compile(
    rf"[{_CJK}]"  # a CJK character
    r"|(?:(?<![\w.])-)?\d+(?:[.,:/-]\d+)*"  # a number, a time, a date
    rf"|[^\W\d_{_CJK}](?:[._/@:-]?[^\W{_CJK}])*[+#]*"
    r"|[^\w\s.,;:!?'\"()\[\]{}。、「」…“”‘’-]"  # a sign with a meaning: $ % > 👍
)
_NAME = re.compile(
    rf"[A-Za-z_]*[A-Z\d_](?:[.+#-]|[^\W{_CJK}])*|[a-z](?:-|[^\W{_CJK}])*[._/@](?:[./@-]|[^\W{_CJK}])+"
)
_FILLERS = re.compile("非常|特别|十分|比较|目前|现在|[很挺的地得了也都]")
_FILLER_WORDS = frozenset(("a", "an", "the", "really", "very", "quite", "just", "also", "currently", "now"))
_SPELLINGS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), written)
    for pattern, written in (
        ("’", "'"),
        (r"\b(?:can't|cannot)\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"n't\b", " not"),
        (r"\b(?:no longer|not any ?more)\b", "not"),
        (r"'m\b", " am"),
        (r"'re\b", " are"),
        (r"'ve\b", " have"),
        (r"\b(it|he|she|that|there)'s\b", r"\1 is"),
        (r"^(?:the )?user's\b", "my"),
        (r"^(?:the )?user\b", "i"),
        (r"\bdo(?:es)? not (?:like|enjoy)s?\b|\b(?:dislike|hate)s?\b", "not like"),
        (r"\b(?:love|enjoy)s?\b", "like"),
        (r"\bdo(?:es)? not\b", "not"),
        (r"\bfavourite\b", "favorite"),
        (r"\bcolour", "color"),
        (r"\bon ((?:mon|tues|wednes|thurs|fri|satur|sun)day)s\b", r"every \1"),
        ("^(?:用户|使用者|本人)(?!名|们)", "我"),
        ("讨厌|厌恶|反感", "不喜欢"),
        ("喜爱|热爱", "喜欢"),
        ("不再", "不"),
        ("星期|礼拜", "周"),
        ("周[天日]", "周7"),
        (r"(\d),(?=\d{3}(?!\d))", r"\1"),
    )
)
_NUMBER_WORDS: list[str] = [
    *("one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
]
_NUMBER_WORD = re.compile(rf"\b(?:{'|'.join(_NUMBER_WORDS)})\b")
_DIGITS = "零一二三四五六七八九"
_TENS = re.compile("([一二三四五六七八九])?十([一二三四五六七八九])?")
_ONES = str.maketrans(_DIGITS + "〇两", "0123456789" + "02")
_CALENDAR = re.compile(
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|january|february|march|april|may|june|july|august|september"
    r"|october|november|december"
)
_VERB_FORMS = {"am": "be", "is": "be", "are": "be", "has": "have"}


@dataclass(frozen=True, slots=True)
class NormalizedText:
    """`text` is the normalized spelling, `units` are its words, CJK characters, numbers and signs in order,
    without fillers; `names` are the Latin words that are names or identifiers."""

    text: str
    units: tuple[str, ...]
    names: frozenset[str]


@lru_cache(maxsize=256)
def normalize(text: str) -> NormalizedText:
    """`text` in its normalized form. Pure."""
    raw = unicodedata.normalize("NFKC", text)
    written = plain_form(text)
    for pattern, instead in _SPELLINGS:
        written = pattern.sub(instead, written)
    written = _NUMBER_WORD.sub(lambda word: str(_NUMBER_WORDS.index(word[0]) + 1), written)
    written = _TENS.sub(_ten, written).translate(_ONES)
    names = frozenset(name.casefold().rstrip(".-") for name in _NAME.findall(raw))
    return NormalizedText(written, units(written), names)


def units(written: str) -> tuple[str, ...]:
    """The words, characters, numbers and signs of a normalized spelling; English words by their stems."""
    found = (match[0] for match in _UNIT.finditer(_FILLERS.sub("", written)))
    return tuple(_unit(word) for word in found if word not in _FILLER_WORDS)


def is_number(unit: str) -> bool:
    return unit.lstrip("-")[:1].isdigit()


def mask_values(found: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """`found` with a placeholder for each number, weekday and month, and these values."""
    values = tuple(unit for unit in found if is_value(unit))
    return tuple("#" if is_value(unit) else unit for unit in found), values


def is_value(unit: str) -> bool:
    """Whether it is a number, a weekday or a month."""
    return is_number(unit) or _CALENDAR.fullmatch(unit) is not None


def _unit(word: str) -> str:
    if is_cjk(word) or not word.isascii() or not word.isalpha() or _CALENDAR.fullmatch(word):
        return word
    return _VERB_FORMS.get(word) or tokens(word)[0]


def _ten(match: re.Match[str]) -> str:
    tens, ones = match.groups()
    return str(10 * (_DIGITS.index(tens) if tens else 1) + (_DIGITS.index(ones) if ones else 0))
