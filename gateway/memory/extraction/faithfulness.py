"""Whether a model's paraphrase has the meaning of the user's words, in English and Chinese. Pure.

By the words alone a faithful paraphrase and an invention look alike where few of them are shared. So a
content stands when most of its words are the user's and it brings in no number, name or negation; of all
others a person is asked, and of all in another language (`known_languages`).
"""

import re
from itertools import pairwise
from typing import Literal

from gateway.lexical import is_cjk, plain_form, query_tokens, tokens
from gateway.memory.known_languages import is_known
from gateway.memory.sentences import clauses
from gateway.memory.similarity.comparison import contradicts
from gateway.memory.similarity.normalization import NEGATIONS, normalize

Faithfulness = Literal["agrees", "translated", "differs", "unknown"]

MIN_SHARED = 0.7
"""The share of a content's words that are the user's."""
MIN_QUOTED = 0.25
"""The share of them that are in the very quote, or in its sentence: others may be from earlier messages."""
MAX_NEW_RUN = 1
"""Chinese characters in a row that the user did not write: two may be a name."""

_FUNCTION_WORDS = frozenset(
    tokens(
        "the user's users he she him his her hers they also am been being was were has had having do does "
        "did by who which while or but because both very just "
        "用户的 使用者 本人 其 于 为 把 被 及 之 很 对 以 而"
    )
)
"""Function words beside those that `query_tokens` leaves out. None of them is a negation."""
_REPORTING_WORDS = frozenset(
    tokens(
        "prefers likes loves enjoys wants wishes needs requests asks says mentions states decided agreed "
        "chose chosen selected selects uses using plans intends favors favours favorite favourite named "
        "called team people person member currently usually generally always regularly own owns lives "
        "living resides works working employed based located takes goes gets keeps made makes set "
        "scheduled planned should must starts begins avoids refuses dislikes hates not never no without"
    )
)
"""Words with which models refer to a user, and negations, which are compared apart."""
_REPORTING_WORDS_ZH = re.compile(
    "用户|使用者|本人|正在|偏好|偏爱|倾向|喜欢|喜爱|热爱|希望|想要|要求|需要|需求|决定|选择|选定|选用|采用|使用|计划|打算|认为|觉得"
    "|表示|提到|同意|团队|成员|目前|当前|现在|通常|一般|经常|习惯|总是|应该|应当|必须|进行|作为|以及|并且|关于|位于|居住|工作|任职|就职"
    "|养了?|拥有|名叫|名为|叫做|姓名|名字|安排|定于|定在|设定|设为|时间|日期|患有|存在|具有|避免|不会|不要|不能|没有|不用|不喜欢|讨厌|[一两]?[只条位名个件台]|有"
)
_AGREEING = re.compile(
    r"\b(?:agree[sd]?|accept(?:s|ed)?|approve[sd]?|confirm(?:s|ed)?|like[sd]?|proceed(?:s|ed)?|follow(?:s|ed)?"
    r"|i|we|they|user|users|team|is|are|be|wants?|going|goes|go|ahead|with|to|the|assistant|proposal|proposed|suggestion|suggested|recommendation"
    r"|plan|idea|option|approach|solution|design|that|this|it|sounds?|good|ok(?:ay)?)\b"
    r"|[接采]受|采纳|批准|确认|认可|赞同|赞成|助手|助理|提出|提议|建议|方案|计划|推荐|上述|这个|那个|该|按照?|来|做|办"
)
MAX_BEFORE = 200
"""Characters before a quote that are looked at for a negation."""
_JOINT = re.compile(
    r"[,，。.!?！？;；:：\n]|\b(?:but|and|or|so|because|since|though|although|while|however|when|if|that)\b"
    r"|但是?|而(?!且)|不过|可是|所以|因为|然后|却",
    re.IGNORECASE,
)
_REMINDER = re.compile(
    r"\b(?:do not|don't|never|not to)\s(?:ever\s)?forget\b|\bno (?:doubt|wonder)\b|\bnot (?:only|just)\b"
    r"|(?:别|不要|勿|不能)忘[了记]?|不仅|不只|不光"
)
"""What holds a negation and denies nothing; for the plain form."""
_QUALIFIERS = (
    (
        re.compile(r"\bused to (?!it\b|this\b|that\b)|\b(?:formerly|previously)\b|我以前|曾经|从前|^以前"),
        re.compile(
            r"\b(?:used|former\w*|previous\w*|was|were|had|did|past|no longer|not)\b|以前|曾|从前|过去|不"
        ),
    ),
    (
        re.compile(r"\b(?:might|probably|possibly)\b|(?<!不)可能(?!性)|大概"),
        re.compile(
            r"\b(?:might|may [a-z]+|could|probabl[ey]|possibl[ey]|maybe|perhaps|consider\w*|plan\w*)\b"
            r"|可能|大概|或许|考虑|打算"
        ),
    ),
)
"""Words for what was so once, or may be so, and the words for that in a memory."""
_KIN_ZH = (
    "弟弟?|妹妹?|哥哥?|姐姐?|爸爸?|妈妈?|父亲|母亲|爷爷|奶奶|外公|外婆|叔叔?|阿姨|儿子|女儿|孩子|老公|老婆|丈夫|妻子"
    "|太太|先生|爱人|男友|女友|男朋友|女朋友|朋友|同事|老板|上司|邻居|室友|客户"
)
_SOMEBODY = re.compile(
    r"\b(?:my|our|his|her|their) (?:\w+ ){0,2}?(?:brothers?|sisters?|mother|father|mum|mom|dad|parents?|sons?"
    r"|daughters?|child|children|kids?|wife|husband|partner|boyfriend|girlfriend|friends?|uncle|aunt|cousins?"
    r"|grand\w+|boss|managers?|colleagues?|coworkers?|neighbou?rs?|roommates?|flatmates?|competitors?|customers?"
    r"|clients?|landlord|tenants?)\b(?!'s|’s)|\b(?:he|she|they)\b"
    rf"|我们?家?的?(?:{_KIN_ZH})(?!的)|[他她]们?(?!的)|竞争对手"
)
_FIRST_PERSON = re.compile(r"\b(?:i|we|i'm|i've|i'd|i'll|we're|we've|we'll|me|us)\b|我|咱")
_OF_SOMEBODY, _USERS = re.compile(f"{_SOMEBODY.pattern}|{_KIN_ZH}"), re.compile(r"\b(?:the )?user(?:'s|’s) ")
"""Subjects other than the user, where the clause does not mention the user. All are for the plain form."""
_CONTRACTED = re.compile(r"n['’]t\b|(?<=can)not\b", re.IGNORECASE)
_SPACED = re.compile(r"(?<=\d)(?=[A-Za-z])|(?<=[A-Za-z])(?=\d)")
_NUMBER = re.compile(r"\d+(?:[.,:/-]\d+)*")
_NAME = re.compile(
    r"(?<![\w])(?:(?<![.!?。！？\"“]\s)(?<!^)[A-Z][\w.+#-]*"
    r"|[A-Z]+[a-z]*[A-Z][\w.+#-]*|\w*\d[\w.-]*[A-Za-z][\w.-]*|[a-z][\w-]*[._/@][\w./@-]*\w)"
)
_NEGATIVE = re.compile(
    r"\b(?:avoid|refus|declin|stop|quit|hardly|unable|nobody|none|nothing|dislik|hate|can't\sstand|instead\sof|rather\sthan|free\sof)\w*"
    r"|避免|拒绝|禁止|忌口|忌|戒|谢绝|不|没|未|别|勿|无"
)
_NOT_NEGATIVE = re.compile(
    r"要不|不如|(.)不\1|是不是|可不可|能不|对不|不妨|不错|不过|不仅|不但|不只|不少|不同|不断|不久|差不多|不管|不论|不得不|未来|无论|无线|无人机|别人|特别|分别|区别|性别|级别|类别|别墅|告别"
)


