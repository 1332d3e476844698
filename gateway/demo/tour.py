"""A short tour through the gateway, in English and Chinese: what the demo shows, and what to say for it.

Everything follows from the request alone, so a turn that another process goes on with ends the same.
"""

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from gateway.demo import skill_steps as skills
from gateway.demo.demo_tools import MAX_ORDERS, NOTE, ORDERS, TOTALS
from gateway.demo.directives import ScriptedCall, Think, Wanted
from gateway.demo.phrases import phrase
from gateway.demo.question import MAX_READ, DemoPrompt, closest, is_question, language_for, related, sentences
from gateway.demo.result_report import MAX_LISTED, report
from gateway.demo.wire import text_block
from gateway.messages import shortened
from gateway.tools.base import READ_ARTIFACT

MEMORY, ARCHIVE, DOCS, SUM, TIME = "manage_memory", "read_archive", "search_docs", "calculate", "current_time"
MAX_CALLS = 4

_STATEMENT = r"(?P<text>[^\s?？][^?？]*)$"
_LONG_LINES = 28
_LONG = re.compile(r"(?<!how )\blong\b|长文|長文|长长|很长|长一点", re.IGNORECASE)
_THINK = re.compile(r"\bthink|思考|想一想|想想", re.IGNORECASE)
_LIKES = re.compile(r"(?i)\b(?:like|love|prefer|hate|always|never|now on)\b|喜[欢歡]|偏好|以[后後]|[现現]在")
_FORGET = re.compile(r"\bforget\b(?! to\b)(?:.*\babout\b|\s+that\b)?|忘[掉记記]", re.IGNORECASE)
_SIGNS = {"×": "*", "÷": "/", "乘以": "*", "除以": "/", "加": "+", "减": "-", "times": "*", "plus": "+"}
_SIGN = re.compile(rf"(?<=[\d)])\s*({'|'.join(_SIGNS)})\s*(?=[\d(])")
_DATE = re.compile(r"\b\d{4}-\d{1,2}(?:-\d{1,2})?\b|\b\d+(?:\.\d+){2,}\b")


@dataclass(frozen=True, slots=True)
class Stop:
    """One stop of the tour: its tool, the pattern of messages for it, the call's arguments, and an example in
    both languages."""

    tool: str
    pattern: str
    arguments: Callable[[re.Match[str]], dict[str, Any]]
    english: str
    chinese: str

    def found_in(self, text: str) -> list[ScriptedCall]:
        """The calls for a message, one for each match of the pattern."""
        found = re.finditer(self.pattern, text, re.IGNORECASE)
        return [ScriptedCall(self.tool, self.arguments(each)) for each in found]


def _saved(found: re.Match[str]) -> dict[str, Any]:
    content = found["text"].strip(" 。.!！")
    return {"action": "save", "content": content, "type": "preference" if _LIKES.search(content) else "fact"}


def _count(found: re.Match[str]) -> dict[str, Any]:
    number = int(found["count"].replace(",", "")) if found["count"] else MAX_ORDERS
    return {"count": max(1, min(number, MAX_ORDERS))}


ALONE = (
    Stop(
        MEMORY,
        r"(?:^|[,，.!。！])\s*(?:(?:please\s+)?remember\b(?! to\b)(?:\s+that\b)?|[请請]?[记記]住"
        r"|(?=my name is\b|call me\b|from now on\b|我叫|[从從][今现現]|以[后後][请請用叫]))[\s:：,，]*"
        + _STATEMENT,
        _saved,
        "Remember that I like a plain design style.",
        "记住，我喜欢简约的设计风格",
    ),
    Stop(
        MEMORY,
        r"\bwhat do you remember\b|[记記]得我(?:些|的)?什[么麼]|都?[记記]得哪些",
        lambda _: {"action": "list"},
        "What do you remember about me?",
        "你都记得我什么？",
    ),
    Stop(
        NOTE,
        r"^\s*(?:note\s+that\b|[记記]一下)[\s:：,，]*" + _STATEMENT,
        lambda found: {"text": found["text"].strip()},
        "Note that the door code is 4711.",
        "记一下：门禁密码是 4711",
    ),
    Stop(
        ORDERS,
        r"(?:(?P<count>\d[\d,]{0,9})\s*)?(?:sample orders|[条條]?(?:示例|范例|範例)[订訂][单單])",
        _count,
        "Show me 10000 sample orders",
        "给我一万条示例订单",
    ),
)
"""The first that is meant is the only one."""
TOGETHER = (
    Stop(
        DOCS,
        r"[^.?!。？！；\n]*(?:\b(?:gateway|resume|streams?|streaming|reconnect|sessions?|turns?|events?|replay|cancel|memory"
        r"|compress\w*|skills?|artifacts?|approvals?|prompts?|api|sse|settings?|configure|deploy|traces?|metrics|limits?)\b"
        r"|网关|恢复|恢復|断线|流式|会话|事件|回放|取消|记忆|压缩|技能|工件|批准|提示词|接口|配置|设置|部署|追踪|指标)[^.?!。？！；\n]*",
        lambda found: {"query": found[0].strip()[:200]},
        "How do I resume a stream?",
        "怎么恢复一个流？",
    ),
    Stop(
        SUM,
        r"(?<![\w.])-?[\d(][\d\s.()]*+(?:(?:\*\*|[-+*/%^])\s*[-(]*\d[\d\s.()]*+)+",
        lambda found: {"expression": "".join(found[0].split()).replace("^", "**")},
        "What is 17*23?",
        "17 乘以 23 是多少？",
    ),
    Stop(
        TIME,
        r"\bwhat(?: time is it|(?:'s| is) the (?:time|date))\b(?! of)"
        r"|[几幾][点點]|[现現]在的?[时時][间間]|今天.{0,4}星期",
        lambda _: {},
        "What time is it?",
        "现在几点？",
    ),
)
"""All that are meant are called in parallel."""
_ALSO = (
    ("My cat is called Tofu.” … “What is my cat called?", "我的猫叫豆腐。”……“我的猫叫什么？"),
    ("Write me something long, please.", "请写一篇长文"),
)


