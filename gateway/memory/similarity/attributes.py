"""Single-valued attributes in statements: "my office is in …", 预算是…, "I work at …".

Most attributes are multi-valued: a person likes tea and coffee, is tall and a doctor. So only the forms
listed here count as single-valued, and only values of one kind exclude each other. Even such values may both
be true (Berlin is in Germany, a project has two databases). Only two numbers of one measure never are; for
all others the new statement must contain a word of correction (see `comparison.replaces`)."""

import re
from dataclasses import dataclass
from typing import Literal

from gateway.memory.similarity.normalization import NormalizedText, is_number, mask_values, units

Kind = Literal["measure", "name", "proper"]


@dataclass(frozen=True, slots=True)
class Attribute:
    """The subject (`of`, equal for all statements on the same attribute), its value, and the `kind` of value:
    a measure with a number or a date, a short name, or a Latin proper name. `names` are the statement's
    names."""

    of: tuple[str, ...]
    value: str
    kind: Kind
    names: frozenset[str]


def attribute_of(statement: NormalizedText) -> Attribute | None:
    """The single-valued attribute of a statement, if that is all it contains."""
    if _PAST.search(statement.text):
        return None
    text = statement.text.removesuffix(" now")
    for form, kind in _FORMS:
        if match := form.fullmatch(text):
            found = match.groupdict()
            of = units(found["of"] + " " + (found.get("how") or "in"))
            return Attribute(
                (str(_FORMS.index((form, kind))), *of), found["value"].strip(), kind, statement.names
            )
    return None


def measures_differ(one: Attribute, other: Attribute) -> bool:
    """Whether both cannot be true at the same time: different numbers for one measure."""
    return (
        one.of == other.of and one.kind == "measure" and values_differ(units(one.value), units(other.value))
    )


def values_exclude(one: Attribute, other: Attribute) -> bool:
    """Whether one value stops being true when the other becomes true."""
    if one.of != other.of:
        return False
    first, second = units(one.value), units(other.value)
    if values_differ(first, second):
        return True
    if one.kind == "measure" or not (_is_name(one) and _is_name(other)):
        return False
    return not (set(first) <= set(second) or set(second) <= set(first))