def faithfulness_of(content: str, quote: str, context: str) -> Faithfulness:
    """How `content` relates to the quote it is drawn from, and to the `context` of that, the quote
    included. translated: it is in another language, or in the other Chinese script. unknown: one of the two
    is in a language whose negations are not known here."""
    if not (is_known(content) and is_known(quote)):
        return "unknown"
    content, quote, context = map(_spaced, (content, quote, context))
    if _is_cjk(content) != _is_cjk(quote) and not (_is_cjk(content) and _is_cjk(context)):
        return "translated"
    if adds_names_or_numbers(content, context):
        return "differs"
    words = {word for word in content_words(content) if not word[0].isdigit()}
    if (
        not words
        or contradicts(content, quote)
        or _is_negative(content) != _is_negative(_about(words, quote))
    ):
        return "differs"
    if not _are_shared(words, content, quote, context):
        return "differs"
    return "translated" if _is_script_changed(content, context) else "agrees"


def is_contentless(content: str) -> bool:
    """Whether a content states only that the user agreed, without the subject."""
    statement = _AGREEING.sub(" ", _REPORTING_WORDS_ZH.sub(" ", plain_form(content)))
    return not (content_words(statement) if statement else set[str]()) - _REPORTING_WORDS


def adds_names_or_numbers(content: str, context: str) -> bool:
    """Whether a content has a number or a name in Latin script that its `context` lacks."""
    content, context = _spaced(content), _spaced(context)
    return not (_numbers(content) <= _numbers(context) and _names(content) <= set(tokens(context)))


