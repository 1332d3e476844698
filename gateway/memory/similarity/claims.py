"""Claims of statements, by which those that may contradict each other are found without comparing each with
each: what a statement is about, and the value that it gives. Pure; for English and Chinese.

    "I live in Ghent."      home of i          ghent
    我住在上海               home of 我         上 海          a person has one home at a time
    "I don't like tea."     i like tea         no             against "I like tea.": yes

A person is asked about what is found, and nothing is changed on its account: so this is less strict than
`comparison.replaces`. It still says nothing of what may have several values (languages, hobbies, tools), of
the past, and of statements with "also" or "maybe".
"""

import re
from typing import NamedTuple

from gateway.lexical import is_cjk
from gateway.memory.similarity.change_cues import is_unsettled
from gateway.memory.similarity.comparison import (
    MAX_STATEMENT,
    affirmed,
    is_past,
    is_statement,
    measures,
    negations,
    values_differ,
)
from gateway.memory.similarity.normalization import NormalizedText, is_value, normalize, units


class Claim(NamedTuple):
    """That `subject` has `value`. With `is_measure` the value has numbers, weekdays or months, and only
    these are compared."""

    subject: tuple[str, ...]
    value: tuple[str, ...]
    is_measure: bool = False


def claims_of(content: str) -> list[Claim]:
    """What a content claims, at most one value of each subject; nothing where it is not one statement."""
    if len(content) > MAX_STATEMENT:
        return []
    statement = normalize(content)
    if not is_statement(statement):
        return []
    found = _polar(statement)
    if not (is_past(statement) or is_unsettled(statement.text)):
        found += _diet(statement) + _preferences(statement)
        if not negations(statement):
            found += _attributes(statement) + _measured(statement)
    return list({each.subject: each for each in reversed(found)}.values())


def are_contrary(one: Claim, other: Claim) -> bool:
    """Whether two claims give different values to one subject. Of two places one may lie in the other; of a
    value in Latin letters and one in Chinese nobody knows: Shanghai is 上海."""
    if one.subject != other.subject:
        return False
    if one.is_measure:
        return values_differ(one.value, other.value)
    first, second = set(one.value), set(other.value)
    is_one_script = any(map(is_cjk, first)) == any(map(is_cjk, second))
    return is_one_script and not (first <= second or second <= first)


def _polar(statement: NormalizedText) -> list[Claim]:
    value = ("no" if negations(statement) % 2 else "yes",)
    return [Claim(("says", *_of_user(form)), value) for form in affirmed(statement) if len(form) > 1]


def _of_user(form: tuple[str, ...]) -> tuple[str, ...]:
    """ "Likes tea" is "I like tea": what has no subject is of the user."""
    return form[1:] if form[0] in {"i", "我"} else form


