"""What of a user's words is worth knowing in later conversations, and what they ask of the memory. By
patterns: the demo understands nothing.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from gateway.demo.oneself import is_lasting_fact, without_opening
from gateway.demo.statements import MAX_READ, is_question, sentences, statements

MAX_SAVED = 5
"""Statements of one message that are kept."""

_ASKED = re.compile(
    r"\s*(?:please\s+)?(?:remember|note(?:\s+down)?|keep in mind|(?:don['’]t|do not) forget)\b(?!\s+to\b)"
    r"(?:\s+that\b)?[\s:：,]*(?P<english>\S.*)"
    r"|\s*(?:[请請]|麻[烦煩])?[你您]?(?:一定)?要?(?:[帮幫]我)?"
    r"(?:[记記](?:住|得|一下)|(?:[别別]|不要)忘(?:了|[记記])?)(?!了)[\s:：,，]*(?P<chinese>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_PREFERS = re.compile(
    r"\b(?:I|we)\s+(?:(?:really|always|usually|generally|strongly|still|also|do not|don['’]t)\s+)*"
    r"(?:prefer|like|love|enjoy|hate|dislike)\b(?!\s+(?:it|this|that|these|those|your?|the answer)\b)"
    r"|\bmy (?:preferred|favou?rite)\b.+\b(?:is|are)\b|\bfrom now on\b"
    r"|^\s*(?:please\s+)?(?:always|never) (?:use|answer|reply|write|call|speak)\b"
    r"|我(?:们|們)?(?:最|很|[还還]是|比[较較]|更|一直|都|也|特[别別]|非常|[从從]|真的)*"
    r"(?:不(?:太|怎么|怎麼)?)?(?:喜[欢歡]|偏好|偏[爱愛]|[讨討][厌厭])(?!你|您|[这這那它])"
    r"|我(?:们|們)?[从從]?不[吃喝用抽]|我的(?:偏好|喜好)是|以[后後]\s*(?:都|就|[请請])|[从從][现現]在(?:起|[开開]始)",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"[,，;；]\s*(?:(?:so|and|then|所以|那|就|然[后後])\s*)*"
    r"(?:[请請]|[帮幫給给替]我|please\b|can you\b|could you\b|help me\b"
    r"|(?:make|design|draw|write|create) (?:me\b|an?\b)).*$",
    re.IGNORECASE | re.DOTALL,
)
_BEGS = re.compile(
    r"\s*(?:please|can you|could you|would you|help me|make|design|draw|write|create|plan|suggest|recommend"
    r"|choose|pick|[请請帮幫替])(?:\b|(?<=[^\x00-\x7f]))",
    re.IGNORECASE,
)
_REQUEST_FIRST = re.compile(
    rf"(?:{_BEGS.pattern}|\s*(?:I (?:need|want)\b|let['’]s\b|[给給]我|我(?:想|需?要))).{{0,300}}?"
    r"(?:[,，;；]\s*|\s+(?=because\b|since\b|as I\b)|(?=因[为為]))"
    r"(?:(?:because|since|as|and|but|因[为為]|但是?)\s*)*(?=(?:I|we|my|our)\b|我)",
    re.IGNORECASE | re.DOTALL,
)
_STANDING = re.compile(r"\b(?:always|never|from now on)\b|以[后後]|[从從][现現]在", re.IGNORECASE)
_SECRET = re.compile(
    r"\bpass(?:word|phrase|code)s?\b|\bapi[ _-]?keys?\b|\btokens?\b|\bsecrets?\b|\bPIN\b"
    r"|密[码碼]|密[钥鑰]|口令|令牌",
    re.IGNORECASE,
)
_LIST = re.compile(
    r"\bwhat (?:do|can|did|have) you (?:still |all )?(?:remember|know|recall|remembered|saved)\b"
    r"[^.?!\n]{0,10}\b(?:about|of) (?:me|us)\b"
    r"|\b(?:list|show)(?: me)? (?:all )?(?:my|your|the) memor(?:y|ies)\b"
    r"|[记記](?:得|住)(?:了|[过過])?(?:[关關][于於])?我的?(?:些?什[么麼]|[哪那]些(?:事|[东東]西)?)"
    r"|[关關][于於]我[，,]?\s*你?(?:都|[还還]|现在)?(?:[记記](?:得|住)|知道)(?:了|[过過])?(?:些?什[么麼]|哪些)"
    r"|(?:列出|[显顯]示|看看)(?:一下)?(?:所有|全部)?(?:你|我)?的?(?:所有|全部)?的?[记記][忆憶]",
    re.IGNORECASE,
)
_FORGET = re.compile(
    r"\s*(?:please\s+)?(?:forget\b(?!\s+(?:it|about it|to)\b)"
    r"|(?:delete|remove)\s+(?:the|my|that|your) memor(?:y|ies)\b)"
    r"(?:\s+(?:that|about|of|what I said about))*\s*(?P<english>\S.*)"
    r"|\s*(?:[请請]|麻[烦煩])?[你您]?(?:[帮幫]我)?(?:忘(?:掉|[记記]|了)|[删刪](?:掉|除)(?=.*[记記][忆憶得]))"
    r"[\s:：,，]*(?:[关關][于於])?(?P<chinese>\S.*)"
    r"|\s*[请請]?(?:把|[将將])(?P<turned>.{1,200}?)"
    r"(?:忘(?:掉|[记記]|了)|[从從](?:你的)?[记記][忆憶][中里裡]?[删刪](?:掉|除)).*",
    re.IGNORECASE | re.DOTALL,
)
_CHANGE = re.compile(
    r"\s*(?:please\s+)?(?:update|change|correct)\s+(?:the memory (?:that|about|of)\s+)?"
    r"(?P<topic>my\b.{1,120}?)\s+(?:to|into)\s+(?P<new>\S.*)"
    r"|\s*[请請]?(?:[帮幫]我)?(?:把|[将將])"
    r"(?P<theme>(?=[^。\n]{0,80}?(?:我|偏好|喜好|喜[欢歡]|[记記][忆憶]|[习習][惯慣]))[^。\n]{1,80}?)"
    r"(?:改成|改[为為]|更新[为為成]|[换換]成)\s*(?P<fresh>\S.*)",
    re.IGNORECASE | re.DOTALL,
)
_MAKES = re.compile(
    r"^\s*(?:(?:please|can you|could you|would you|help me(?: to)?|I (?:need|want)(?: you)?(?: to)?"
    r"|let['’]s)\s+)*"
    r"(?:design|draw|make|create|write|compose|draft|plan|suggest|recommend|choose|pick)\b"
    r"|\b(?:logo|business card|poster|slogan|website|landing page)s?\b"
    r"|(?:[帮幫給给替]我|[请請]|我(?:想|要|需要)|[来來]).{0,6}?"
    r"(?:做|[设設][计計]|[写寫]|[画畫]|起|取|[选選]|挑|推[荐薦]|安排|[规規][划劃]|[制製]作)"
    r"|^\s*(?:[设設][计計]|[写寫]|[画畫]|推[荐薦])|名片|海[报報]|[标標]志|[标標][语語]|[网網][页頁站]",
    re.IGNORECASE,
)
_AT_ENDS = " \t\n。.!！,，;；"
_THIS_MATTER = re.compile(
    r"(?:[这這那](?:件事|[个個]事|一?[点點]|[个個]偏好)|的(?:事情?|[记記][忆憶]))?[吧了]?$"
)


class Lasting(NamedTuple):
    """A statement to keep: the user's own words, without those that only ask to keep it."""

    content: str
    type: Literal["preference", "fact"]