def leaves_out(content: str, quote: str, before: str) -> bool:
    """Whether a content leaves out what changes its meaning: a negation that stands in the same clause
    `before` the quote, as "I do not" before "like tea"; that it was so once, or may be so; or that its
    subject is another person than the user."""
    *_, prefix = _JOINT.split(before[-MAX_BEFORE:])
    negates = _is_negative(_REMINDER.sub(" ", plain_form(prefix).replace("’", "'")))
    if negates and not _is_negative(content):
        return True
    words = content_words(content)
    parts = [plain_form(part) for part in _JOINT.split(prefix + quote)]
    stated = max(parts, key=lambda part: len(words & set(tokens(part))), default="")
    plain = plain_form(content)
    if any(theirs.search(stated) and not ours.search(plain) for theirs, ours in _QUALIFIERS):
        return True
    is_of_another = _SOMEBODY.search(stated) and not _FIRST_PERSON.search(_SOMEBODY.sub(" ", stated))
    is_named = not _names(prefix + quote).isdisjoint(tokens(content)[:1])
    return bool(is_of_another) and not is_named and not _OF_SOMEBODY.search(_USERS.sub("my ", plain))


def content_words(text: str) -> set[str]:
    """The content words and Chinese characters of a text, without function words."""
    text = _CONTRACTED.sub(" not", text)
    single = {token for token in query_tokens(text) if len(token) == 1 or not is_cjk(token)}
    return single - _FUNCTION_WORDS


def _are_shared(words: set[str], content: str, quote: str, context: str) -> bool:
    there = set(tokens(context))
    if words <= there:
        return True
    statement = _REPORTING_WORDS_ZH.sub(" ", plain_form(content))
    bearing = (content_words(statement) if statement.strip() else words) - _REPORTING_WORDS or words
    if len(bearing & there) < MIN_SHARED * len(bearing):
        return False
    if len(bearing & set(tokens(quote))) < MIN_QUOTED * len(bearing):
        return False
    return not _has_new_run(statement, there) and not _is_substituted(
        statement, _REPORTING_WORDS_ZH.sub(" ", plain_form(quote)), there
    )


def _has_new_run(statement: str, there: set[str]) -> bool:
    run = 0
    for sign in statement:
        run = run + 1 if is_cjk(sign) and _is_new(sign, there) else 0
        if run > MAX_NEW_RUN:
            return True
    return False


def _is_substituted(statement: str, quote: str, there: set[str]) -> bool:
    """Whether one Chinese character stands in the place of another, as in names: 南京 for 北京."""
    own, others = (set(pairwise(filter(is_cjk, _in_order(text)))) for text in (statement, quote))
    return any(
        (_is_new(right, there) and any(a == left and (right, b) not in own for a, b in others - own))
        or (_is_new(left, there) and any(b == right and (a, left) not in own for a, b in others - own))
        for left, right in own
    )


def _in_order(text: str) -> list[str]:
    words = content_words(text) - _REPORTING_WORDS
    return [token for token in tokens(text) if token in words]


def _is_new(word: str, there: set[str]) -> bool:
    return word not in there and word not in _FUNCTION_WORDS and word not in NEGATIONS


def _about(words: set[str], quote: str) -> str:
    """The clauses of a quote that have some of the words; all of it where none has."""
    return ", ".join(each for each in clauses(quote) if words & set(tokens(each))) or quote


def _spaced(text: str) -> str:
    """32GB as 32 GB."""
    return _SPACED.sub(" ", text)


def _numbers(text: str) -> set[str]:
    """The numbers, also those that are written in words. An article counts for none: 一 is also that."""
    found = set(_NUMBER.findall(normalize(text).text))
    return found if re.search(r"(?<!\d)1(?!\d)", plain_form(text)) else found - {"1"}


def _names(text: str) -> set[str]:
    """The tokens of names and identifiers in Latin script; a word that only begins a sentence is none."""
    return {token for name in _NAME.findall(text) for token in tokens(name)} - _FUNCTION_WORDS


def _is_negative(text: str) -> bool:
    plain = _NOT_NEGATIVE.sub("", plain_form(text).replace("’", "'"))
    return _NEGATIVE.search(plain) is not None or not NEGATIONS.isdisjoint(normalize(plain).units)


def _is_cjk(text: str) -> bool:
    return any(map(is_cjk, text))


def _is_script_changed(content: str, context: str) -> bool:
    """Whether a character of the user's is written in the other script."""
    others = {sign for sign in content if is_cjk(sign)} - set(context)
    if not others:
        return False
    return not set(map(plain_form, others)).isdisjoint(map(plain_form, filter(is_cjk, set(context))))
