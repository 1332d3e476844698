"""Words for a change in a statement, and the forms in which statements with them are compared. All patterns
are for the plain form of a text."""

import re
from collections.abc import Iterator
from typing import Literal

from gateway.lexical import plain_form
from gateway.memory.similarity.normalization import units

Cue = Literal["change", "from now on", "now"]

MAX_VALUE = 8
"""Words or Chinese characters of a value."""

_MOVED = (
    "moved|relocated|rescheduled|postponed|delayed|deferred|pushed(?: back)?|brought forward|shifted|put off"
    "|put back"
)
_TURNED = (
    "changed|switched|migrated|raised|increased|reduced|lowered|cut|extended|shortened|renamed|upgraded"
    "|went up|went down"
)
"""English verbs for a change of a place or a time, and of a choice or an amount."""
_MOVED_ZH = "(?:搬|迁|移|挪|换(?=到)|改签|改期|改|推迟|延期?|延后|提前|顺延|调整?)[到至去进在往]"
_TURNED_ZH = (
    "(?:换|改|调整?|变更?|更改|更换|提高|降低?|调?涨|增加?|减少?|升级?|上调|下调|提升|缩短|延长)"
    "[成为到至用了]"
)
_ANEW_ZH = "(?<![修更批整悔])改(?![进善革变正动编造良日天])(?=[\u4e00-\u9fff])"
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
    rf"|(?:{_MOVED}|{_TURNED}|moving|changing|switching)"
    r"(?: (?:it|them|(?:my|our|the) [^,;]{1,40}?))? (?:to|until|till|from))\b"
    rf"|{_MOVED_ZH}|{_TURNED_ZH}|{_ANEW_ZH}|更正|说错|搞错|记错|(?:^|[,;:。!\s])不[对是](?=[,;:。!\s])"
)
_HENCEFORTH = re.compile(r"\bfrom now on\b|以后|今后|从此")
_NOW = re.compile(
    r"\b(?:from now on|as of (?:now|today)|now|currently|nowadays|these days|no longer|instead(?! of))\b,?"
    r"|不再|从?现在起?|目前|如今|眼下|以后|今后|从此|[已]经"
)
PLACED, CALLED, USED = "@", "=", "~"
SIGNS = frozenset((PLACED, CALLED, USED))
"""The signs that stand for a verb in a form of a statement."""
_WAS = r"(?:\b(?:is|are|was|were|has|have|had|been|be|got|gets) )*"
_FROM, _FROM_ZH = "(?:from [^,;]{1,40}? )?", "(?:[从由][^,;]{1,20}?)?"
_LEAD_IN = re.compile(r"^(?:(?:no|correction|不[对是]|更正|说错了|搞错了|记错了)\s?[,;:.。]\s?)+")
_DONE_BY_US = re.compile(
    rf"^(?:i|we|they)(?: have)? (?P<verb>{_MOVED}|{_TURNED}) (?P<what>(?:my|our|the) [^,;]{{1,40}}?)"
    r"(?= (?:back )?(?:to|from|until)\b)"
    r"|^(?:我们?|他们|公司)?把(?P<thing>[^,;]{1,20}?)(?=[改换推搬提挪调延])"
)
_INSTEAD_OF = re.compile(r"\b(?:instead|in place) of\b")
_FROM_TO = (
    re.compile(rf"{_WAS}(?:{_MOVED}|{_TURNED}) from (?P<old>[^,;]{{1,40}}?) to\b"),
    re.compile(rf"[从由把](?P<old>[^,;]{{1,20}}?)(?:{_MOVED_ZH}|{_TURNED_ZH})了?"),
    re.compile(r"不再?用(?P<old>[^,;]{1,20}?)了?[,; ]*(?:改用|换成|而?是?用)了?"),
)
_CHANGES: tuple[tuple[re.Pattern[str], tuple[tuple[str, bool], ...]], ...] = (
    (
        re.compile(rf"{_WAS}(?:{_MOVED}) {_FROM}(?:to|until|till)\b|{_FROM_ZH}{_MOVED_ZH}了?"),
        ((PLACED, False), (CALLED, True)),
    ),
    (
        re.compile(rf"{_WAS}(?:{_TURNED}) {_FROM}to\b|{_FROM_ZH}{_TURNED_ZH}了?"),
        ((CALLED, False), (USED, False), (PLACED, True), ("", False)),
    ),
    (re.compile(_ANEW_ZH), (("", False),)),
)
"""Verbs of change, with the signs that each may stand for, and whether only for measures."""
_VERBS = (
    (re.compile(r"在(?=[学做看读写用练教])"), ""),
    (re.compile(r"\bworks? for\b"), "work at"),
    (
        re.compile(
            r"\b(?:(?:is|are|am|will be) (?:(?:located|based|hosted|held|situated|scheduled|planned|set|due"
            r"|booked) )?(?:in|at|on|for|every)|takes? place (?:in|at|on)|lives? in"
            r"|runs? (?:on|at) (?=[a-z]+day\b)|happens? (?:in|at|on))\b"
            r"|位于|定于|(?:住|安排|托管|部署|运行|存放|[设定订放存跑])在|(?<![现正])在"
        ),
        PLACED,
    ),
    (
        re.compile(
            r"\b(?:is|are|am)(?: (?:called|named))?\b|(?<![但还就于可])是|(?<![因认作以设])为|名?叫做?"
            r"|设[为成]?(?=\d)"
        ),
        CALLED,
    ),
    (re.compile(r"\b(?:uses?|using|runs? on)\b|[使采选]?用(?!户)"), USED),
)


