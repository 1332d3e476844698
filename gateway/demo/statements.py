"""What a user has stated, and which of it answers a question. By patterns and shared words: the demo
understands nothing.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

from gateway.lexical import is_cjk, query_tokens, tokens

MAX_READ = 2000
"""Characters of a text in which statements are looked for."""
MAX_STATEMENTS = 1000
"""The newest statements that a question is compared with."""
STATED = 0.6
"""Share of a question's words that a statement must have to be its answer."""

_END = re.compile(r"(?<=[。！？；])|(?<=[.!?])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMrs\.)(?<!\bSt\.)(?=\s)|\n")
_QUESTION = re.compile(
    r"[?？]\s*$|^\s*(?:what|when|where|who|which|how|why|do|does|did|can|could|would|will|is|are)\b"
    r"|什么|什麼|[几幾哪谁誰吗嗎]|多少|怎么|怎麼|如何|呢\s*$",
    re.IGNORECASE,
)
_STATES = re.compile(
    r"\b(?:my|our)\b.+\b(?:is|are|was|were|has|had|have|will|lives?|likes?|loves?|hates?|works?|starts?|ends?"
    r"|comes?|needs?|costs?|can|goes|runs?|leaves?|arrives?|prefers?|drives?|speaks?|plays?|studies)\b"
    r"|\b(?:my|our)\b[^:：\n]{1,40}[:：]\s*\S"
    r"|\b(?:I|we)(?:['’](?:m|re|ve)\b|\s+(?:always |never |also |usually )?(?:am|are|was|were|have|had|live"
    r"|work|like|love|hate|prefer|own|drive|speak|play|use|study|grew|got|bought|parked|booked|moved|met|drink"
    r"|eat|take|keep|call|need|decided|chose)\b)"
    r"|\b(?:remember|note|keep in mind|(?:don['’]t|do not) forget|for the record|call me)\b"
    r"|我(?:们|們)?(?:的|家|叫|姓|是|住|在|有|最?喜[欢歡]|[讨討][厌厭]|[爱愛]|[养養]|用|[买買]|生于|出生|今年|每|不"
    r"|[妈媽爸哥姐弟妹]|老|女|[儿兒]|太太|先生|[决決]定)"
    r"|[记記](?:住|得|下|一下)|[别別]忘",
    re.IGNORECASE,
)
_ABOUT_THE_USER = re.compile(
    r"\b(?:what|when|where|who|which|how (?:old|many|much|long|tall|big|far|often))\b[^.?!\n]{0,60}?"
    r"(?:\b(?:is|are|was|were|do|does|did|has|have)|['’]s)\s+(?:my|our)\b"
    r"|\b(?:what|when|where|who|which)\b[^.?!\n]{0,40}\bdid (?:I|we)\b|\bwho am I\b|\bwhat am I called\b"
    r"|\b(?:what|where|who)\b[^.?!\n]{0,30}\bdo I (?:live|work|like|love|hate|enjoy|drink|eat|drive"
    r"|prefer|speak|keep|call|own)\b|\b(?:what|where)\b[^.?!\n]{0,20}\bam I (?:allergic|from)\b"
    r"|\bdo you (?:still )?(?:remember|recall|know)\b[^.?!\n]*\b(?:my|our|I|I['’]m)\b"
    r"|\bremind me (?:of|what|where|when|who|which|how)\b"
    r"|我(?:们|們)?(?:的|家|叫|姓|是|住|在|有|[对對](?=.{0,20}敏)|[来來]自|最?喜[欢歡]|[养養]|[妈媽爸哥姐弟妹]|老|女|[儿兒]|太太|先生|生日|今年"
    r"|什[么麼][时時]候|[说說][过過]|告[诉訴]|提到)[^。！？?\n]{0,40}(?:什[么麼]|[几幾哪谁誰]|多少|何[时時处處])"
    r"|[谁誰]是我|[记記]得[^。！\n]{0,40}(?:我|[吗嗎]|什[么麼]|[几幾哪谁誰]|多少)",
    re.IGNORECASE,
)
_FOR_A_FACT = re.compile(
    r"^\s*(?:(?:and|so|also|please|tell me|do you know)[\s,]+)*(?:what|when|where|who|whose|which"
    r"|how (?:old|much|many|long|tall|big|far|often))\b|什[么麼]|[几幾哪谁誰]|多少|何[时時处處]",
    re.IGNORECASE,
)
_EMPTY_CHINESE = re.compile(
    r"[还還]?[记記](?:住|得|一下)|[请請][问問]?|告[诉訴]|[说說][过過]|[别別]忘[记記了]*|什[么麼]|多少|何[时時处處]|[时時]候"
    r"|[哪几幾]一?[天个個位种種]"
    r"|[我你的是吗嗎呢啊吧了在哪里裡几幾谁誰]|[们們]"
)
_EMPTY = (
    "remember recall know say said told tell mention still again ever note forget mind please "
    "what when where who which how is are my our we you me"
)
_WEAK = (
    "favourite favorite colour color name named call called number kind type like live "
    "叫 名字 名 字 颜色 颜 色 号码 号 码 最喜 喜欢 喜 欢"
)
_SUBJECT = re.compile(
    r"\b(?:my|our)\s+(.{1,60}?)"
    r"(?:\s+(?:is|are|was|were|has|have|will|lives?|called|named)\b|['’]s called|[?.:]|$)"
    r"|我(?:们|們)?的?(.{1,30}?)(?:[是叫在有住：:]|什[么麼]|[？?。]|$)",
    re.IGNORECASE,
)


