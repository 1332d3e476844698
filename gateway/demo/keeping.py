"""The demo beside a conversation: it finds what is worth remembering in what the user said, and says whether
a message needs memories.

The gateway asks for both with a system prompt that names the fields of the JSON object it wants; by these the
request is known. Nothing is reworded: every quote is a copy.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from gateway.demo import lasting, summaries
from gateway.demo.asked import blocks
from gateway.demo.statements import asks_about_the_user, is_question, sentences, statements

MOST = 20
"""Memories of one answer."""
_OFFERS, _JUDGES = ('"memories"', "`quote`"), ('"needed"', '"time_range"')
_CONVERSATION = re.compile(r"<conversation>\n.*?\n\n(.*)\n</conversation>", re.DOTALL)
_HEAD = re.compile(r"^\[(\d+)\] (.+):$")
_LONGEST = 1000  # characters of one quote


def answer(body: Mapping[str, Any]) -> str | None:
    """The JSON object that a request is for; None when it is no such request."""
    system = body.get("system") or ""
    told = system if isinstance(system, str) else "\n".join(str(block.get("text", "")) for block in system)
    if body.get("tools"):
        return None
    if all(field in told for field in _OFFERS):
        return orjson.dumps({"memories": _memories(_conversation(body))[:MOST]}).decode()
    if all(field in told for field in _JUDGES):
        return orjson.dumps(_judgement(_conversation(body))).decode()
    return None


def _conversation(body: Mapping[str, Any]) -> str:
    text = "\n".join(block["text"] for block in blocks(body["messages"][0]) if block["type"] == "text")
    found = _CONVERSATION.search(text)
    return found[1] if found else ""


def _memories(conversation: str) -> list[dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for number, said in _by_user(conversation):
        kept = [(each.content, each.type) for each in lasting.lasting(said)]
        for quote, kind in [*kept, *_stated(lasting.without_lasting(said))]:
            memory = {"type": kind, "content": quote, "quote": quote, "message": number}
            found[quote] = {**memory, "importance": 4 if kind == "preference" else 3, "confidence": 0.9}
    return [each for quote, each in found.items() if len(quote) <= _LONGEST]


def _by_user(conversation: str) -> Iterator[tuple[int, str]]:
    """Number and text of what the user said anew. The lines of a message are indented."""
    number, who, lines = 0, "", list[str]()
    for line in [*conversation.splitlines(), "[0] end:"]:
        if not (head := _HEAD.match(line)):
            lines.append(line[2:])
            continue
        if who == "user":
            yield number, "\n".join(lines)
        number, who, lines = int(head[1]), head[2], []


def _stated(text: str) -> Iterator[tuple[str, str]]:
    """Decisions, limits and facts, each with its type."""
    stated = set(statements(text))
    for each in sentences(text):
        if lasting.is_secret(each):
            continue
        if summaries.RULES.search(each) and not is_question(each):
            yield each, "constraint"
        elif each in stated:
            yield each, "project_decision" if summaries.DECIDED.search(each) else "fact"


def _judgement(message: str) -> dict[str, Any]:
    needed, types, reason = "no", list[str](), "Anybody would get the same answer."
    if asks_about_the_user(message) or lasting.asks_what_is_remembered(message):
        needed, reason = "yes", "It asks about the user."
    elif lasting.asks_to_make(message):
        needed, types, reason = "yes", ["preference", "constraint", "fact"], "Their taste counts for it."
    return {"needed": needed, "types": types, "time_range": "all", "reason": reason}