_VALUE = r"(?P<value>[^,;:!?]{1,60}?)(?:, .*)?"
_VALUE_ZH = r"(?P<value>[^,;:。!?]{1,16})(?:,.*)?"
_WHO = r"(?:(?P<of>(?!(?:he|she|they|it|who|that|this)\b)[\w' .-]{1,40}?) )??"
_WHO_ZH = "(?P<of>我们?|[^,;:。!?他她它谁]{1,8}?)??"
_NOW, _NOW_ZH = "(?:now |currently )?", "(?:现在|目前|如今|就)?"
_ONE = (
    r"birthday|birth ?date|(?:e-?)?mail(?: address)?|(?:phone|mobile|telephone) ?(?:number)?"
    r"|address|time ?zone|job|profession|occupation|employer|major|native language|mother tongue"
    r"|nationality|blood type|(?:star|zodiac) sign|home ?town|favorite [\w ]{2,30}?|main colou?r"
    r"|(?:wife|husband|spouse|boss|manager|mother|father|partner|company|team|project|dog|cat)'s name"
    r"|database|framework|programming language|editor|operating system|cloud provider"
)
_ONE_ZH = (
    "生日|邮箱|邮件地址|电话号?码?|手机号?码?|地址|时区|职业|工作单位|专业|母语|国籍|血型|星座|老家|家乡"
    "|最(?:喜欢|爱)的[^,;。!?]{1,10}?|主色调?|主题色|品牌色|(?:妻子|丈夫|老婆|老公|爱人|老板|上司|妈妈|爸爸|公司)的?名字"
    "|数据库|框架|编程语言|编辑器|操作系统|云服务商"
)
"""What has one value at a time."""
_ATTRIBUTES: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (name, re.compile(form))
    for name, form in (
        (
            "home",
            rf"{_WHO}{_NOW}(?:(?:am|is|are) living|lives?|resides?|(?:have |has )?moved) (?:in|to) {_VALUE}",
        ),
        ("home", rf"{_WHO_ZH}{_NOW_ZH}(?:住在|定居在?|居住在|搬[到去]了?){_VALUE_ZH}"),
        (
            "work",
            rf"{_WHO}{_NOW}(?:(?:am|is|are) working|works?|(?:am|is|are) employed) (?:at|for|by) {_VALUE}",
        ),
        ("work", rf"{_WHO_ZH}{_NOW_ZH}在(?P<value>[^,;:。!?]{{1,16}}?)(?:工作|上班|任职|就职)(?:,.*)?"),
        ("work", rf"{_WHO_ZH}{_NOW_ZH}(?:就职|任职|供职)[于在]{_VALUE_ZH}"),
        (
            "place",
            rf"(?P<of>[^,;:。!?]{{0,8}}(?:公司|办公室|总部|学校|老家|家)){_NOW_ZH}(?:在|位于|搬[到去]了?){_VALUE_ZH}",
        ),
        ("name", rf"(?:(?P<of>my|[\w' ]{{1,30}}'s) )?(?:(?:full|first|real) )?name(?: is|:) {_VALUE}"),
        ("name", rf"(?P<of>i) am (?:called|named) {_VALUE}"),
        ("name", rf"(?P<of>我)(?:的?(?:全名|名字|姓名)(?:是|叫|:)|名?叫做?){_VALUE_ZH}"),
        ("address", rf"(?:please )?(?:call|address) (?P<of>me)(?: as)? {_VALUE}"),
        ("address", rf"请?(?:叫|称呼)(?P<of>我)(?:为|做)?{_VALUE_ZH}"),
        ("marriage", rf"{_WHO}(?:am|is|are) {_NOW}(?P<value>married|single|divorced|engaged|widowed)"),
        ("marriage", rf"{_WHO_ZH}{_NOW_ZH}(?:是)?(?P<value>已婚|结婚|单身|离婚|离异|未婚|订婚|丧偶)"),
        (
            "is",
            rf"(?P<of>(?:my|our|the|[\w' ]{{1,40}}'s) (?:[\w' -]{{1,30}}? )?(?:{_ONE}))(?: is|:) "
            rf"{_NOW}{_VALUE}",
        ),
        (
            "is",
            rf"(?P<of>[^,;:。!?]{{0,10}}?(?:{_ONE_ZH})){_NOW_ZH}(?:[是叫为用:]|改[为成]|换成)了?{_VALUE_ZH}",
        ),
    )
)  # fmt: skip - a form in a row
_PLACES = frozenset(("home", "work", "place"))
_NO_PLACE = re.compile(
    r"^(?:an?|the|my|our|his|her|their|some|free|home|night|myself|peace)\b"
    r"|[楼层里边旁这那]$|公寓|房|宿舍|附近|郊|乡下|父母|一个|^1个|的$|装修|放假|开会|^(?:家|公司|外地|夜里?|晚上|早上|周末|医院|学校|银行)$"
)
"""Kinds of places: who lives in a flat may live in Ghent."""
_PREFERS = (
    re.compile(r"(?:i )?prefers? (?P<value>[^,;]{1,40}?) (?:to|over|rather than) (?P<other>[^,;]{1,40})"),
    re.compile(
        "我?(?:更喜欢|更爱|偏好)(?P<value>[^,;]{1,12}?)(?:而不是|胜过|多过|,?不是)(?P<other>[^,;]{1,12})"
    ),
    re.compile("(?:比起|相比)(?P<other>[^,;]{1,12}?)[,;]?我?(?:更|还是)(?:喜欢|爱)(?P<value>[^,;]{1,12})"),
)
_NO_MEAT = re.compile(
    r"(?:i (?:am |eat )?|am )?(?:an? )?(?:strict )?(?:vegetarian|vegan)(?: food| diet)?(?: only)?"
    r"|(?:i )?not eat (?:any )?meat"
    r"|我?(?:是|只)?(?:1个|个)?(?:吃素|素食主?义?者?|吃素的|纯素食?者?|不吃[肉荤])(?:的)?"
)
_MEAT = re.compile(
    r"(?:i )?(?:eats?|like|like eating) (?:all kinds of )?(?:meat|beef|pork|steak|chicken|everything)"
    r"|我?(?:什么都|喜欢|爱|都|只)?吃(?:肉|荤|牛肉|猪肉|羊肉|鸡肉)"
)
_NUMBERED = (
    re.compile(
        r"(?P<of>(?!(?:i|we|you|he|she|they|it|this|that|there)\b)[\w' -]{2,60}?) "
        r"(?P<verb>is|are|costs?|takes?|lasts?|weighs?|starts?|begins?|ends?|opens?|closes?|expires?|leaves?"
        r"|arrives?|has|have) (?:now )?(?:(?:due|set|scheduled|planned|booked) )?"
        r"(?:to |for |on |at |in |about )?(?P<value>[^,;!?]{1,40})"
    ),
    re.compile(
        r"(?P<of>i) (?P<verb>(?:get|wake) up|(?:go|goes) to (?:bed|sleep|work)|(?:start|finish)(?:es)? work"
        r"|sleep|weigh) (?:at |around |about |for )?(?P<value>[^,;!?]{1,30})"
    ),
    re.compile(
        r"(?P<of>[^\d,;:。!?]{2,20}?)(?:现在|目前)?(?P<verb>是在|定在|定于|改到|是|在|为|有|需要?|共|:)(?P<value>[^,;。!?]{1,20})"
    ),
    re.compile(
        r"(?P<of>我)(?:每天|1般)?(?:早上|晚上|上午|下午)?(?P<value>\d[^,;。!?]{0,8}?)(?P<verb>起床|睡觉?|上班|下班)"
    ),
)
_RECURRING = re.compile(r"\bevery (?!day\b)|每[个周月年]")