def asks_about_the_user(text: str) -> bool:
    """Whether a text asks for something that the user may have told."""
    return _ABOUT_THE_USER.search(text[:MAX_READ]) is not None


def asks_for_a_fact(text: str) -> bool:
    """Whether a text asks who, what, when, where or how much, and not how or why."""
    return _FOR_A_FACT.search(text[:MAX_READ]) is not None


def sentences(text: str) -> Iterator[str]:
    """The sentences of a text without blanks around them; lines that begin with `/` (directives) are none."""
    for part in _END.split(text[:MAX_READ]):
        sentence = part.strip()
        if sentence and not sentence.startswith("/"):
            yield sentence


def is_question(sentence: str) -> bool:
    return _QUESTION.search(sentence) is not None


def statements(text: str) -> list[str]:
    """The sentences in which a user states something: "My cat is called Tofu.", "记住，我住在杭州。"."""
    return [each for each in sentences(text) if _STATES.search(each) and not is_question(each)]


def answering(question: str, stated: Iterable[str], least: float = STATED) -> str | None:
    """The statement that has most of the question's words; of equals one about the same thing, then the last.
    None when no statement has the share `least` of them."""
    wanted = _weighed(question)
    about = _subject(question)
    best: tuple[bool, float] | None = None
    found: str | None = None
    for statement in list(stated)[-MAX_STATEMENTS:]:
        part = _share(wanted, statement)
        if part < least:
            continue
        rank = (about is not None and _subject(statement) == about, round(part, 3))
        if best is None or rank >= best:
            best, found = rank, statement
    return found


def share(question: str, text: str) -> float:
    """Of the question's words, by their weight, the share that a text has."""
    return _share(_weighed(question), text)


def words(text: str) -> frozenset[str]:
    """The search tokens of a text that say what it is about."""
    return _words(text[:MAX_READ])


def search_words(question: str) -> str:
    """The words of a question to search for, as they are written."""
    plain, wanted = _EMPTY_CHINESE.sub(" ", question[:MAX_READ]), words(question)
    kept = [word for word in re.findall(r"[^\W_](?:[\w.@/-]*[^\W_])?", plain) if words(word) & wanted]
    return " ".join(kept)[:200]


@lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    plain = _EMPTY_CHINESE.sub(" ", text)
    found = set(query_tokens(plain)) - _stems(_EMPTY)
    return frozenset(word for word in found if len(word) > 1 or is_cjk(word) or word.isdecimal())


def _weighed(text: str) -> dict[str, float]:
    return {word: _weight(word) for word in words(text)}


def _share(wanted: Mapping[str, float], text: str) -> float:
    total = sum(wanted.values())
    return sum(wanted[word] for word in wanted.keys() & words(text)) / total if total else 0.0


def _weight(word: str) -> float:
    single = 0.3 if len(word) == 1 and is_cjk(word) else 1.0
    return single * (0.3 if word in _stems(_WEAK) else 1.0)


@lru_cache(maxsize=8)
def _stems(listed: str) -> frozenset[str]:
    return frozenset(token for word in listed.split() for token in tokens(word))


def _subject(text: str) -> frozenset[str] | None:
    match = _SUBJECT.search(text)
    return words(match[1] or match[2]) if match else None
