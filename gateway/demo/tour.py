"""A short tour through the gateway, in English and Chinese: what the demo shows, and what to say for it.

Everything follows from the request alone, so a turn that another process goes on with ends the same.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from gateway.demo import skills
from gateway.demo.directives import Call, Think, Wanted
from gateway.demo.question import (
    MAX_READ,
    Question,
    Result,
    closest,
    is_question,
    memories_in,
    related,
    sentences,
)
from gateway.demo.tools import MAX_ORDERS, NOTE, ORDERS, TOTALS
from gateway.demo.wire import text_block
from gateway.tools.base import READ_ARTIFACT

MEMORY, ARCHIVE, DOCS, SUM, TIME = "manage_memory", "read_archive", "search_docs", "calculate", "current_time"
MAX_CALLS = 4
MAX_QUOTE, MAX_QUOTE_LINES = 500, 8
MAX_LISTED = 20
"""Files, memories and passages that one answer names."""

_WORDS = {
    "calls": ("Let me call {}.", "我来调用 {}。"),
    "skill": ("I followed the skill `{}`: {} of its {} steps.", "我按技能 `{}` 做了：{} 步，共 {} 步。"),
    "gave": ("`{}` returned:", "`{}` 返回："),
    "failed": ("`{}` failed: {}", "`{}` 出错了：{}"),
    "denied": ("`{}` was not run: {}", "`{}` 没有执行：{}"),
    "said": ("The closest that you told me: “{}”", "你告诉过我的话里，最接近的是：“{}”"),
    "nothing": ("I find nothing about it in what you told me.", "你告诉过我的话里，我没有找到。"),
    "memories": ("What I was told that you said before:", "我得知你以前说过："),
    "saved": ("I remember from now on: “{}”", "我记住了：“{}”"),
    "files": ("You attached:", "你附上了："),
    "thought": (
        "The user says: “{}”. I look whether the tour has an answer.",
        "用户说：“{}”。我看看导览里有没有答案。",
    ),
    "long": (
        "Line {} of {}: a long answer of the built-in demo model, for you to press Stop or reload the page.",
        "第 {} 行，共 {} 行：这是内置演示模型的长回答，你可以随时按停止，也可以刷新页面，再接着往下读。",
    ),
    "who": (
        "I am the built-in demo model of this gateway, not a language model: I call tools and quote them, "
        "and know no more than a short tour. Try to say:",
        "我是网关内置的演示模型，不是真正的大语言模型：只会调用工具并引用结果，此外只有一个简短的导览。可以试着说：",
    ),
    "demo": (
        "(I am the built-in demo model: I call tools and quote them, I do not reason.)",
        "（我是内置的演示模型：只调用工具并引用结果，不会推理。）",
    ),
    "real": (
        "For a real model set `ANTHROPIC_API_KEY` (or `ANTHROPIC_BASE_URL`) and start the gateway again.",
        "要使用真正的模型，请设置 `ANTHROPIC_API_KEY`（或 `ANTHROPIC_BASE_URL`），然后重新启动网关。",
    ),
}
_SAID = r"(?P<said>[^\s?？][^?？]*)$"
_LONG_LINES = 28
_LONG = re.compile(r"(?<!how )\blong\b|长文|長文|长长|很长|长一点", re.IGNORECASE)
_THINK = re.compile(r"\bthink|思考|想一想|想想", re.IGNORECASE)
_LIKES = re.compile(r"\b(?:like|love|prefer|hate|always|never)\b|喜欢|喜歡|偏好|以后|以後", re.IGNORECASE)
_SIGNS = {
    "×": "*",
    "÷": "/",
    "乘以": "*",
    "除以": "/",
    "加": "+",
    "减": "-",
    "減": "-",
    "times": "*",
    "plus": "+",
}
_SIGN = re.compile(rf"(?<=[\d)])\s*({'|'.join(_SIGNS)})\s*(?=[\d(])")
_DATE = re.compile(r"\b\d{4}-\d{1,2}(?:-\d{1,2})?\b|\b\d+(?:\.\d+){2,}\b")
_ENTRY = re.compile(r"^\[\d+\] (.+)$", re.MULTILINE)
_MARKUP = re.compile(r"</?[a-z_]++[^>]*+>$|<!--|\|")


class Stop(NamedTuple):
    """One thing to see: the tool it shows, what is said for it, the call's arguments, and what to say."""

    tool: str
    pattern: re.Pattern[str]
    arguments: Callable[[re.Match[str]], dict[str, Any]]
    example: tuple[str, str]


def _stop(
    tool: str, pattern: str, arguments: Callable[[re.Match[str]], dict[str, Any]], *example: str
) -> Stop:
    return Stop(tool, re.compile(pattern, re.IGNORECASE), arguments, (example[0], example[1]))


