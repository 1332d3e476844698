"""Written skills: the one that a message is for is read, and the calls that its steps spell out are made, one
in each model call.
"""

import re
from typing import Any, NamedTuple

import orjson

from gateway.demo.directives import ScriptedCall, json_object
from gateway.demo.question import DemoPrompt
from gateway.lexical import query_tokens, tokens

READ_SKILL = "read_skill"
MAX_STEPS = 12
"""Calls of one skill: with its reading and the report they stay below the model calls of one turn."""
MAX_BODY = 65_536
"""Characters of a skill that are read."""
MAX_VALUE = 2000
"""Characters that take a placeholder's place."""

_STEPS = re.compile(
    r"^(#+)[ \t]*(?:steps|步[骤驟])[ \t]*$(.*?)(?=^#{1,6}[ \t]|\Z)", re.IGNORECASE | re.MULTILINE | re.DOTALL
)
_CALL = re.compile(r"`([A-Za-z0-9_-]{1,64}) (\{[^`\n]*\})`")
_PLACEHOLDER = re.compile(r'(?<!\\)"\{\{ *(\w{1,64}) *\}\}"(?!\s*:)|\{\{ *(\w{1,64}) *\}\}')
_WORD = re.compile(r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*")
_PHRASE = re.compile(r"(?:^|(?<=[\s,，、“]))[\u3400-\u9fff]{2,8}(?=[,，、.。”]|$)")


class SkillProgress(NamedTuple):
    """How far the skill `name` was followed: `done` of `total` steps, and the call of the next one."""

    name: str
    done: int
    total: int
    call: ScriptedCall | None


def begin(question: DemoPrompt) -> list[ScriptedCall]:
    """The call that reads the skill which a message is for."""
    name = skill_for(question) if READ_SKILL in question.tools else None
    return [ScriptedCall(READ_SKILL, {"name": name})] if name else []


def skill_for(question: DemoPrompt) -> str | None:
    """The skill whose name the message has, in full or in its words, or else one with a Chinese phrase of its
    description."""
    text, asked = question.text.casefold(), frozenset(tokens(question.text))
    for name in question.skills:
        words = query_tokens(name)
        if name.casefold() in text or (len(words) > 1 and asked.issuperset(words)):
            return name
    phrases = ((name, phrase) for name, about in question.skills.items() for phrase in _PHRASE.findall(about))
    return next((name for name, phrase in phrases if asked.issuperset(tokens(phrase))), None)


def follow(question: DemoPrompt) -> SkillProgress | None:
    """Where a turn stands that has read a skill: nothing follows on a call that failed, nor on a placeholder
    for which there is no value, and a step whose tool is not offered is left out. None: it has read none, or
    one that spells out no call.

    Each result takes the place of one step and no step is repeated, so this ends with any set of tools.
    """
    if not question.results:
        return None
    first, *results = question.results
    if first.name != READ_SKILL or first.is_error or not (steps := _steps(first.text)):
        return None
    at = 0
    for result in results:
        at = next((n + 1 for n in range(at, len(steps)) if steps[n][0] == result.name), len(steps))
    call: ScriptedCall | None = None
    if not any(result.is_error for result in results):
        offered = ((tool, written) for tool, written in steps[at:] if tool in question.tools)
        call = next((_filled(tool, written, question) for tool, written in offered), None)
    return SkillProgress(str(first.arguments.get("name")), len(results), len(steps), call)


def _steps(body: str) -> list[tuple[str, str]]:
    """Tool and JSON of each call that a skill spells out as `tool_name {"argument": …}`: those under the
    heading Steps (步骤), or all of them when there is none."""
    heading = _STEPS.search(body[:MAX_BODY])
    calls = _CALL.findall(heading[2] if heading else body[:MAX_BODY])
    return [(tool, written) for tool, written in calls if json_object(written) is not None][:MAX_STEPS]


def _filled(tool: str, written: str, question: DemoPrompt) -> ScriptedCall | None:
    """The call with values for its placeholders, or None: one that is a whole text keeps its type."""

    def value(match: re.Match[str]) -> str:
        found = _value(match[1] or match[2], question)
        if match[1]:
            return orjson.dumps(found).decode()
        text = found if isinstance(found, str) else orjson.dumps(found).decode()
        return orjson.dumps(text).decode()[1:-1]

    try:
        return ScriptedCall(tool, orjson.loads(_PLACEHOLDER.sub(value, written)))
    except LookupError:
        return None


def _value(name: str, question: DemoPrompt) -> Any:
    """A field of the latest JSON result that has it, the whole result of a tool, the `request`, or for a name
    that ends in id or number the longest word of it with a digit."""
    for result in reversed(question.results[1:]):
        fields = json_object(result.text) or json_object(result.text.partition("\n")[2]) or {}
        if name in fields or result.name == name:
            found = fields.get(name, result.text)
            return found[:MAX_VALUE] if isinstance(found, str) else found
    if name == "request":
        return question.text[:MAX_VALUE]
    numbers = [word for word in _WORD.findall(question.text) if any(map(str.isdigit, word))]
    if numbers and name.endswith(("id", "number")):
        return max(numbers, key=len)
    raise LookupError(name)