class Change(NamedTuple):
    """What is to be changed, and what it is to be."""

    topic: str
    new: str


def lasting(text: str) -> list[Lasting]:
    """What of a message is to be kept: preferences, lasting facts about the user, and what they ask to
    remember; no questions, no secrets."""
    return [kept for _, kept in _kept(text)][:MAX_SAVED]


def without_lasting(text: str) -> str:
    """The sentences of a message that hold nothing of that."""
    kept = {sentence for sentence, _ in _kept(text)}
    return " ".join(each for each in sentences(text) if each not in kept)


def asks_what_is_remembered(text: str) -> bool:
    return _LIST.search(text[:MAX_READ]) is not None


def to_forget(text: str) -> str | None:
    """What the user wants forgotten, in their words."""
    found = _FORGET.fullmatch(text[:MAX_READ])
    if found is None or is_question(text):
        return None
    said = found["english"] or found["chinese"] or found["turned"]
    return _THIS_MATTER.sub("", said.strip(_AT_ENDS)).strip(_AT_ENDS) or None


def to_change(text: str) -> Change | None:
    """What the user wants changed: "把我的…改成…", "update my … to …"."""
    found = _CHANGE.fullmatch(text[:MAX_READ])
    if found is None or is_question(text):
        return None
    topic, new = (found["topic"] or found["theme"]).strip(), (found["new"] or found["fresh"]).strip(_AT_ENDS)
    if not new:
        return None
    if _PREFERS.search(new) or statements(new):
        return Change(topic, new)
    return Change(topic, f"{topic}: {new}" if topic.isascii() else f"{topic}：{new}")


def asks_to_make(text: str) -> bool:
    """Whether the user wants something made or chosen, for which their preferences count."""
    return _MAKES.search(text[:MAX_READ]) is not None


def is_secret(text: str) -> bool:
    """Whether a text is about a password or a key: that is not kept."""
    return _SECRET.search(text) is not None


def _kept(text: str) -> Iterator[tuple[str, Lasting]]:
    for sentence in sentences(text):
        asked = _ASKED.fullmatch(sentence)
        said = (asked["english"] or asked["chinese"]) if asked else _stated(sentence)
        content = _REQUEST.sub("", said).strip(_AT_ENDS)
        prefers = _PREFERS.search(content) is not None
        if not content or is_question(sentence) or is_secret(content):
            continue
        if asked or prefers or is_lasting_fact(content):
            yield sentence, Lasting(content, "preference" if prefers else "fact")


def _stated(sentence: str) -> str:
    """What a sentence says without a request before it; nothing of one that is only a request."""
    said = without_opening(sentence)
    if _STANDING.search(said):
        return said
    said = _REQUEST_FIRST.sub("", said, count=1) if _REQUEST_FIRST.match(said) else said
    return "" if _BEGS.match(said) else said
