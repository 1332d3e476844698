"""Statements of a change: "the review moved to Friday", 周报改发给李雷, "Helm instead of Kustomize".

Such a statement replaces an earlier one on the same subject and attribute. For the comparison, both get one
form: signs for the verbs, and the verb of change is the one that it stands for.

    the review is on Monday       the review @ monday
    the review moved to Friday    the review @ friday         equal, but for one value of one kind

Statements that differ elsewhere too, in their subject, their purpose or in what they count, are on different
attributes, and so are values of different kinds. "Now" counts less than "instead" or 换成: it changes only
attributes with one value.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from gateway.lexical import is_cjk
from gateway.memory.similarity.change_cues import (
    ANEW_ZH,
    MOVED,
    MOVED_ZH,
    TURNED,
    TURNED_ZH,
    Cue,
    without_now,
)
from gateway.memory.similarity.normalization import NormalizedText, is_number, is_value, units

Kind = Literal["measure", "name", "words"]

MAX_VALUE = 8
"""Words or Chinese characters of a value."""
MAX_AFTER = 2
"""Words or Chinese characters behind the value of a verb that has no sign: 我改搭公车上班."""

_PLACED, _CALLED, _USED = "@", "=", "~"
_SIGNS = frozenset((_PLACED, _CALLED, _USED))


@dataclass(frozen=True, slots=True)
class Difference:
    """The one place in which two statements differ: their values there, and the units around it."""

    before: tuple[str, ...]
    old: tuple[str, ...]
    new: tuple[str, ...]
    after: tuple[str, ...]


def gives_another_value(old: NormalizedText, new: NormalizedText, cue: Cue) -> bool:
    """Whether `new`, a statement with that `cue`, gives another value to the attribute that `old` states."""
    if _INDEFINITE.search(old.text) or _INDEFINITE.search(new.text):
        return False
    old_forms, new_forms = (_forms(without_now(_in_passive(text))) for text in (old.text, new.text))
    texts = (*_before(without_now(new.text)), *_before(_in_passive(new.text)))
    if not {units(_signed(text)) for text in texts}.isdisjoint(form for form, _ in old_forms):
        return True
    differences = [
        (_difference(one, other), of_measures or only_measures)
        for (one, of_measures), (other, only_measures) in product(old_forms, new_forms)
    ]
    # Where a number stands makes no difference: "at 40" and "now 60" are one limit.
    differences.append((_difference(_one_sign(old_forms[-1][0]), _one_sign(new_forms[-1][0])), True))
    first = {*old.units[:1], *new.units[:1]}  # which has a capital letter whatever it is
    names = frozenset(unit for name in old.names | new.names for unit in units(name)) - first
    return any(
        found is not None and _is_another_value(found, names, cue, only_measures=only_measures)
        for found, only_measures in differences
    )


def _in_passive(text: str) -> str:
    """ "We moved the review to" is "the review moved to", 我们把评审改到 is 评审改到; without "no, "."""
    return _DONE_BY_US.sub(
        lambda match: match["thing"] or f"{match['what']} {match['verb']}", _LEAD_IN.sub("", text)
    )


def _before(text: str) -> Iterator[str]:
    """What `text` says of the time before when it names the former value: "Helm instead of Kustomize"."""
    for match in _INSTEAD_OF.finditer(text):
        words = text[: match.start()].split()
        for count in range(1, min(MAX_VALUE, len(words)) + 1):
            yield " ".join((*words[:-count], text[match.end() :]))
    for form in _FROM_TO:
        for match in form.finditer(text):
            words = text[match.end() :].split()
            for count in range(min(MAX_VALUE, len(words)) + 1):
                for sign in ("", *sorted(_SIGNS)):
                    yield f"{text[: match.start()]} {sign} {match['old']} {' '.join(words[count:])}"


def _forms(text: str) -> list[tuple[tuple[str, ...], bool]]:
    """The statement with each sign that its verb of change may stand for, and whether only for measures; as
    it is when it has none."""
    found = [
        (units(_signed(change.sub(f" {sign} ", text, count=1))), only_measures)
        for change, signs in _CHANGES
        if change.search(text)
        for sign, only_measures in signs
    ]
    return found or [(units(_signed(text)), False)]


def _signed(text: str) -> str:
    for verb, sign in _VERBS:
        text = verb.sub(f" {sign} ", text)
    return text


def _one_sign(found: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(_CALLED if unit == _PLACED else unit for unit in found)


def _difference(old: tuple[str, ...], new: tuple[str, ...]) -> Difference | None:
    """None when they are equal, differ in more than one place, or one only says more."""
    shorter = min(len(old), len(new))
    start = next((at for at in range(shorter) if old[at] != new[at]), shorter)
    left = shorter - start
    end = next((at for at in range(left) if old[-1 - at] != new[-1 - at]), left)
    one, other = old[start : len(old) - end], new[start : len(new) - end]
    if not one or not other:
        return None
    if _is_measure(one) and _is_measure(other):  # as a whole: 下午两点 and 下午三点半, 3 May and 5 May
        while start and _is_measure(old[start - 1 : start]):
            start -= 1
        while end and _is_measure(old[len(old) - end : len(old) - end + 1]):
            end -= 1
    elif set(one) & set(other):
        return None
    return Difference(
        old[:start], old[start : len(old) - end], new[start : len(new) - end], old[len(old) - end :]
    )


def _is_another_value(found: Difference, names: frozenset[str], cue: Cue, *, only_measures: bool) -> bool:
    kind = _kind(found.old, names)
    frame = {*found.before, *found.after} - _UNSPECIFIC
    if kind is None or kind != _kind(found.new, names) or not frame or not _SIGNS.isdisjoint(found.after):
        return False
    verb = next((unit for unit in reversed(found.before) if unit in _SIGNS or unit not in names), None)
    if kind == "measure":
        alike = _when(found.old) == _when(found.new)
        return verb is not None and alike and _is_said_of_subject(found, verb, cue)
    if only_measures or not _are_alike(found.old, found.new):
        return False
    if cue != "change" and verb not in {_PLACED, _CALLED}:
        return kind == "name" and not _SINGLE_VALUED.isdisjoint(found.before[-2:])
    if verb in _SIGNS:
        return cue == "change" or kind == "name"
    return verb in _VERBS_OF_CHOICE and len(found.after) <= MAX_AFTER


def _is_said_of_subject(found: Difference, verb: str, cue: Cue) -> bool:
    """Whether a number is the value of an attribute, and no part of a name: 会议室301, pump 3."""
    if verb in _SIGNS:
        return True
    only_days = not any(map(is_number, found.old))
    if not _PREDICATES.isdisjoint(found.before):
        return cue == "change" or not only_days
    return any(_when(found.old)) and len(found.after) <= MAX_AFTER


def _when(value: Sequence[str]) -> tuple[bool, bool]:
    """Whether a measure has a time of the day, and a date: 11点 is not postponed to 5月19日."""
    return (
        any(unit in _TIMES or ":" in unit for unit in value),
        any(unit in _DATES or (is_value(unit) and not is_number(unit)) for unit in value),
    )


def _are_alike(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether two values can be of one attribute: in English is no place."""
    languages = [bool(_LANGUAGE.search(value[-1])) for value in (one, other)]
    return max(len(one), len(other)) <= MAX_VALUE and languages[0] == languages[1]


