"""Requests of the gateway beside a turn: summaries, memories to learn, whether a message needs memories, a
sentence about an artifact, the title of a session. Answers copy the user's sentences; nothing is reworded.

Each kind of request is known by what its system prompt names.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import orjson

from gateway.demo.question import blocks, is_question, sentences
from gateway.lexical import estimate_tokens
from gateway.messages import shortened

MAX_MEMORIES = 20
SUMMARY_TOKENS = 1500
"""Of a summary, when the request names no limit."""
MAX_ITEM = 300
"""Characters of one item of a summary."""
_LIMIT = re.compile(r"at most (\d{1,9}) tokens")
_CONVERSATION = re.compile(r"<conversation>\n(.*)\n</conversation>(.*)$", re.DOTALL)
_HEAD = re.compile(r"^\[(\d+)\] (.+):$")
_PERSONAL = re.compile(r"\b(?:I|my|me|we|our)\b|我", re.IGNORECASE)
_STATED = re.compile(
    r"(?:please\s+)?remember(?: that)?[:,]? (.+)|请?[记記]住[，,：:]?(.+)"
    r"|(I (?:like|love|prefer) .+|my .+ is .+|我最?喜[欢歡].+|我的.+是.+)",
    re.IGNORECASE,
)
_AGREED = re.compile(
    r"(?:sounds good|agreed|let['’]s (?:do|go with) (?:it|that|this))\b"
    r"|(?:可以|同意|好的?|[没沒][问問][题題])[，,]?就?(?:按[这這]|[这這][样樣])",
    re.IGNORECASE,
)
_LIKES = re.compile(r"\b(?:like|love|prefer)\b|喜[欢歡]", re.IGNORECASE)
_SECRET = re.compile(r"\b(?:password|token|secret|key)\b|密[码碼钥鑰]", re.IGNORECASE)


def answer(body: Mapping[str, Any]) -> str | None:
    """The answer to a request that is no turn of a conversation; None when it is one."""
    names = _names_in(body)
    return _KINDS[names](body) if names else None


def wants_summary(body: Mapping[str, Any]) -> bool:
    """Whether a request is for a summary."""
    return _names_in(body) == _SUMMARY


def _names_in(body: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The names in the system prompt by which the kind of the request is known; None: it is a turn."""
    if body.get("tools"):
        return None
    system = "\n".join(str(block.get("text", "")) for block in blocks({"content": body.get("system") or ""}))
    return next((names for names in _KINDS if all(name in system for name in names)), None)


def _text(body: Mapping[str, Any]) -> str:
    return "\n".join(block["text"] for block in blocks(body["messages"][0]) if block["type"] == "text")


def _messages(body: Mapping[str, Any]) -> Iterator[tuple[int, str, str]]:
    """Number, author and text of each message in a request's conversation. Their own lines are indented."""
    found = _CONVERSATION.search(_text(body))
    number, author, lines = 0, "", list[str]()
    for line in [*(found[1].splitlines() if found else ()), "[0] end:"]:
        if not (head := _HEAD.match(line)):
            lines.append(line[2:])
            continue
        if number:
            yield number, author, "\n".join(lines)
        number, author, lines = int(head[1]), head[2], []


def _summary(body: Mapping[str, Any]) -> str:
    """The statements and questions of the user, after those of the summary so far, in as many tokens as the
    request allows: when there are more, the newest statements are left out."""
    messages = list(_messages(body))
    inputs = [
        shortened(each, MAX_ITEM) for _, by, text in messages if by == "user" for each in sentences(text)
    ]
    former = _former(_text(body))
    named = _LIMIT.search(_text(body).rpartition("</conversation>")[2])
    limit = min(int(named[1]) if named else SUMMARY_TOKENS, body["max_tokens"])
    answered = [*former.get("open_questions", ())] if messages and messages[0][1] == "assistant" else []
    summary: dict[str, Any] = {
        "goal": former.get("goal") or (inputs or ["Talk."])[0],
        "facts": _once([*former.get("facts", ()), *(s for s in inputs if not is_question(s))])[:limit],
        "progress": _once(
            [*former.get("progress", ()), *(f"Asked: {each}" for each in inputs if is_question(each))]
        )[-5:],
        "open_questions": [each for each in inputs[-1:] if is_question(each) and messages[-1][1] == "user"],
        "answered_questions": answered,
        "trajectory_start": former.get("trajectory_start") or (inputs or [""])[0],
        "trajectory_end": (inputs or [""])[-1],
    }
    while estimate_tokens(orjson.dumps(summary).decode()) > limit and (
        summary["facts"] or summary["progress"]
    ):
        (summary["progress"] or summary["facts"]).pop()
    return orjson.dumps(summary).decode()


def _former(text: str) -> dict[str, Any]:
    """The summary so far, if there is one: a line of JSON before the conversation."""
    for line in text.partition("<conversation>")[0].splitlines():
        if line.startswith("{"):
            return orjson.loads(line)
    return {}


def _memories(body: Mapping[str, Any]) -> str:
    """Sentences of the user like "remember that …" and "I like …", without secrets, and the proposals that
    they agreed to."""
    found, proposal = list[dict[str, Any]](), ""
    for number, author, text in _messages(body):
        if author != "user":
            proposal = next(sentences(text), "")
            continue
        for each in sentences(text):
            if proposal and _AGREED.match(each):
                agreed = {"type": "project_decision", "content": proposal, "proposal": proposal}
                found.append({**agreed, "quote": each, "message": number})
            elif (match := _STATED.match(each)) and not is_question(each) and not _SECRET.search(each):
                quote = (match[1] or match[2] or match[3]).strip(" 。.")
                kind = "preference" if _LIKES.search(quote) else "fact"
                found.append({"type": kind, "content": quote, "quote": quote, "message": number})
    memories = [{**each, "importance": 3, "confidence": 0.9} for each in found[:MAX_MEMORIES]]
    return orjson.dumps({"memories": memories}).decode()


def _need(body: Mapping[str, Any]) -> str:
    """Memories are needed where a message speaks of its author."""
    message = _CONVERSATION.search(_text(body))
    needed = message is not None and _PERSONAL.search(message[1]) is not None
    reason = "It speaks of the user." if needed else "Anybody would get the same answer."
    return orjson.dumps(
        {"needed": "yes" if needed else "no", "types": [], "time_range": "all", "reason": reason}
    ).decode()


def _first_line(body: Mapping[str, Any]) -> str:
    """How an artifact begins."""
    beginning = _text(body).partition("How it begins.")[2].partition("</")[0]
    return " ".join(beginning.split())[:200] or "It is empty."


def _title(body: Mapping[str, Any]) -> str:
    """The first words of the user."""
    asked = _text(body).partition("The user:\n")[2].partition("\n\nThe answer:")[0]
    return f"About: {' '.join(asked.split()[:5])[:40]}"


def _once(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(items))


_SUMMARY = ("trajectory_start", "open_questions")
_KINDS: dict[tuple[str, ...], Callable[[Mapping[str, Any]], str]] = {
    _SUMMARY: _summary,
    ('"memories"', "`quote`"): _memories,
    ('"needed"', '"time_range"'): _need,
    ("You say what a file contains",): _first_line,
    ("You write the title",): _title,
}
