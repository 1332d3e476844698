"""What is asked beside a turn, answered from what the request says: its instructions name the keys of the
answer, its text has the messages under their numbers and authors."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

import orjson

from gateway.demo.question import blocks
from tests.paraphrasing_model.scripts import Asked, Scripts, laid_over
from tests.paraphrasing_model.wording import cited, fenced, is_chinese, paraphrase, sentences

MAX_ITEMS = 12
_HEAD = re.compile(r"^\[(\d+)\] (.+):$")
_PERSONAL = re.compile(r"\b(?:I|my|we|our)\b|我", re.IGNORECASE)
_LASTING = re.compile(
    r"\b(?:I|we) (?:like|love|prefer|live|work|always|never|agreed|decided)\b|\bmy \w+ (?:is|are)\b"
    r"|\bremember\b|我.{0,2}(?:喜[欢歡]|住|对.+过敏)|我们(?:决定|约定)|[记記]住",
    re.IGNORECASE,
)
_SPECIFIC = re.compile(r"\b(?:the|that|this) \w+|那[个次家]|这[个次家]", re.IGNORECASE)
_KEYS: Mapping[Asked, tuple[str, ...]] = {
    "summary": ("trajectory_start", "open_questions"),
    "memories": ("`memories`", "`quote`"),
    "control": ('"needed"', '"time_range"'),
    "artifact": ("what a file contains",),
}


class Line(NamedTuple):
    number: int
    author: str
    text: str


def purpose_of(body: Mapping[str, Any]) -> Asked:
    """What a request is for, by its instructions."""
    system = "\n".join(str(block.get("text", "")) for block in blocks({"content": body.get("system") or ""}))
    plain = system.replace('"memories"', "`memories`")
    for asked, keys in _KEYS.items():
        if not body.get("tools") and all(key in plain for key in keys):
            return asked
    return "answer"


def answer(asked: Asked, text: str, scripts: Scripts) -> str:
    """What the model says to the text of a request that is no turn of a conversation."""
    match asked:
        case "memories":
            said = _memories(text, scripts)
        case "control":
            said = _said(asked, text, _control(text), scripts)
        case "summary":
            said = _said(asked, text, _summary(text), scripts)
        case _:
            first = next(iter(sentences(text.rpartition("\n\n")[2])), "nothing")
            said = f"It’s about the following: {paraphrase(first)[:150]}"
    return said if isinstance(said, str) else fenced(said, chinese=is_chinese(text))


def _said(asked: Asked, text: str, own: dict[str, Any], scripts: Scripts) -> dict[str, Any] | str:
    return next((laid_over(own, script) for script in scripts.matching(asked, text)), own)


def _memories(text: str, scripts: Scripts) -> dict[str, Any] | str:
    """Of the user's new messages: what scripts say of them, else what sounds lasting."""
    found: list[dict[str, Any]] = []
    for line in _lines(text):
        if line.author != "user":
            continue
        told = scripts.matching("memories", line.text)
        for script in told:
            quote = next((each for each in sentences(line.text) if script.message in each), line.text)
            over = laid_over(_memory(line, quote), script)
            if isinstance(over, str):
                return over
            found.append(over)
        if not told:
            lasting = [
                each for each in sentences(line.text) if _LASTING.search(each) and each[-1] not in "?？"
            ]
            found += [_memory(line, each) for each in lasting]
    return {"memories": found[:MAX_ITEMS]}


def _memory(line: Line, quote: str) -> dict[str, Any]:
    return {
        "type": "fact",
        "content": paraphrase(quote),
        "quote": cited(quote),
        "message": line.number,
        "importance": 3,
        "confidence": 0.9,
    }


def _control(text: str) -> dict[str, Any]:
    message = _inside(text)
    personal = _PERSONAL.search(message) is not None
    needed = "yes" if personal or _SPECIFIC.search(message) else "no"
    reason = "It’s about the user’s own affairs." if needed == "yes" else "It’s general knowledge."
    return {"needed": needed, "types": [], "time_range": "all", "reason": reason}


def _summary(text: str) -> dict[str, Any]:
    """In words of its own, after what the summary so far says."""
    lines, former = _lines(text), _former(text)
    said = list(
        dict.fromkeys(each for line in lines if line.author == "user" for each in sentences(line.text))
    )
    told = former.get("facts", []) + [paraphrase(each)[:200] for each in said if each[-1] not in "?？"]
    asked = [each[:200] for each in said if each[-1] in "?？"]
    return {
        "goal": former.get("goal") or (told or asked or ["Talk."])[0],
        "facts": told[:MAX_ITEMS],
        "progress": [f"Answered: {each}" for each in asked[:MAX_ITEMS]],
        "open_questions": [],
        "trajectory_start": (told or asked or ["They began to talk."])[0],
        "trajectory_end": (told or asked or ["They talked."])[-1],
    }


def _former(text: str) -> dict[str, Any]:
    """A summary so far: the first line that is a JSON object."""
    line = next((line for line in text.splitlines() if line.startswith("{")), "{}")
    return orjson.loads(line)


def _inside(text: str) -> str:
    """A text without its first and last lines where those are tags."""
    lines = [line for line in text.splitlines() if not re.fullmatch(r"</?\w+>", line)]
    return "\n".join(lines).partition("\n\n")[2] or text


def _lines(text: str) -> list[Line]:
    """The numbered messages in a text; what belongs to one is indented."""
    found: list[Line] = []
    for line in text.splitlines():
        if head := _HEAD.match(line):
            found.append(Line(int(head[1]), head[2], ""))
        elif found and line.startswith("  "):
            last = found[-1]
            found[-1] = last._replace(text=f"{last.text}\n{line[2:]}".strip())
    return found
