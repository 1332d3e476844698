"""Words by which a statement says that something changed. All patterns are for the plain form of a text."""

import re
from typing import Literal

from gateway.lexical import plain_form

Cue = Literal["change", "from now on", "now"]

MOVED = (
    "moved|relocated|rescheduled|postponed|delayed|deferred|pushed(?: back)?|brought forward|shifted|put off"
    "|put back"
)
TURNED = (
    "changed|switched|migrated|raised|increased|reduced|lowered|cut|extended|shortened|renamed|upgraded"
    "|went up|went down"
)
"""English verbs that say of a place or a time, and of a choice or an amount, that it is another one."""
MOVED_ZH = "(?:搬|迁|移|挪|换(?=到)|改签|改期|改|推迟|延期?|延后|提前|顺延|调整?)[到至去进在往]"
TURNED_ZH = (
    "(?:换|改|调整?|变更?|更改|更换|提高|降低?|调?涨|增加?|减少?|升级?|上调|下调|提升|缩短|延长)"
    "[成为到至用了]"
)
ANEW_ZH = "(?<![修更批整悔])改(?![进善革变正动编造良日天])(?=[\u4e00-\u9fff])"
"""改 before the verb whose object is another one: 改喝豆浆."""

_NOT_STATED = re.compile(
    r"\b(?:too|also|as well|either|another|in addition|besides|both|if|unless|would|could|might|almost|nearly"
    r"|wants? to|plan(?:s|ned|ning)? to|hop(?:es?|ing) to|going to|thinking|considering|maybe|perhaps"
    r"|wish(?:es)?|not (?:moved|changed|switched|postponed))\b"
    r"|也|又|还[在有会要喜用想学爱]|另外|此外|同时|如果|要是|假如|万一|想(?![法象])|希望|打算|考虑|差点|可能|或许"
    r"|[我们]要[从搬换改]|[没未别]有?[改换搬迁推]|\?$"
)
_CHANGE = re.compile(
    r"\b(?:instead|correction|i was wrong|i meant"
    rf"|(?:{MOVED}|{TURNED}|moving|changing|switching)"
    r"(?: (?:it|them|(?:my|our|the) [^,;]{1,40}?))? (?:to|until|till|from))\b"
    rf"|{MOVED_ZH}|{TURNED_ZH}|{ANEW_ZH}|更正|说错|搞错|记错|(?:^|[,;:。!\s])不[对是](?=[,;:。!\s])"
)
_HENCEFORTH = re.compile(r"\bfrom now on\b|以后|今后|从此")
_NOW = re.compile(
    r"\b(?:from now on|as of (?:now|today)|now|currently|nowadays|these days|no longer|instead(?! of))\b,?"
    r"|不再|从?现在起?|目前|如今|眼下|以后|今后|从此|[已]经"
)


def cue_of(*texts: str) -> Cue | None:
    """The strongest word of change in the texts. "change": something took the place of another, or was wrong;
    the others only say that it holds now. None also when they say that both hold, or what might be."""
    plain = [plain_form(text) for text in texts]
    if any(_NOT_STATED.search(text) for text in plain):
        return None
    cues: tuple[tuple[Cue, re.Pattern[str]], ...]
    cues = (("change", _CHANGE), ("from now on", _HENCEFORTH), ("now", _NOW))
    return next((cue for cue, words in cues if any(words.search(text) for text in plain)), None)


def without_now(text: str) -> str:
    """A normalized text without the words that only say that it holds now."""
    return " ".join(_NOW.sub(" ", text).split())


def without_cues(text: str) -> str:
    """A normalized text without its words of change."""
    return _CHANGE.sub(" ", without_now(text))
