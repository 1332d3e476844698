"""Comparison of two texts: same meaning, contradiction, or neither. Pure; for Chinese and English.

Without certainty the answer is "different". A duplicate does little harm; a memory that wrongly retires an
unrelated one does much (getzep/graphiti#1728: 41 % of facts invalidated). So a later statement replaces an
earlier one only if it contains a correction (`replaces`): Berlin lies in Germany, and a person who runs on
Mondays may run on Thursdays too.
"""

import re
from collections.abc import Callable
from itertools import pairwise
from typing import Literal

from gateway.memory.similarity.attributes import (
    Attribute,
    attribute_of,
    measures_differ,
    values_differ,
    values_exclude,
)
from gateway.memory.similarity.change_cues import Cue, cue_of, without_cues
from gateway.memory.similarity.changed_values import gives_another_value
from gateway.memory.similarity.normalization import NEGATIONS, NormalizedText, normalize, units

Similarity = Literal["same", "contradicts", "different"]

MIN_SIMILARITY = 0.8
"""Jaccard index of word bigrams from which two sentences may have the same meaning."""
MAX_COMPARED = 2000
"""Characters up to which texts are compared by words; longer ones are the same only verbatim."""
MAX_STATEMENT = 300
"""Characters of a text that counts as one statement, which another may contradict."""

_FILLER_UNITS = frozenset(
    (
        *"我是会对在于这那个就还",
        *("i", "be", "my", "to", "of", "in", "on", "at", "for", "that", "this", "it", "have"),
    )
)

_SENTENCE_END = re.compile(r"[。!?;\n]|(?<!\bdr)(?<!\bmr)(?<!\bms)(?<!\bmrs)(?<!\bst)\.(?:\s|$)")
_TRANSIENT = re.compile(
    r"[昨今明前后]天|今[早晚]|刚才|[上下这本]个?[周月]|\b(?:today|yesterday|tomorrow|tonight|this|last|next)\b"
)
_SEVERAL = re.compile(r"\b(?:open|available|offered|served)\b|开放|营业|开门|供应")
"""For activities that may have several days: what is open on Sundays now may still be on Mondays."""
_RECURRING = re.compile(r"每个?|\bevery ")


def is_same(one: str, other: str) -> bool:
    return compare(one, other) == "same"


def contradicts(one: str, other: str) -> bool:
    return compare(one, other) == "contradicts"


def compare(one: str, other: str) -> Similarity:
    """How two contents compare; the order makes no difference.

    same: equal words in equal order, except for a few fillers; so numbers, dates, negations and names are
    equal. contradicts: each is one statement, and they are equal except for a negation, or give different
    numbers to a single-valued attribute (`attributes`).
    """
    if one == other:
        return "same"
    if max(len(one), len(other)) > MAX_COMPARED:
        return "different"
    first, second = normalize(one), normalize(other)
    if _is_same_statement(first, second):
        return "same"
    if not (_is_statement(first) and _is_statement(second)):
        return "different"
    certain = _denies(first, second) or _attributes_differ(first, second, measures_differ)
    return "contradicts" if certain else "different"


def replaces(old: str, new: str, source: str = "") -> bool:
    """Whether the later statement `new` replaces `old`: each is one statement, and the new one negates the
    old one; or it, or the clause `source` that it comes from, contains a word of correction and it gives
    another value to a single-valued attribute (`attributes`), or other numbers or days to a recurring
    activity."""
    if max(len(old), len(new)) > MAX_STATEMENT:
        return False
    first, second = normalize(old), normalize(new)
    if not (_is_statement(first) and _is_statement(second)):
        return False
    if _denies(first, second):
        return True
    cue = cue_of(new, source)
    if cue is None:
        return False
    return (
        _attributes_differ(first, second, values_exclude)
        or _recurrences_differ(first, second, cue)
        or gives_another_value(first, second, cue)
    )


def _is_same_statement(one: NormalizedText, other: NormalizedText) -> bool:
    if one.text == other.text:
        return True
    own, others = (" ".join(names) for names in (one.names - other.names, other.names - one.names))
    if not set(units(own)).isdisjoint(units(others)):
        return False  # Mary and Marie have one stem
    stated, others = _without_user(one.units), _without_user(other.units)
    short, long = sorted((stated, others), key=len)
    if not short:
        return False
    left, added = list(reversed(short)), list[str]()
    for unit in long:
        if left and unit == left[-1]:
            left.pop()
        else:
            added.append(unit)
    return (
        not left and all(unit in _FILLER_UNITS for unit in added) and _jaccard(short, long) >= MIN_SIMILARITY
    )


def _without_user(found: tuple[str, ...]) -> tuple[str, ...]:
    """The units without the user as the subject: "I am allergic to nuts", "Allergic to nuts"."""
    for subject in (("i", "be"), ("i",), ("be",), ("我",)):
        if found[: len(subject)] == subject:
            return found[len(subject) :]
    return found


def _jaccard(one: tuple[str, ...], other: tuple[str, ...]) -> float:
    pairs, others = set(pairwise(one)) or set(one), set(pairwise(other)) or set(other)
    return len(pairs & others) / len(pairs | others)


def _is_statement(statement: NormalizedText) -> bool:
    return len(statement.text) <= MAX_STATEMENT and not (
        _SENTENCE_END.search(statement.text) or _TRANSIENT.search(statement.text)
    )


def _denies(one: NormalizedText, other: NormalizedText) -> bool:
    if (_negations(one) + _negations(other)) % 2 == 0:
        return False
    return bool(_affirmed(one) & _affirmed(other))


def _negations(statement: NormalizedText) -> int:
    return sum(unit in NEGATIONS for unit in statement.units)


def _affirmed(statement: NormalizedText) -> set[tuple[str, ...]]:
    """The units without negations; 没有 negates a verb as 没 does, and negates 有 itself."""
    texts = {statement.text, statement.text.replace("没有", "没")}
    return {tuple(unit for unit in units(text) if unit not in NEGATIONS) for text in texts} - {()}


def _attributes_differ(
    one: NormalizedText, other: NormalizedText, differ: Callable[[Attribute, Attribute], bool]
) -> bool:
    first, second = attribute_of(one), attribute_of(other)
    return first is not None and second is not None and differ(first, second)


def _recurrences_differ(one: NormalizedText, other: NormalizedText, cue: Cue) -> bool:
    if cue == "now" and _SEVERAL.search(other.text):
        return False
    texts = without_cues(one.text), without_cues(other.text)
    first, second = (_RECURRING.search(text) for text in texts)
    if first is None or second is None:
        return False
    if units(texts[0][: first.start()]) != units(texts[1][: second.start()]):
        return False
    return values_differ(units(texts[0][first.start() :]), units(texts[1][second.start() :]))