def _kind(value: Sequence[str], names: frozenset[str]) -> Kind | None:
    if not _SIGNS.isdisjoint(value):
        return None
    if any(map(is_value, value)):
        return "measure" if _is_measure(value) else None
    if all(unit in names for unit in value):
        return "name"
    return "words" if names.isdisjoint(value) and len({is_cjk(unit) for unit in value}) == 1 else None


def _is_measure(value: Sequence[str]) -> bool:
    return all(is_value(unit) or unit in _MEASURES for unit in value)


def _words(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


_UNSPECIFIC = _SIGNS | _words(
    "i we my our you your he she it they his her their be have do not to of in on at for with"
    " 我 们 你 您 他 她 它 咱 有 不 没 要 会 把"
)
"""What no attribute is told by."""
_MEASURES = _words(
    "at on am pm o'clock euro dollar usd eur percent second minut hour day week month year kg km cm mm mg gb"
    " mb ms"
    " % € $ ￥ £ 年 月 日 号 周 天 点 时 分 秒 半 刻 钟 早 晚 上 中 下 午 元 块 万 千 百 亿 美 欧 英 镑 度"
)
_TIMES, _DATES = _words("am pm 点"), _words("月 日")
_PREDICATES = _SIGNS | _words(
    "have take last cost need allow must can weigh contain hold start begin end open close limit requir pay"
    " charg expir keep 有 最 多 限 需 可 能 达 共 付 收 超 留 存 剩"
)
"""Words after which a number says something of the subject."""
_VERBS_OF_CHOICE = _words(
    "to with at from by as prefer drink eat take drive wear order buy choos want"
    " 喝 吃 坐 搭 乘 骑 走 发 给 交 寄 去 找 看 穿 开 学 教 读 练 选 买 订 住 叫 姓 到"
)
"""Words whose object is replaced when the user says that it is."""
_SINGLE_VALUED = _words("go goe work belong report written built led run manag maintain own")
"""Verbs with one object at a time."""

_WAS = r"(?:\b(?:is|are|was|were|has|have|had|been|be|got|gets) )*"
_FROM, _FROM_ZH = "(?:from [^,;]{1,40}? )?", "(?:[从由][^,;]{1,20}?)?"
_INDEFINITE = re.compile(r"^(?:one|some|many|an?|another|several|most)\b|之一|其中|有[一些][个位些]?|某")
_LEAD_IN = re.compile(r"^(?:(?:no|correction|不[对是]|更正|说错了|搞错了|记错了)\s?[,;:.。]\s?)+")
_DONE_BY_US = re.compile(
    rf"^(?:i|we|they)(?: have)? (?P<verb>{MOVED}|{TURNED}) (?P<what>(?:my|our|the) [^,;]{{1,40}}?)"
    r"(?= (?:back )?(?:to|from|until)\b)"
    r"|^(?:我们?|他们|公司)?把(?P<thing>[^,;]{1,20}?)(?=[改换推搬提挪调延])"
)
_LANGUAGE = re.compile(r"(?:ish|nes|gues|[rl]ian|german|french|dutch|arab|hindi|greek|korean)$")
_INSTEAD_OF = re.compile(r"\b(?:instead|in place) of\b")
_FROM_TO = (
    re.compile(rf"{_WAS}(?:{MOVED}|{TURNED}) from (?P<old>[^,;]{{1,40}}?) to\b"),
    re.compile(rf"[从由把](?P<old>[^,;]{{1,20}}?)(?:{MOVED_ZH}|{TURNED_ZH})了?"),
    re.compile(r"不再?用(?P<old>[^,;]{1,20}?)了?[,; ]*(?:改用|换成|而?是?用)了?"),
)
_CHANGES: tuple[tuple[re.Pattern[str], tuple[tuple[str, bool], ...]], ...] = (
    (
        re.compile(rf"{_WAS}(?:{MOVED}) {_FROM}(?:to|until|till)\b|{_FROM_ZH}{MOVED_ZH}了?"),
        ((_PLACED, False), (_CALLED, True)),
    ),
    (
        re.compile(rf"{_WAS}(?:{TURNED}) {_FROM}to\b|{_FROM_ZH}{TURNED_ZH}了?"),
        ((_CALLED, False), (_USED, False), (_PLACED, True), ("", False)),
    ),
    (re.compile(ANEW_ZH), (("", False),)),
)
"""Verbs of change, with the signs that each may stand for, and whether only for measures."""
_VERBS = (
    (re.compile(r"在(?=[学做看读写用练教])"), ""),
    (
        re.compile(
            r"\b(?:(?:is|are|am|will be) (?:(?:located|based|hosted|held|situated|scheduled|planned|set|due"
            r"|booked) )?(?:in|at|on|for|every)|takes? place (?:in|at|on)|lives? in"
            r"|runs? (?:on|at) (?=[a-z]+day\b)|happens? (?:in|at|on))\b"
            r"|位于|定于|(?:住|安排|托管|部署|运行|存放|[设定订放存跑])在|(?<![现正])在"
        ),
        _PLACED,
    ),
    (
        re.compile(
            r"\b(?:is|are|am)(?: (?:called|named))?\b|(?<![但还就于可])是|(?<![因认作以设])为|名?叫做?"
            r"|设[为成]?(?=\d)"
        ),
        _CALLED,
    ),
    (re.compile(r"\b(?:uses?|using|runs? on)\b|[使采选]?用(?!户)"), _USED),
)
