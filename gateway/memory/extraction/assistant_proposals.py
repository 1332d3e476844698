"""Proposals of the assistant in a text to which the user assents. Pure."""

import re
from collections.abc import Collection

from gateway.lexical import plain_form, tokens
from gateway.memory.assents import QUESTION, is_assent, is_hesitant
from gateway.memory.sentences import sentences, sentences_at

MIN_PROPOSAL = 24
"""Characters of a question that names the proposal: “shall we do that?” does not."""
MAX_PROPOSAL = 600
"""Characters of a proposal that is cited where the model cited none."""

_ADVICE = re.compile(r"""(?xi)
      \b(?: propos(?:e|al|ed) | suggest(?:ion|ed|s)? | recommend(?:ation|ed|s)? | advise | let's | shall\swe
        | we\s(?:could|should|can) | you\s(?:could|should) | i(?:'d|\swould|'ll)\s | how\sabout | what\sabout
        | why\s(?:not|don't\swe) | we(?:'d|'ll|\swould|\swill)\s | let\sus
        | my\s(?:plan|idea|approach) | the\splan | option\s[a-z0-9]\b | want\sme\sto | would\syou\slike )
    | 建议 | 提议 | 推荐 | 方案 | 计划 | 不如 | 要不 | 可以考虑 | [我咱]们?可以 | 你可以 | 打算 | 采用
      | 选用 | 改用 | 应该 | 最好
""")
_ASKS_FOR_YES = re.compile(
    r"(?:and\s|so\s)?(?:(?:shall|should|can)\s(?:we|i)(?:\s(?:do|go\swith)\s(?:that|this|it))?|ok(?:ay)?|right|agreed?"
    r"|deal|alright|(?:does|do|would|is|are|how\sdoes)\s(?:that|this|it|you)(?:\s(?:be|sound|look|work|seem|suit|agree"
    r"|good|fine|ok(?:ay)?|right|for|with|to|you|me|that|this|us|all))*|what\sdo\syou\s(?:think|say)"
    r"|(?:[你您]?(?:觉得|看|认为)?(?:这样|如此|这么[办做定])?(?:好|行|可以|对|是|同意|没问题|怎么?样|如何|呢|怎么看)"
    r"(?:不[好行对是可](?:以)?)?[吗嘛么吧呢]?))"
)
"""For the plain form of a clause that only asks for a yes to the words before it."""
_OPENSQUESTION = re.compile(
    r"(?:and\s|so\s|then\s)?(?:do|does|did|is|are|am|was|were|have|has|can|could|would|will|should|shall|may|must)\b"
    r"|是不是|是否|要不要|需不需要|会不会|能不能"
)
_LISTED = re.compile(
    r"\s*[*_]{0,2}(?:[-*•·+]\s|\d{1,2}[.)、:：]|[a-e][.)、:：]|[一二三四五六七八九十甲乙丙丁][、.:：]|第[一二三四五六七八九十]"
    r"|方案|選項|选项|option\b|plan\b)|\s+\S",
    re.IGNORECASE,
)
_QUOTED = re.compile(
    r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)|^[ \t]*>.*$"
    r"|“[^”]{0,2000}”|„[^„“”]{0,2000}[“”]|«[^»]{0,2000}»|「[^」]{0,2000}」|『[^』]{0,2000}』|\"[^\"\n]*\"",
    re.DOTALL | re.MULTILINE,
)
_WORD = re.compile(r"[\u3400-\u9fff]{2}|[^\W\u3400-\u9fff]+")
MAX_NAME = 3
"""Words, or pairs of Chinese characters, in quotation marks that may be no more than a name."""
_REPORTED = re.compile(
    r"\b(?:pages?|sites?|websites?|articles?|documents?|files?|e-?mails?|mails?|letters?|messages?|posts?|authors?"
    r"|attachments?|results?|tools?|readmes?|tickets?|comments?)\s(?:also\s|itself\s)?(?:says?|said|states?|claims?"
    r"|reads?|tells?|told|mentions?|recommends?|suggests?|asks?|wants?|writes?|wrote|demands?|instructs?)\b"
    r"|\baccording\sto\b"
    r"|(?:网页|页面|网站|文章|文件|文档|邮件|来信|信|附件|作者|帖子|评论|工具|结果)[上里中内]?(?:还|也|都)?"
    r"(?:写[着道了]?|说|称|提到|提及|建议|要求|推荐|指出|表示)|(?:根据|按照|据)(?:网页|页面|网站|文章|文件|文档|邮件|附件)"
)
"""For the plain form of a sentence that reports another one."""
_PICKED = re.compile(
    r"\b(?:option|plan|version|number)\s(?P<named>[a-e1-9])\b|\bthe\s(?P<nth>first|second|third|fourth|fifth)\b"
    r"|(?P<end>\bthe\s(?:last|latter|former|other)\b|后者|前者|另一?个|最后一)"
    r"|(?:方案|选项|计划)(?P<named_zh>[a-e1-9甲乙丙丁一二三四五])|第(?P<nth_zh>[1-9一二三四五])"
)
"""For the plain form of the user's words: which of several they take."""
_LABEL = re.compile(
    r"(?:\b(?:option|plan|version|number)\s|方案|选项|選項|计划|計劃)(?P<named>[a-e1-9甲乙丙丁一二三四五])(?![^\W_])"
    r"|(?:^[ \t]*(?:[-*•][ \t]+)?|(?<=[\s,;，；。]))[*_]{0,2}"
    r"(?P<item>[a-e]|\d|[甲乙丙丁一二三四五])[*_]{0,2}\s?[.)、:：](?!\d)",
    re.IGNORECASE | re.MULTILINE,
)
_ORDINALS = ("a1甲一", "b2乙二", "c3丙三", "d4丁四", "e5五")
_NTH = ("first", "second", "third", "fourth", "fifth")
_CLAUSE = re.compile(r"(?:[^,，;；]|,(?=\d))+")


