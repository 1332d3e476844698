"""Written skills: the one that a question is for is read, and the calls that its steps spell out are made,
one in each model call. By patterns and shared words: the demo understands nothing.

Everything follows from the request alone, so a turn that another process goes on with is followed to its end.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from gateway.demo import reports
from gateway.demo.asked import Asked, ToolSaid
from gateway.demo.directives import Call, Wanted
from gateway.demo.wire import Part, text_block
from gateway.lexical import query_tokens, tokens

READ_SKILL = "read_skill"
MAX_STEPS = 12
"""Calls of one skill: with its reading and the report they stay below the model calls of one turn."""
MAX_BODY = 65_536
"""Characters of a skill that are read."""
MAX_VALUE = 2000
"""Characters that take a placeholder's place."""
MAX_TOLD = 300
"""Characters of a result in the report."""

_STEPS = re.compile(r"^(#+)[ \t]*(?:steps|步[骤驟]|流程)[ \t]*$", re.IGNORECASE | re.MULTILINE)
_CALL = re.compile(r"`([A-Za-z0-9_-]{1,64}) (\{[^`\n]*\})`")
_NAME = r"\{\{ *(\w{1,64}) *\}\}"
_PLACEHOLDER = re.compile(rf'(?<!\\)"{_NAME}"(?!\s*:)|{_NAME}')
_NUMBER_NAME = re.compile(r"(?:^|_)(?:id|number)$")
_NUMBER = re.compile(r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*")
_RUN = re.compile(r"[0-9a-z]+|[^\W0-9a-z_]+")
_PHRASE = re.compile(r"(?:^|(?<=[\s,，、“\"]))[\u3400-\u9fff]{2,8}(?=[,，、.。”\"…]|$)")

_WORDS = {
    "read": (
        "There is a skill for that: `{}`. Let me read it first.",
        "这件事有现成的技能 `{}`，我先读一下。",
    ),
    "step": ("Step {} of {}: `{}`.", "第 {} 步，共 {} 步：`{}`。"),
    "followed": ("I followed the skill `{}`. What each step gave:", "我按技能 `{}` 做完了，每一步的结果："),
    "partly": ("I followed the skill `{}` as far as I could:", "我按技能 `{}` 只做了一部分："),
    "gave": ("`{}`: {}", "`{}`：{}"),
    "absent": ("`{}` was left out: there is no such tool here.", "`{}` 跳过了：这里没有这个工具。"),
    "lacks": (
        "`{}` needs to know `{}`. Please ask again and say it.",
        "`{}` 还需要知道 `{}`。请再说一遍，并把它写上。",
    ),
    "rest": ("Not done: {}.", "没有做的：{}。"),
    "only_read": (
        "I have read the skill `{}`. It spells out no call for me to make; a real model follows its words.",
        "我读了技能 `{}`。里面没有写明我能直接执行的调用；真正的模型会按它的文字去做。",
    ),
}


@dataclass(frozen=True, slots=True)
class Step:
    """A call that a skill spells out; `arguments` are a JSON object whose texts may hold placeholders."""

    tool: str
    arguments: str


def skill_for(asked: Asked) -> str | None:
    """The skill that the question names, or else whose words it has: all of the words of its name, or a
    Chinese phrase of its description."""
    told = frozenset(tokens(asked.text))
    likeness = {name: _likeness(name, asked.skills[name], asked.text, told) for name in asked.skills}
    best = max(likeness, key=likeness.__getitem__, default=None)
    return best if best is not None and likeness[best] else None


def read(asked: Asked) -> list[Wanted]:
    """The call that reads the skill which the question is for."""
    name = skill_for(asked) if READ_SKILL in asked.tools else None
    return [text_block(_say("read", asked, name)), Call(READ_SKILL, {"name": name})] if name else []


def reading(asked: Asked) -> ToolSaid | None:
    """The result with which a skill was read at the beginning of this turn."""
    first = asked.results[0] if asked.results else None
    return first if first is not None and first.name == READ_SKILL and not first.is_error else None


def only_read(said: ToolSaid, *, chinese: bool) -> Part:
    """The answer when a skill spells out no call and the question is for no tool either."""
    told = _WORDS["only_read"][chinese].format(said.arguments.get("name"))
    return text_block(f"{told}\n\n{reports.closing(chinese)}")


def steps_of(body: str) -> list[Step]:
    """The calls that a skill spells out as `tool_name {"argument": …}`, in their order: those under the
    heading Steps (步骤), or all of them when there is none. What is no JSON object is passed over."""
    body = body[:MAX_BODY]
    if heading := _STEPS.search(body):
        following = re.compile(rf"^#{{1,{len(heading[1])}}}[ \t]", re.MULTILINE).search(body, heading.end())
        body = body[heading.end() : following.start() if following else None]
    calls = [Step(*match.groups()) for match in _CALL.finditer(body)]
    return [call for call in calls if _is_json(call.arguments)][:MAX_STEPS]


def follow(asked: Asked, steps: Sequence[Step]) -> list[Wanted]:
    """The next call of the skill that was read, or the report when there is none: all steps are done, one
    did not work, or something that it needs is not known. A step whose tool is not offered is left out.

    Each result takes the place of one step and steps are never gone back to, so this comes to an end
    whatever is offered meanwhile.
    """
    said = asked.results[1:]
    told: list[str] = []
    done = 0
    for place, step in enumerate(steps):
        if done < len(said) and said[done].name == step.tool:
            told.append(_outcome(said[done], asked))
            done += 1
            if said[done - 1].is_error:
                return [_report(asked, told, steps[place + 1 :], partly=True)]
        elif done < len(said) or step.tool not in asked.tools:
            told.append(_say("absent", asked, step.tool))
        else:
            try:
                arguments = _filled(step.arguments, asked)
            except LookupError as missing:
                told.append(_say("lacks", asked, step.tool, missing.args[0]))
                return [_report(asked, told, steps[place + 1 :], partly=True)]
            return [
                text_block(_say("step", asked, place + 1, len(steps), step.tool)),
                Call(step.tool, arguments),
            ]
    return [_report(asked, told, (), partly=False)]


def _likeness(name: str, description: str, text: str, told: frozenset[str]) -> int:
    bare = name.removeprefix("md:").partition("@")[0]
    words = set(query_tokens(bare.replace("-", " ")))
    if _names(text, name):
        return 4
    if _names(text, bare):
        return 3
    if len(words) > 1 and words <= told:
        return 2
    return int(any(told.issuperset(tokens(phrase)) for phrase in _PHRASE.findall(description)))


def _names(text: str, name: str) -> bool:
    """Whether a text has the name, with hyphens or blanks in it."""
    if not name.isascii():
        return name.casefold() in text.casefold()
    text, name = (" ".join(_RUN.findall(each.casefold())) for each in (text, name))
    return f" {name} " in f" {text} "


def _is_json(text: str) -> bool:
    try:
        orjson.loads(text)
    except orjson.JSONDecodeError:
        return False
    return True


def _filled(arguments: str, asked: Asked) -> dict[str, Any]:
    """The arguments with values for the placeholders: one that is a whole text keeps its type.

    Raises:
        LookupError: there is no value; with the name.
    """

    def value(match: re.Match[str]) -> str:
        found = _value(match[1] or match[2], asked)
        if match[1]:
            return orjson.dumps(found).decode()
        text = found if isinstance(found, str) else orjson.dumps(found).decode()
        return orjson.dumps(text).decode()[1:-1]

    return orjson.loads(_PLACEHOLDER.sub(value, arguments))


def _value(name: str, asked: Asked) -> Any:
    """What a placeholder stands for: a field of the latest JSON result that has it, the whole result of a
    tool, the `request`, or for a name that ends in id or number the longest word of it with a digit."""
    for said in reversed(asked.results[1:]):
        fields = _fields(said.own_words)
        if name in fields:
            found = fields[name]
            return found[:MAX_VALUE] if isinstance(found, str) else found
        if said.name == name:
            return said.own_words[:MAX_VALUE]
    if name == "request":
        return asked.text[:MAX_VALUE]
    numbers = [word for word in _NUMBER.findall(asked.text) if any(map(str.isdigit, word))]
    if numbers and _NUMBER_NAME.search(name):
        return max(numbers, key=len)
    raise LookupError(name)


def _fields(content: str) -> dict[str, Any]:
    """The JSON object that a result is, also under a line that the gateway put before it."""
    for text in (content, content.partition("\n")[2]):
        try:
            value = orjson.loads(text)
        except orjson.JSONDecodeError:
            continue
        if isinstance(value, dict):
            return value
    return {}


def _outcome(said: ToolSaid, asked: Asked) -> str:
    content = " ".join(said.own_words.split())
    if said.is_error:
        return reports.failure(said.name, content, chinese=asked.chinese)
    return _say("gave", asked, said.name, reports.short(content, MAX_TOLD))


def _report(asked: Asked, told: Sequence[str], rest: Sequence[Step], *, partly: bool) -> Part:
    lines = [f"{number}. {each}" for number, each in enumerate(told, start=1)]
    report = [
        _say("partly" if partly else "followed", asked, asked.results[0].arguments.get("name")),
        "\n".join(lines),
    ]
    if rest:
        report.append(_say("rest", asked, ", ".join(f"`{step.tool}`" for step in rest)))
    return text_block("\n\n".join([*report, reports.closing(asked.chinese)]))


def _say(what: str, asked: Asked, *values: object) -> str:
    return _WORDS[what][asked.chinese].format(*values)
