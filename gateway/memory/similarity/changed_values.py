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
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Literal

from gateway.lexical import is_cjk
from gateway.memory.similarity.change_cues import (
    CALLED,
    MAX_VALUE,
    PLACED,
    SIGNS,
    Cue,
    former_forms,
    forms_of,
)
from gateway.memory.similarity.normalization import NormalizedText, is_number, is_value, units

Kind = Literal["measure", "name", "words"]

MAX_AFTER = 2
"""Words or Chinese characters behind the value of a verb that has no sign: 我改搭公车上班."""


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
    if _another_home(old, new):
        return True
    old_forms, new_forms = forms_of(old.text), forms_of(new.text)
    if not former_forms(new.text).isdisjoint(form for form, _ in old_forms):
        return True
    differences = [
        (_difference(one, other), of_measures or only_measures)
        for (one, of_measures), (other, only_measures) in product(old_forms, new_forms)
    ]
    # Where a number stands makes no difference: "at 40" and "now 60" are one limit.
    differences.append((_difference(_one_sign(old_forms[-1][0]), _one_sign(new_forms[-1][0])), True))
    if _ONE_VALUED.search(old.text) and not _VAGUE.search(old.text) and not _VAGUE.search(new.text):
        cue = "change"
    first = {*old.units[:1], *new.units[:1]}  # the first word has a capital letter in any case
    names = frozenset(unit for name in old.names | new.names for unit in units(name)) - first
    return any(
        found is not None and _is_another_value(found, names, cue, only_measures=only_measures)
        for found, only_measures in differences
    )


def _another_home(old: NormalizedText, new: NormalizedText) -> bool:
    """Whether the user lives elsewhere: "I live in Ghent", "I moved to Antwerp"."""
    for form in _HOME:
        found = [(form.fullmatch(each.text.removesuffix(" now")), each.names) for each in (old, new)]
        homes = [
            units(match["place"]) for match, names in found if match and _is_place(match["place"], names)
        ]
        if len(homes) == 2:
            return not (set(homes[0]) <= set(homes[1]) or set(homes[1]) <= set(homes[0]))
    return False


def _is_place(text: str, names: frozenset[str]) -> bool:
    return not _VAGUE.search(text) and (is_cjk(text[0]) or names.issuperset(text.split()))


def _one_sign(found: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(CALLED if unit == PLACED else unit for unit in found)


def _difference(old: tuple[str, ...], new: tuple[str, ...]) -> Difference | None:
    """None when they are equal, differ in more than one place, or one only adds to the other."""
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
    if kind is None or kind != _kind(found.new, names) or not frame or not SIGNS.isdisjoint(found.after):
        return False
    verb = next((unit for unit in reversed(found.before) if unit in SIGNS or unit not in names), None)
    if kind == "measure":
        alike = _when(found.old) == _when(found.new)
        return verb is not None and alike and _is_about_subject(found, verb, cue)
    if only_measures or not _are_alike(found.old, found.new):
        return False
    if cue != "change" and verb not in {PLACED, CALLED}:
        return kind == "name" and not _SINGLE_VALUED.isdisjoint(found.before[-2:])
    if verb in SIGNS:
        return cue == "change" or kind == "name"
    return verb in _VERBS_OF_CHOICE and len(found.after) <= MAX_AFTER


def _is_about_subject(found: Difference, verb: str, cue: Cue) -> bool:
    """Whether a number is the value of an attribute, and no part of a name: 会议室301, pump 3."""
    if verb in SIGNS:
        return True
    only_days = not any(map(is_number, found.old))
    if not _EVERY.isdisjoint(found.before):
        return cue != "now" or _SEVERAL.isdisjoint({*found.before, *found.after})
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
    if not SIGNS.isdisjoint(value):
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


_UNSPECIFIC = SIGNS | _words(
    "i we my our you your he she it they his her their be have do not to of in on at for with"
    " 我 们 你 您 他 她 它 咱 有 不 没 要 会 把"
)
"""Words that name no attribute."""
_MEASURES = _words(
    "at on am pm o'clock euro dollar usd eur percent second minut hour day week month year kg km cm mm mg gb"
    " mb ms"
    " % € $ ￥ £ 年 月 日 号 周 天 点 时 分 秒 半 刻 钟 早 晚 上 中 下 午 元 块 万 千 百 亿 美 欧 英 镑 度"
)
_TIMES, _DATES = _words("am pm 点"), _words("月 日")
_PREDICATES = SIGNS | _words(
    "have take last cost need allow must can weigh contain hold start begin end open close limit requir pay"
    " charg expir keep 有 最 多 限 需 可 能 达 共 付 收 超 留 存 剩"
)
"""Words after which a number is a value of the subject."""
_VERBS_OF_CHOICE = _words(
    "to with at from by as prefer drink eat take drive wear order buy choos want"
    " 喝 吃 坐 搭 乘 骑 走 发 给 交 寄 去 找 看 穿 开 学 教 读 练 选 买 订 住 叫 姓 到"
)
"""Words whose object is replaced when the user states a new one."""
_SINGLE_VALUED = _words("go goe work belong report written built led run manag maintain own")
"""Verbs with one object at a time."""

_EVERY, _SEVERAL = _words("每 every"), _words("open avail offer serv 营 供")
"""Something recurs; but what is open on Sundays now may still be on Mondays."""
NOW_ZH, NOW_EN = "(?:现在|目前|就|已经)?", "(?:now |currently )?"
_HOME = (
    re.compile(rf"(?:i|we) {NOW_EN}(?:lives? in|(?:have )?moved to) (?P<place>[^,;:.!?]{{1,40}})"),
    re.compile(rf"我们?{NOW_ZH}(?:住在|搬[到去]了?)(?P<place>[^,;:.。!?]{{1,8}})"),
)
_VAGUE = re.compile(
    r"[楼层里边旁这那]|公寓|房|宿舍|附近|郊|乡下|父母|一个|的$|装修|放假|施工|停电|搬家|开会|[招裁扩]"
    r"|\b(?:for|night|home|remote)\b"
)
"""No name of a place or a person: kinds of places, and activities (我们公司在招人)."""
_ONE_VALUED = re.compile(
    r"(?:办公室|办公地点|公司|老家|工位|学校|总部|主色调?|主题色|品牌色|母语|国籍|血型|星座|数据库|框架|编程语言|编辑器|操作系统"
    rf"|云服务商|最(?:喜欢|爱)的[^,;。!?\s]{{1,10}}?){NOW_ZH}(?:[是为在用选]|位于)"
    r"|\b(?:my|our) (?:favorite [\w ]{2,20}?|native language|nationality|blood type|main colou?r) is\b"
    r"|\b(?:database|framework|programming language|editor|operating system|cloud provider) is\b"
)
"""What has one value, so that "now" is enough to change it."""
_INDEFINITE = re.compile(r"^(?:one|some|many|an?|another|several|most)\b|之一|其中|有[一些][个位些]?|某")
_LANGUAGE = re.compile(r"(?:ish|nes|gues|[rl]ian|german|french|dutch|arab|hindi|greek|korean)$")