def is_answered_by(text: str, proposal: str) -> bool:
    """Whether an assent is one to `proposal`, the assistant's words before it. “Ok” also answers texts
    without a proposal."""
    if not proposal or not is_assent(text):
        return False
    return not is_hesitant(text) or proposes(proposal)


def proposes(text: str) -> bool:
    """Whether a text of the assistant proposes or asks something."""
    return QUESTION.search(text) is not None or _ADVICE.search(plain_form(text)) is not None


def proposal_in(text: str) -> str | None:
    """The sentence of the assistant that proposes something, with the list that follows it."""
    for sentence in sentences_at(text):
        if not _ADVICE.search(plain_form(sentence[0])) or _is_only_asked(sentence[0]):
            continue
        end = sentence.end()
        if sentence[0].rstrip().endswith((":", "：")):
            following = text[end : end + MAX_PROPOSAL].lstrip("\n")
            listed, _, _ = following.partition("\n\n")
            end = text.index(listed, end) + len(listed) if listed.strip() else end
        return text[sentence.start() : end].strip()[:MAX_PROPOSAL]
    return None


def is_proposed(text: str, start: int, end: int, words: Collection[str] = ()) -> bool:
    """Whether the assistant proposes or asks the text from `start` to `end`, rather than report it: the words
    for that stand before its end, in the sentence or in what introduces its list, or it is what the question
    is about. Of a sentence the clause counts that has most of the `words`."""
    return all(
        _proposes_clause(each, start, end, words)
        or bool(_ADVICE.search(_introduction(text, each.start())))
        or _is_asked_for_yes(text[each.end() :])
        for each in sentences_at(text, start, end)
    )


def is_picked(message: str, text: str, start: int, end: int) -> bool:
    """Whether the option that the user names in `message`, if any, is the one of which the assistant speaks
    from `start` to `end`, and of no other."""
    picks = list(_PICKED.finditer(plain_form(message)))
    if not picks:
        return True
    wanted = {_ordinal(pick["named"] or pick["nth"] or pick["named_zh"] or pick["nth_zh"]) for pick in picks}
    labels = [(each.start(), _ordinal(each["named"] or each["item"])) for each in _LABEL.finditer(text)]
    own = {number for at, number in labels if start <= at < end}
    own |= {number for _, number in [each for each in labels if each[0] <= start][-1:]}
    return len(wanted) == 1 and own == wanted and None not in wanted


def _ordinal(named: str | None) -> int | None:
    """Which of several a name stands for: 2 for B, 乙 and the second; None when it names none."""
    if not named:
        return None
    if named in _NTH:
        return _NTH.index(named) + 1
    found = (at for at, names in enumerate(_ORDINALS, 1) if named.casefold() in names)
    return next(found, int(named) if named.isdecimal() else None)


def repeats_others(text: str, start: int, end: int) -> bool:
    """Whether text[start:end] of the assistant's has words that it only repeats, of a page or a file: in
    code, in quoted lines or quotation marks, or reported as its content, also before a list."""
    for quoted in _QUOTED.finditer(text):
        is_name = quoted[0][0] not in "`~> \t" and len(_WORD.findall(quoted[0])) <= MAX_NAME
        if not is_name and quoted.start() < end and start < quoted.end():
            return True
    return any(
        _REPORTED.search(plain_form(each[0])) or _REPORTED.search(_introduction(text, each.start()))
        for each in sentences_at(text, start, end)
    )


def _proposes_clause(sentence: re.Match[str], start: int, end: int, words: Collection[str]) -> bool:
    """Whether the part of a sentence that stands from `start` to `end` is proposed or asked in it."""
    statement = sentence[0].rstrip()
    found = list(_CLAUSE.finditer(statement))
    first, last = start - sentence.start(), end - sentence.start()
    cited = [at for at, each in enumerate(found) if each.start() < last and first < each.end()]
    if not cited:
        return True  # signs alone
    own = max(cited, key=lambda at: len(set(words) & set(tokens(found[at][0]))))
    until = plain_form(statement[: found[own].end()])
    if _ADVICE.search(until):
        return True
    if not QUESTION.search(statement):
        return False
    return own == len(found) - 1 or bool(_OPENSQUESTION.match(until)) or _is_asked_for_yes(found[-1][0])


def _is_asked_for_yes(text: str) -> bool:
    """Whether a text begins with a question for a yes to what stands before it."""
    first = next(iter(sentences(text)), "")
    return bool(QUESTION.search(first) and _ASKS_FOR_YES.fullmatch(plain_form(first)))


def _introduction(text: str, at: int) -> str:
    """The plain form of the line that introduces the list of which the line at `at` is a part; "" for
    none."""
    begin = text.rfind("\n", 0, at + 1) + 1
    for line in reversed(text[:begin].splitlines()):
        written = line.strip().rstrip("*_ ")
        if written.endswith((":", "：")) or written.startswith("#"):
            return plain_form(written)
        if written and not _LISTED.match(line):
            return ""
    return ""


def _is_only_asked(sentence: str) -> bool:
    return QUESTION.search(sentence) is not None and len(plain_form(sentence)) < MIN_PROPOSAL