def cue_of(*texts: str) -> Cue | None:
    """The strongest word of change in the texts. "change": something took the place of another, or was wrong;
    the others only state that it holds now. None also when both hold, or for what might be."""
    plain = [plain_form(text) for text in texts]
    if any(map(is_unsettled, plain)):
        return None
    cues: tuple[tuple[Cue, re.Pattern[str]], ...]
    cues = (("change", _CHANGE), ("from now on", _HENCEFORTH), ("now", _NOW))
    return next((cue for cue, words in cues if any(words.search(text) for text in plain)), None)


def is_unsettled(plain: str) -> bool:
    """Whether a text in its plain form says that both hold ("too", 也), or what only might be."""
    return _NOT_STATED.search(plain) is not None


def forms_of(text: str) -> list[tuple[tuple[str, ...], bool]]:
    """A normalized statement with each sign that its verb of change may stand for, and whether only for
    measures; as it is when it has none."""
    text = _without_now(_in_passive(text))
    found = [
        (_signed(change.sub(f" {sign} ", text, count=1)), only_measures)
        for change, signs in _CHANGES
        if change.search(text)
        for sign, only_measures in signs
    ]
    return found or [(_signed(text), False)]


def former_forms(text: str) -> set[tuple[str, ...]]:
    """The forms of the former statement that a normalized statement with the former value implies: "Helm
    instead of Kustomize"."""
    texts = (*_former_statements(_without_now(text)), *_former_statements(_in_passive(text)))
    return {_signed(each) for each in texts}


def _former_statements(text: str) -> Iterator[str]:
    for match in _INSTEAD_OF.finditer(text):
        words = text[: match.start()].split()
        for count in range(1, min(MAX_VALUE, len(words)) + 1):
            yield " ".join((*words[:-count], text[match.end() :]))
    for form in _FROM_TO:
        for match in form.finditer(text):
            words = text[match.end() :].split()
            for count in range(min(MAX_VALUE, len(words)) + 1):
                for sign in ("", *sorted(SIGNS)):
                    yield f"{text[: match.start()]} {sign} {match['old']} {' '.join(words[count:])}"


def _without_now(text: str) -> str:
    """Without the words that only mean that it holds now."""
    return " ".join(_NOW.sub(" ", text).split())


def _in_passive(text: str) -> str:
    """ "We moved the review to" is "the review moved to", 我们把评审改到 is 评审改到; without "no, "."""
    return _DONE_BY_US.sub(
        lambda match: match["thing"] or f"{match['what']} {match['verb']}", _LEAD_IN.sub("", text)
    )


def _signed(text: str) -> tuple[str, ...]:
    for verb, sign in _VERBS:
        text = verb.sub(f" {sign} ", text)
    return units(text)
