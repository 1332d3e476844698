"""The title in what a model answered that was asked for one: models add a thought, an introduction, a label,
marks and a full stop. Pure."""

import re
from collections.abc import Iterator

import orjson

from gateway.lexical import is_cjk
from gateway.messages import clean_text, shortened
from gateway.storage.turns import TITLE_LENGTH
from gateway.thinking_in_text import without_thinking
from gateway.tools.wrapping import visible

_MARKS = " \t\"'“”‘’«»「」『』`*#_~"
_TITLE_MARKS = "《》〈〉"
_TAGS = re.compile(r"</?(?:title|b|strong|em|i|h[1-6]|p)>", re.IGNORECASE)
_ITEM = re.compile(r"^(?:[-*+•]|1[.)、])\s+")
_WORDS = (
    r"好的?|当然|當然|没问题|沒問題|可以|以下|下面|如下|这|這|是|为|為|我|给|給|您?你?的"
    r"|本次|这个|這個|一个|一個|简短的?|簡短的?|合适的?|建议的?|建議的?|推荐的?|推薦的?|对话的?|對話的?|会话的?|會話的?|聊天的?"
    r"|sure|certainly|of course|okay|ok|alright|great|here(?:['’]s| is| are)?|this is|the|a|an|your|my|one"
    r"|short|concise|suggested|possible|proposed|suitable|final|conversation|chat|session"
)
_NAMES = (
    r"标题|標題|题目|題目|主题|主題|title|subject|topic|titel|titre|título|titulo|titolo|заголовок"
    r"|タイトル|제목"
)
_BEHIND = (
    r"(?:\s*(?:of|for)\s+(?:this|the|your|our)\s+(?:conversation|chat|session))?"
    r"(?:\s*(?:is|could be|如下|是|为|為))?"
)
_LABEL = re.compile(
    rf"^(?:根[据據][^:：，,]{{0,30}}[，,]\s*)?(?:(?:{_WORDS})[\s，,!！。.]*){{0,12}}"
    rf"(?:{_NAMES}){_BEHIND}\s*[*_]*\s*[:：]\s*[*_]*\s*",
    re.IGNORECASE,
)
_STOP = re.compile(r"(?<![.。．])(?:[。．｡]|(?<!\b\w)\.)$")
_LETTER = re.compile(r"[^\W\d_]")


def title_in(answer: str) -> str:
    """The title alone, on one line, of at most TITLE_LENGTH characters. Raises ValueError: the answer has
    none."""
    lines = [line for line in _lines(without_thinking(answer)) if line]
    title = next((line for line in lines if not _introduces(line)), "")
    title = clean_text("".join(sign for sign in visible(title) if sign.isprintable()))
    if not title:
        raise ValueError("the answer says nothing")
    return shortened(title, TITLE_LENGTH)


def is_foreign(title: str, dialogue: str) -> bool:
    """Whether a title is in another script than all that was said: Chinese, Japanese or Korean where none of
    it was, or none of it where nearly all was."""
    written, said = _share_of_cjk(title), _share_of_cjk(dialogue)
    return (written > 0 and said == 0) or (written == 0 and said > 0.9)


def _share_of_cjk(text: str) -> float:
    letters = _LETTER.findall(text)
    return sum(map(is_cjk, letters)) / len(letters) if letters else 0.5


def _lines(answer: str) -> Iterator[str]:
    yield from filter(None, [_field_of(answer)])
    for line in answer.splitlines():
        if not line.lstrip().startswith(("```", "~~~")):
            yield _bare(line)


def _field_of(answer: str) -> str | None:
    """The title in an answer that is JSON."""
    begin, end = answer.find("{"), answer.rfind("}")
    if not 0 <= begin < end:
        return None
    try:
        found = orjson.loads(answer[begin : end + 1])
    except orjson.JSONDecodeError:
        return None
    title = found.get("title") if isinstance(found, dict) else None
    return _bare(title) if isinstance(title, str) else None


def _bare(line: str) -> str:
    """A line without a label, and without marks around it."""
    bare, before = " ".join(_TAGS.sub("", line).split()), ""
    while bare != before:
        before = bare
        bare = _LABEL.sub("", _ITEM.sub("", bare.strip(_MARKS)))
        bare = _STOP.sub("", bare).strip(_MARKS)
        if bare[:1] in _TITLE_MARKS and bare[-1:] in _TITLE_MARKS:
            bare = bare.strip(_TITLE_MARKS)
    return bare


def _introduces(line: str) -> bool:
    return line.endswith((":", "："))