def _attributes(statement: NormalizedText) -> list[Claim]:
    text = statement.text.removesuffix(" now")
    found: list[Claim] = []
    for name, form in _ATTRIBUTES:
        match = form.fullmatch(text)
        if match and not (name in _PLACES and _NO_PLACE.search(match["value"])):
            found.append(Claim((name, *units(match["of"] or "i")), units(match["value"])))
    return [_without_speaker(each) for each in found if each.value]


def _without_speaker(claim: Claim) -> Claim:
    """ "I", "my" and 我 are one subject: of the user."""
    name, *of = claim.subject
    if of[:1] in (["i"], ["my"], ["me"], ["我"]):
        of = of[1:]
    return claim._replace(subject=(name, *of))


def _preferences(statement: NormalizedText) -> list[Claim]:
    found = [match for form in _PREFERS if (match := form.fullmatch(statement.text))]
    pairs = [(units(each["value"]), units(each["other"])) for each in found[:1]]
    return [Claim(("prefers", *sorted((*one, *other))), ("first", *one)) for one, other in pairs]


def _diet(statement: NormalizedText) -> list[Claim]:
    if _NO_MEAT.fullmatch(statement.text):
        return [Claim(("diet",), ("plants",))]
    return [Claim(("diet",), ("meat",))] if _MEAT.fullmatch(statement.text) else []


def _measured(statement: NormalizedText) -> list[Claim]:
    text = statement.text.removesuffix(" now")
    found = [Claim(("measure", *of), value, is_measure=True) for of, value in measures(statement).items()]
    for form in _NUMBERED:
        match = form.fullmatch(text)
        if match is None or _RECURRING.search(text):
            continue
        of, value = units(match["of"]), units(match["value"])
        if of and any(map(is_value, value)) and not any(map(is_value, of)):
            found.append(Claim(("number", *of, *units(match["verb"])), value, is_measure=True))
    return found