def answer(question: DemoPrompt) -> list[Wanted]:
    """The parts of the next model call's answer."""
    question = replace(question, text=question.text[:MAX_READ], language=language_for(question))
    if question.step > 1:
        calls, otherwise = _next_calls(question), report
    else:
        calls, otherwise = skills.begin(question) or _calls(question) or _lookup(question), _own_words
    comma = ", " if question.language == "english" else "、"
    names = comma.join(dict.fromkeys(f"`{call.name}`" for call in calls))
    text = phrase("calls", question, names) if calls else otherwise(question)
    if question.language == "traditional":
        text = _traditional().convert(text)
    thought = question.step == 1 and question.thinking and _THINK.search(question.text)
    thoughts = [Think(phrase("thought", question, shortened(question.text, 200)))] if thought else []
    return [*thoughts, text_block(text), *calls]


def _calls(question: DemoPrompt) -> list[ScriptedCall]:
    """The calls that a message is for, among the tools the request offers."""
    if _LONG.search(question.text):
        return []
    if MEMORY in question.tools and _FORGET.search(question.text) and not is_question(question.text):
        ids = {each.text: each.id for each in question.memories}
        if found := closest(_FORGET.sub(" ", question.text), ids):
            return [ScriptedCall(MEMORY, {"action": "delete", "id": ids[found]})]
    for stop in ALONE:
        if stop.tool in question.tools and (found := stop.found_in(question.text)):
            return found[:1]
    plain = _DATE.sub(" ", unicodedata.normalize("NFKC", question.text))
    plain = _SIGN.sub(lambda sign: _SIGNS[sign[1]], plain)
    meant = [(stop, stop.found_in(plain)) for stop in TOGETHER if stop.tool in question.tools]
    return [call for stop, calls in meant for call in calls[: MAX_CALLS if stop.tool == SUM else 1]]


def _own_words(question: DemoPrompt) -> str:
    """The answer where no tool is called: the text that was asked for, or what to try."""
    if _LONG.search(question.text):
        return "\n".join(phrase("long", question, line, _LONG_LINES) for line in range(1, _LONG_LINES + 1))
    if found := _recalled(question):
        return phrase("said", question, found)
    files = [f"- `{file.name}`: {shortened(' '.join(file.about.split()), 200)}" for file in question.files]
    fit = (each for each in question.memories if related(question.text, each.text))
    known = [f"- {each.text} (`{each.id}`)" for each in fit]
    paragraphs = [phrase("files", question), *files] if files else []
    paragraphs += [phrase("memories", question), *known] if known else []
    return "\n\n".join([*paragraphs[: MAX_LISTED + 2], _introduction(question)])


def _introduction(question: DemoPrompt) -> str:
    chinese = question.language != "english"
    examples = [(each.english, each.chinese) for each in (*ALONE, *TOGETHER) if each.tool in question.tools]
    lines = "\n".join(f"- “{example[chinese]}”" for example in [*examples, *_ALSO])
    return f"{phrase('who', question)}\n\n{lines}\n\n{phrase('real', question)}"


@cache
def _traditional() -> Any:
    import opencc  # noqa: PLC0415 - reads its dictionaries, for those who want them

    return opencc.OpenCC("s2t")


def _recalled(question: DemoPrompt) -> str | None:
    """The statement of the user, in this conversation or before it, that is closest to their question."""
    if not is_question(question.text):
        return None
    memories = {each.text: f"{each.text} (`{each.id}`)" for each in question.memories}
    earlier = (each for text in question.earlier for each in sentences(text))
    statements = [each for each in earlier if not (is_question(each) or _FORGET.search(each))]
    found = closest(question.text, [*memories, *statements])
    return memories.get(found, found) if found else None


def _lookup(question: DemoPrompt) -> list[ScriptedCall]:
    """A question to what was compressed, where the summary has no answer."""
    compressed = any("<conversation_summary>" in text for text in question.earlier)
    asks = compressed and ARCHIVE in question.tools and is_question(question.text)
    return [] if not asks or _recalled(question) else [ScriptedCall(ARCHIVE, {"search": question.text[:200]})]


def _next_calls(question: DemoPrompt) -> list[ScriptedCall]:
    """The next step of a skill. After the sample orders became an artifact: two parts of it are read, then
    all of it goes on by reference, if what that takes is offered."""
    if following := skills.follow(question):
        return [following.call] if following.call else []
    if not question.results:
        return []
    first, *others = question.results
    if first.name != ORDERS or first.artifact is None or question.results[-1].is_error:
        return []
    ref = first.artifact
    if not others and READ_ARTIFACT in question.tools:
        parts = {"json_path": "$.orders[0]"}, {"lines": "3-5"}
        return [ScriptedCall(READ_ARTIFACT, {"ref": ref, **part}) for part in parts]
    is_read = TOTALS in question.tools and {result.name for result in others} == {READ_ARTIFACT}
    return [ScriptedCall(TOTALS, {"orders": {"$artifact": ref}})] if is_read else []