def _saved(found: re.Match[str]) -> dict[str, Any]:
    content = found["said"].strip(" 。.!！")
    return {"action": "save", "content": content, "type": "preference" if _LIKES.search(content) else "fact"}


def _count(found: re.Match[str]) -> dict[str, Any]:
    number = int(found["count"].replace(",", "")) if found["count"] else MAX_ORDERS
    return {"count": max(1, min(number, MAX_ORDERS))}


ALONE = (
    _stop(
        MEMORY,
        r"^\s*(?:(?:please\s+)?remember\b(?! to\b)(?:\s+that\b)?|[请請]?[记記]住)[\s:：,，]*" + _SAID,
        _saved,
        "Remember that I like a plain design style.",
        "记住，我喜欢简约的设计风格",
    ),
    _stop(
        MEMORY,
        r"\bwhat do you remember\b|[记記]得我(?:些|的)?什[么麼]|都?[记記]得哪些",
        lambda _: {"action": "list"},
        "What do you remember about me?",
        "你都记得我什么？",
    ),
    _stop(
        NOTE,
        r"^\s*(?:note\s+that\b|[记記]一下)[\s:：,，]*" + _SAID,
        lambda found: {"text": found["said"].strip()},
        "Note that the door code is 4711.",
        "记一下：门禁密码是 4711",
    ),
    _stop(
        ORDERS,
        r"(?:(?P<count>\d[\d,]{0,9})\s*)?(?:sample orders|[条條]?(?:示例|范例|範例)[订訂][单單])",
        _count,
        "Show me 10000 sample orders",
        "给我一万条示例订单",
    ),
)
"""The first that is meant is the only one."""
TOGETHER = (
    _stop(
        DOCS,
        r"[^.?!。？！；\n]*(?:\b(?:gateway|resume|streams?|streaming|reconnect|sessions?|turns?|events?|replay|cancel|memory"
        r"|compress\w*|skills?|artifacts?|approvals?|prompts?|api|sse|settings?|configure|deploy|traces?|metrics|limits?)\b"
        r"|网关|恢复|恢復|断线|流式|会话|事件|回放|取消|记忆|压缩|技能|工件|批准|提示词|接口|配置|设置|部署|追踪|指标)[^.?!。？！；\n]*",
        lambda found: {"query": found[0].strip()[:200]},
        "How do I resume a stream?",
        "怎么恢复一个流？",
    ),
    _stop(
        SUM,
        r"(?<![\w.])-?[\d(][\d\s.()]*+(?:(?:\*\*|[-+*/%^])\s*[-(]*\d[\d\s.()]*+)+",
        lambda found: {"expression": "".join(found[0].split()).replace("^", "**")},
        "What is 17*23?",
        "17 乘以 23 是多少？",
    ),
    _stop(
        TIME,
        r"\bwhat(?:'s| is)? (?:the )?(?:time|date)\b|[几幾][点點]|[现現]在的?[时時][间間]|今天.{0,4}星期",
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


def answer(question: Question) -> list[Wanted]:
    """The parts of the next model call's answer."""
    question = replace(question, text=question.text[:MAX_READ])
    if question.step > 1:
        calls = _next_calls(question)
        said = _announced(calls, question) if calls else report(question)
        return [text_block(said), *calls]
    calls = skills.begin(question) or _calls(question) or _lookup(question)
    said = _announced(calls, question) if calls else _own_words(question)
    thought = question.thinking and _THINK.search(question.text)
    thoughts = [Think(_say("thought", question, _short(question.text, 200)))] if thought else []
    return [*thoughts, text_block(said), *calls]


def _announced(calls: Sequence[Call], question: Question) -> str:
    names = dict.fromkeys(f"`{call.name}`" for call in calls)
    return _say("calls", question, ("、" if question.chinese else ", ").join(names))


def _calls(question: Question) -> list[Call]:
    """The calls that a message is for, among the tools the request offers."""
    if _LONG.search(question.text):
        return []
    for stop in ALONE:
        if stop.tool in question.tools and (found := stop.pattern.search(question.text)):
            return [Call(stop.tool, stop.arguments(found))]
    plain = _DATE.sub(" ", unicodedata.normalize("NFKC", question.text))
    plain = _SIGN.sub(lambda sign: _SIGNS[sign[1]], plain)
    return [
        Call(stop.tool, stop.arguments(found))
        for stop in TOGETHER
        if stop.tool in question.tools
        for found in list(stop.pattern.finditer(plain))[: MAX_CALLS if stop.tool == SUM else 1]
    ]


def _own_words(question: Question) -> str:
    """What is said where no tool is called: what was asked for, or what to try."""
    if _LONG.search(question.text):
        return "\n".join(_say("long", question, line, _LONG_LINES) for line in range(1, _LONG_LINES + 1))
    if found := _recalled(question):
        return _say("said", question, found)
    told: list[str] = []
    if question.files:
        told += [
            _say("files", question),
            *(f"- `{file.name}`: {_flat(file.about)}" for file in question.files),
        ]
    if memories := [each for each in question.memories if related(question.text, each.text)]:
        told += [_say("memories", question), *(f"- {each.text} (`{each.id}`)" for each in memories)]
    return "\n\n".join([*told[: MAX_LISTED + 2], _introduction(question)])


def _introduction(question: Question) -> str:
    chinese = question.chinese
    examples = [stop.example[chinese] for stop in (*ALONE, *TOGETHER) if stop.tool in question.tools]
    examples += [example[chinese] for example in _ALSO]
    lines = "\n".join(f"- “{example}”" for example in examples)
    return f"{_say('who', question)}\n\n{lines}\n\n{_say('real', question)}"


def _recalled(question: Question) -> str | None:
    """What the user said, in this conversation or before it, that is closest to a question of theirs."""
    if not is_question(question.text):
        return None
    memories = {each.text: f"{each.text} (`{each.id}`)" for each in question.memories}
    said = [each for text in question.earlier for each in sentences(text) if not is_question(each)]
    found = closest(question.text, [*memories, *said])
    return memories.get(found, found) if found else None


def _lookup(question: Question) -> list[Call]:
    """A question to what was compressed, where the summary has no answer."""
    compressed = any("<conversation_summary>" in text for text in question.earlier)
    if (
        ARCHIVE not in question.tools
        or not compressed
        or not is_question(question.text)
        or _recalled(question)
    ):
        return []
    return [Call(ARCHIVE, {"search": question.text[:200]})]


def _next_calls(question: Question) -> list[Call]:
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
        return [Call(READ_ARTIFACT, {"ref": ref, **part}) for part in parts]
    is_read = TOTALS in question.tools and {result.name for result in others} == {READ_ARTIFACT}
    return [Call(TOTALS, {"orders": {"$artifact": ref}})] if is_read else []


def report(question: Question) -> str:
    """What the tools gave, quoted, and what the demo is."""
    told = [_told(result, question) for result in question.results]
    if following := skills.follow(question):
        told[:1] = [_say("skill", question, following.name, following.done, following.total)]
    return "\n\n".join([*told, f"{_say('demo', question)} {_say('real', question)}"])


def _told(result: Result, question: Question) -> str:
    if result.is_error:
        return failure(result, question)
    match result.name, result.arguments.get("action"):
        case "calculate", _:
            return f"{result.arguments.get('expression', '')} = **{_short(result.text, 200)}**"
        case "manage_memory", "save":
            return _say("saved", question, result.arguments.get("content"))
        case "read_archive", _:
            said = [each for each in sentences(result.text) if not is_question(each)]
            found = closest(question.text, said)
            return _say("said", question, found) if found else _say("nothing", question)
        case _:
            return "\n\n".join([_say("gave", question, result.name), *_quotes(result.text)])


def failure(result: Result, question: Question) -> str:
    """A call that did not work, or that nobody allowed."""
    what = "denied" if "was not run" in result.content else "failed"
    return _say(what, question, result.name, _short(result.content, MAX_QUOTE))


def _quotes(content: str) -> Iterator[str]:
    """A result as Markdown quotations: the numbered entries of a search with their sources, or all of it."""
    if listed := memories_in(content):
        yield "\n".join(f"- {each.text} (`{each.id}`)" for each in listed[:MAX_LISTED])
        return
    heads = list(_ENTRY.finditer(content))[:4]
    if not heads:
        yield _quote(content)
    for head, following in zip(heads[:3], [*heads[1:], None], strict=False):
        yield f"{_quote(content[head.end() : following.start() if following else None])}\n> — {head[1]}"


def _quote(text: str) -> str:
    """The first lines of a passage. Tags and tables are left out, and a code block that was cut is closed."""
    lines = [line.rstrip() for line in text.splitlines() if line.strip() and not _MARKUP.match(line.strip())]
    kept = _short("\n".join(lines[:MAX_QUOTE_LINES]), MAX_QUOTE).splitlines()
    if sum(line.lstrip().startswith("```") for line in kept) % 2:
        kept.append("```")
    return "\n".join(f"> {line}" for line in kept)


def _say(what: str, question: Question, *values: object) -> str:
    return _WORDS[what][question.chinese].format(*values)


def _flat(text: str) -> str:
    return _short(" ".join(text.split()), 200)


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most - 1]}…"
