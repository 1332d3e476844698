"""Comparison of two texts: same meaning, contradiction, or neither. Pure; for Chinese and English.

Without certainty the answer is "different". A duplicate does little harm; a memory that wrongly retires an
unrelated one does much (getzep/graphiti#1728: 41 % of facts invalidated). So a later statement replaces an
earlier one only if it contains a correction (`replaces`): Berlin lies in Germany, and a person who runs on
Mondays may run on Thursdays too.
"""

import re
from itertools import pairwise
from typing import Literal

from gateway.memory.similarity.change_cues import cue_of
from gateway.memory.similarity.changed_values import NOW_EN, NOW_ZH, gives_another_value
from gateway.memory.similarity.normalization import NEGATIONS, NormalizedText, mask_values, normalize, units

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

_PAST = re.compile(
    r"[过曾]|以前|之前|去年|年前|当时|[昨今明前]天|[上下]周|如果"
    r"|\b(?:was|were|had|did|used to|ago|last|next|today|yesterday|tomorrow|if|when|until)\b"
)

_VALUE = r"(?P<value>(?:[^,;:.。!?\s](?:[.:](?=\w))? ?){1,40}?)"
_MEASURED = tuple(
    map(
        re.compile,
        (
            r"(?P<of>[^,;。!?\s]{0,20}?(?:预算|截止日期|截止时间|生日|年龄|端口|端口号|邮编|价格|版本|版本号|身高|体重|上线日期"
            rf"|上线时间|发布日期|发布时间|人数|工资|房租)){NOW_ZH}(?:是在|是|为|改为|改成|改到|定在|定为|在|:)?{_VALUE}",
            r"(?P<of>我)(?:今年|现在)?(?P<value>\d+岁)",
            r"(?P<of>我们?|团队|公司)(?:现在|目前|一共|总共)?有"
            r"(?P<value>\d+[个名只条位辆]?(?:孩子|小孩|儿子|女儿|猫|狗|宠物|兄弟|姐妹|人|员工|成员|车))",
            r"(?P<of>[^,;!?]{0,40}?\b(?:budget|deadline|due date|birthday|age|port|price|version|height"
            r"|weight|launch date|release date|rent|salary|headcount)) "
            rf"(?:is {NOW_EN}(?:set to |about |on |at |in )?|(?:has )?(?:moved|changed) to ){_VALUE}",
            r"(?P<of>i) am (?:now )?(?P<value>\d+)(?: years old)?",
            r"(?P<of>i|we) (?:have|has) (?P<value>\d+ (?:kids?|child(?:ren)?|sons?|daughters?|cats?|dogs?"
            r"|brothers?|sisters?|employees|people))",
        ),
    )
)
"""Statements of one number: what it is `of`, and the `value`."""


def is_same(one: str, other: str) -> bool:
    return compare(one, other) == "same"


def contradicts(one: str, other: str) -> bool:
    return compare(one, other) == "contradicts"


def compare(one: str, other: str) -> Similarity:
    """How two contents compare; the order makes no difference.

    same: equal words in equal order, except for a few fillers; so numbers, dates, negations and names are
    equal. contradicts: each is one statement, and they are equal except for a negation, or give different
    numbers to one measure.
    """
    if one == other:
        return "same"
    if max(len(one), len(other)) > MAX_COMPARED:
        return "different"
    first, second = normalize(one), normalize(other)
    if _is_same_statement(first, second):
        return "same"
    if not (is_statement(first) and is_statement(second)):
        return "different"
    certain = _denies(first, second) or _numbers_differ(first, second)
    return "contradicts" if certain else "different"


def replaces(old: str, new: str, source: str = "") -> bool:
    """Whether the later statement `new` replaces `old`: each is one statement, and the new one negates the
    old one; or it, or the clause `source` that it comes from, contains a word of correction and it gives
    another value to the same attribute (`gives_another_value`)."""
    if max(len(old), len(new)) > MAX_STATEMENT:
        return False
    first, second = normalize(old), normalize(new)
    if not (is_statement(first) and is_statement(second)):
        return False
    if _denies(first, second):
        return True
    cue = cue_of(new, source)
    if cue is None:
        return False
    return _numbers_differ(first, second) or gives_another_value(first, second, cue)


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


def is_statement(statement: NormalizedText) -> bool:
    """Whether it is one statement of what holds for longer, in at most MAX_STATEMENT characters."""
    return len(statement.text) <= MAX_STATEMENT and not (
        _SENTENCE_END.search(statement.text) or _TRANSIENT.search(statement.text)
    )


def _denies(one: NormalizedText, other: NormalizedText) -> bool:
    if (negations(one) + negations(other)) % 2 == 0:
        return False
    return bool(affirmed(one) & affirmed(other))


def negations(statement: NormalizedText) -> int:
    """How many words negate something."""
    return sum(unit in NEGATIONS for unit in statement.units)


def affirmed(statement: NormalizedText) -> set[tuple[str, ...]]:
    """The units without negations; 没有 negates a verb as 没 does, and negates 有 itself."""
    texts = {statement.text, statement.text.replace("没有", "没")}
    return {tuple(unit for unit in units(text) if unit not in NEGATIONS) for text in texts} - {()}


def _numbers_differ(one: NormalizedText, other: NormalizedText) -> bool:
    """Whether they give different numbers to one measure. Most other attributes have several values."""
    if is_past(one) or is_past(other):
        return False
    first, second = measures(one), measures(other)
    shared = [of for of in first if of in second]
    return bool(shared) and values_differ(first[shared[0]], second[shared[0]])


def is_past(statement: NormalizedText) -> bool:
    """Whether it tells of another time than now, or of what only might be."""
    return _PAST.search(statement.text) is not None


def measures(statement: NormalizedText) -> dict[tuple[str, ...], tuple[str, ...]]:
    """The numbers that a statement gives: the value, by what it is of and the form of words."""
    text = statement.text.removesuffix(" now")
    found = ((str(number), form.fullmatch(text)) for number, form in enumerate(_MEASURED))
    return {(number, *units(each["of"])): units(each["value"]) for number, each in found if each}


def values_differ(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether they are equal except for numbers, weekdays and months, and no value is a rounded form of the
    other (3 and 3.11)."""
    (frame, values), (other_frame, others) = mask_values(one), mask_values(other)
    pairs = [pair for pair in zip(values, others, strict=False) if pair[0] != pair[1]]
    rounded = any(a.startswith(f"{b}.") or b.startswith(f"{a}.") for a, b in pairs)
    return frame == other_frame and bool(pairs) and not rounded