def values_differ(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Whether they are equal except for numbers, weekdays and months, and no value is a rounded form of the
    other (3 and 3.11)."""
    (frame, values), (other_frame, others) = mask_values(one), mask_values(other)
    pairs = [pair for pair in zip(values, others, strict=False) if pair[0] != pair[1]]
    return (
        frame == other_frame
        and bool(pairs)
        and not any(a.startswith(f"{b}.") or b.startswith(f"{a}.") for a, b in pairs)
    )


def _is_name(statement: Attribute) -> bool:
    found = units(statement.value)
    if _VAGUE.search(statement.value) or not 0 < len(found) <= 8 or any(map(is_number, found)):
        return False
    if statement.kind == "name":
        return True
    return all(word in statement.names for word in statement.value.split())


# Words that do not name a place or a person: kinds of places, and activities (我们公司在招人).
_VAGUE = re.compile(
    r"[楼层里边旁家这那]|公寓|房|宿舍|附近|郊|乡下|城里|父母|一个|的$"
    r"|装修|放假|施工|营业|维修|停电|搬家|开会|[招裁扩]"
    r"|^(?:a|an|the|this|that|not|very|so|too|about|for|night|home|days?|weekends?|remote)\b"
)
_PAST = re.compile(
    r"[过曾]|以前|之前|去年|年前|当时|[昨今明前]天|[上下]周|如果"
    r"|\b(?:was|were|had|did|used to|ago|last|next|today|yesterday|tomorrow|if|when|until)\b"
)
_V = r"(?P<value>(?:[^,;:.。!?\s](?:[.:](?=\w))? ?){1,40}?)"
_NOW = "(?:现在|目前|就|已经)?"
_NOW_EN = "(?:now |currently )?"


def _form(pattern: str, kind: Kind) -> tuple[re.Pattern[str], Kind]:
    return re.compile(pattern), kind


_FORMS: tuple[tuple[re.Pattern[str], Kind], ...] = (
    _form(
        rf"(?P<of>我们?的?(?:办公室|办公地点|公司|老家|家|工位|学校|总部)){_NOW}(?:是在|在|位于|搬[到去]了?){_V}",
        "name",
    ),
    _form(rf"(?P<of>我们?){_NOW}(?:住在|搬[到去]了?){_V}", "name"),
    _form(rf"(?P<of>我)(?:叫做?|的(?:全名|名字|姓名)[叫是]){_V}", "name"),
    _form(rf"(?P<of>我们?的?(?:老板|经理|上司|导师|妻子|丈夫|老婆|老公))(?:的名字)?(?:叫|名叫){_V}", "name"),
    _form(
        r"(?P<of>[^,;。!?\s]{0,20}?(?:预算|截止日期|截止时间|生日|年龄|端口|端口号|邮编|价格"
        r"|版本|版本号|身高|体重|上线日期|上线时间|发布日期|发布时间|人数|工资|房租))"
        rf"{_NOW}(?:是在|是|为|改为|改成|改到|定在|定为|在|:)?{_V}",
        "measure",
    ),
    _form(rf"(?P<of>[^,;。!?\s]{{0,12}}?最(?:喜欢|爱)的[^,;。!?\s]{{1,10}}?)[是叫]{_V}", "name"),
    _form(
        rf"(?P<of>[^,;。!?\s]{{0,16}}?(?:主色调?|主题色|品牌色|母语|国籍|血型|星座)){_NOW}[是为用]{_V}",
        "name",
    ),
    _form(
        r"(?P<of>[^,;。!?\s]{0,16}?(?:数据库|框架|编程语言|编辑器|操作系统|云服务商|电话|手机号))"
        rf"{_NOW}(?:是|用|选|选了|选用|采用|定为|使用|换成了?|改[为成用]了?){_V}",
        "proper",
    ),
    _form(r"(?P<of>我)(?:今年|现在)?(?P<value>\d+岁)", "measure"),
    _form(
        r"(?P<of>我们?|团队|公司)(?:现在|目前|一共|总共)?有"
        r"(?P<value>\d+[个名只条位辆]?(?:孩子|小孩|儿子|女儿|猫|狗|宠物|兄弟|姐妹|人|员工|成员|车))",
        "measure",
    ),
    _form(
        r"(?P<of>(?:my|our) (?:office|home|house|desk|company|headquarters|hq|hometown|school)) "
        rf"(?:is {_NOW_EN}(?:located |based )?(?P<how>in|at|on)|(?:has )?moved to) {_V}",
        "proper",
    ),
    _form(rf"(?P<of>i|we) {_NOW_EN}(?:lives? in|(?:have )?moved to) {_V}", "proper"),
    _form(rf"(?P<of>i) {_NOW_EN}works? (?:at|for) {_V}", "proper"),
    _form(rf"my (?P<of>(?:full |first |last )?name) is {_V}", "proper"),
    _form(
        r"(?P<of>my (?:boss|manager|wife|husband|mentor|advisor))(?:'s name is| is (?:called|named)) " + _V,
        "proper",
    ),
    _form(
        r"(?P<of>[^,;!?]{0,40}?\b(?:budget|deadline|due date|birthday|age|port|price|version"
        r"|height|weight|launch date|release date|rent|salary|headcount)) "
        rf"(?:is {_NOW_EN}(?:set to |about |on |at |in )?|(?:has )?(?:moved|changed) to ){_V}",
        "measure",
    ),
    _form(rf"(?P<of>(?:my|our) favorite [\w ]{{2,20}}?) is {_NOW_EN}{_V}", "name"),
    _form(rf"(?P<of>(?:my|our) (?:native language|nationality|blood type|main colou?r)) is {_V}", "name"),
    _form(
        r"(?P<of>(?:my|our|the) (?:[\w-]+ ){0,2}?(?:database|framework|programming language|editor"
        rf"|operating system|cloud provider|phone number)) is {_NOW_EN}{_V}",
        "proper",
    ),
    _form(r"(?P<of>i) am (?:now )?(?P<value>\d+(?: years old)?)", "measure"),
    _form(
        r"(?P<of>i|we) (?:have|has) (?P<value>\d+ (?:kids?|child(?:ren)?|sons?|daughters?|cats?|dogs?"
        r"|brothers?|sisters?|employees|people))",
        "measure",
    ),
)
