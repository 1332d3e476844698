"""Whether two memories say the same, or contradict each other: pure, without a model, in Chinese and English.

What is neither for certain is "different". One memory too many is a small harm, a memory that retires an
unrelated one a great one: other systems are known for that (getzep/graphiti#1728: 41 % of facts invalidated).
So what is said later takes the place of what was said before only if it says so itself (`replaces`): Berlin
lies in Germany, and who runs on Mondays may run on Thursdays too.
"""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Literal

from gateway.lexical import plain_form
from gateway.memory.likeness.attributes import (
    Attribute,
    attribute_of,
    exclude,
    is_measured_otherwise,
    values_differ,
)
from gateway.memory.likeness.wording import NEGATIONS, Wording, units, wording

Nearness = Literal["same", "contradicts", "different"]

SIMILAR = 0.8
"""Jaccard index of the pairs of neighbouring words from which two sentences may say the same."""
MAX_COMPARED = 2000
"""Characters up to which texts are compared word by word; longer ones are the same only word for word."""
MAX_STATEMENT = 300
"""Characters up to which a text is looked at as one statement that another may contradict."""

_SAYING_NOTHING = frozenset(
    (
        *"我是会对在于这那个就还",
        *("i", "be", "my", "to", "of", "in", "on", "at", "for", "that", "this", "it", "have"),
    )
)

_SENTENCE_END = re.compile(r"[。!?;\n]|\.(?:\s|$)")
_FLEETING = re.compile(
    r"[昨今明前后]天|今[早晚]|刚才|[上下这本]个?[周月]|\b(?:today|yesterday|tomorrow|tonight|this|last|next)\b"
)
_OFTEN = re.compile(r"每个?|\bevery ")
_CORRECTING = re.compile(
    r"""
      现在 | 目前 | 如今 | 不再 | 以后 | 今后 | 从此 | 搬[到去进] | 换[成到了] | 改[为成到在用]
    | 更正 | 说错 | 搞错 | 调整[为到] | 推迟[到至] | 提前[到至] | 延期[到至]
    | (?:^|[,;:。!\s]) 不[对是] (?=[,;:。!\s])
    | \b(?: now | no\ longer | not\ any\ ?more | instead | these\ days | from\ now\ on | correction
        | (?: moved | moving | changed | changing | switched | switching | postponed ) \ (?: it\ )? to )\b
    """,
    re.VERBOSE,
)
"""On the plain form of a text: how people say that something is no longer as it was."""


def is_same(one: str, other: str) -> bool:
    return compare(one, other) == "same"


def contradicts(one: str, other: str) -> bool:
    return compare(one, other) == "contradicts"


def compare(one: str, other: str) -> Nearness:
    """How two contents stand to each other; the order makes no difference.

    same: the words of one are those of the other in the same order, but for a few that say nothing; so
    numbers, dates, negations and names are equal. contradicts: both are one statement, and they are the same
    but for a negation, or give different numbers to what has only one (`attributes`).
    """
    if one == other:
        return "same"
    if max(len(one), len(other)) > MAX_COMPARED:
        return "different"
    first, second = wording(one), wording(other)
    if _says_the_same(first, second):
        return "same"
    if not (_is_statement(first) and _is_statement(second)):
        return "different"
    certain = _denies(first, second) or _is_set_otherwise(first, second, is_measured_otherwise)
    return "contradicts" if certain else "different"


def replaces(old: str, new: str, said: str = "") -> bool:
    """Whether `new`, said later, takes the place of `old`: each is one statement, and the new one denies the
    old one, or it or the words `said` in which it was said tell that something has changed, and it gives
    another value to what has only one (`attributes`), or other numbers or days to what is done regularly."""
    if max(len(old), len(new)) > MAX_STATEMENT:
        return False
    first, second = wording(old), wording(new)
    if not (_is_statement(first) and _is_statement(second)):
        return False
    if _denies(first, second):
        return True
    if not any(_CORRECTING.search(plain_form(text)) for text in (new, said)):
        return False
    return _is_set_otherwise(first, second, exclude) or _recurs_otherwise(first, second)


def _says_the_same(one: Wording, other: Wording) -> bool:
    if one.text == other.text:
        return True
    short, long = sorted((one, other), key=lambda each: len(each.units))
    if not short.units:
        return False
    left, added = list(reversed(short.units)), list[str]()
    for unit in long.units:
        if left and unit == left[-1]:
            left.pop()
        else:
            added.append(unit)
    return (
        not left
        and all(unit in _SAYING_NOTHING for unit in added)
        and _likeness(one.units, other.units) >= SIMILAR
    )


def _likeness(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    pairs, others = set(pairwise(one)) or set(one), set(pairwise(other)) or set(other)
    return len(pairs & others) / len(pairs | others)


def _is_statement(said: Wording) -> bool:
    return len(said.text) <= MAX_STATEMENT and not (
        _SENTENCE_END.search(said.text) or _FLEETING.search(said.text)
    )


def _denies(one: Wording, other: Wording) -> bool:
    if (_negations(one) + _negations(other)) % 2 == 0:
        return False
    return bool(_affirmed(one) & _affirmed(other))


def _negations(said: Wording) -> int:
    return sum(unit in NEGATIONS for unit in said.units)


def _affirmed(said: Wording) -> set[tuple[str, ...]]:
    """Its units without negation; 没有 denies a verb as 没 does, and denies 有 itself."""
    texts = {said.text, said.text.replace("没有", "没")}
    return {tuple(unit for unit in units(text) if unit not in NEGATIONS) for text in texts} - {()}


def _is_set_otherwise(one: Wording, other: Wording, differ: Callable[[Attribute, Attribute], bool]) -> bool:
    first, second = attribute_of(one), attribute_of(other)
    return first is not None and second is not None and differ(first, second)


def _recurs_otherwise(one: Wording, other: Wording) -> bool:
    first, second = _OFTEN.search(one.text), _OFTEN.search(other.text)
    if first is None or second is None:
        return False
    if _who(one.text[: first.start()]) != _who(other.text[: second.start()]):
        return False
    return values_differ(units(one.text[first.start() :]), units(other.text[second.start() :]))


def _who(text: str) -> tuple[str, ...]:
    return units(_CORRECTING.sub("", text))
