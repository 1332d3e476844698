"""Questions about what the user told before: answered from the conversation in the request, its summary
included, or looked up with `read_archive`.
"""

import re
from collections.abc import Iterator

from gateway.demo.asked import Asked
from gateway.demo.directives import Call
from gateway.demo.statements import (
    answering,
    asks_about_the_user,
    is_question,
    search_words,
    sentences,
    statements,
)

TOOL = "read_archive"
SUMMARY = "<conversation_summary>"
FOUND = 0.35
"""Share of a question's words that is enough in what a search for them has found."""
_ENTRY = re.compile(r"^\[(\d+)\] (\w+):$")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d+\.)\s+")
_WORDS = {
    "told": ("You told me: “{}”", "你告诉过我：“{}”"),
    "archived": (
        "I looked it up in the archive of this conversation. In message {} you said: “{}”",
        "我查了这次对话的存档。你在第 {} 条消息里说过：“{}”",
    ),
    "unknown": (
        "I do not know: you have not told me in this conversation, as far as I can see.",
        "我不知道：据我所见，你在这次对话里没有告诉过我。",
    ),
    "noted": (
        "Noted. Ask me for it later in this conversation.",
        "记下了。在这次对话里，你以后可以随时问我。",
    ),
    "lookup": ("Let me look that up in what was said before.", "我查一下之前说过的话。"),
}


def is_for(asked: Asked) -> bool:
    """Whether the question is about something the user may have told."""
    return asks_about_the_user(asked.text)


def from_conversation(asked: Asked) -> str | None:
    """The answer when the request itself holds it."""
    found = answering(asked.text, _stated(asked))
    return say("told", asked.chinese, found) if found else None


def lookup(asked: Asked) -> list[Call]:
    """The call that looks it up: only when something was compressed and the tool is offered."""
    query = search_words(asked.text)
    if TOOL not in asked.tools or not query or not any(SUMMARY in text for text in asked.earlier):
        return []
    return [Call(TOOL, {"search": query})]


def from_archive(question: str, content: str, *, chinese: bool) -> str:
    """The answer after `read_archive` has returned `content`."""
    said = [
        (each, position)
        for position, role, text in _entries(content)
        if role == "user"
        for each in sentences(text)
    ]
    positions = {each: position for each, position in said if not is_question(each)}
    found = answering(question, positions, FOUND)
    return say("archived", chinese, positions[found], found) if found else say("unknown", chinese)


def say(what: str, chinese: bool, *values: object) -> str:
    """One of this file's phrases in the user's language."""
    return _WORDS[what][chinese].format(*values)


def _stated(asked: Asked) -> Iterator[str]:
    for text in asked.earlier:
        if SUMMARY not in text:
            yield from statements(text)
            continue
        for line in text.splitlines():
            plain = _BULLET.sub("", line).strip()
            if plain and not is_question(plain):
                yield plain


def _entries(content: str) -> Iterator[tuple[int, str, str]]:
    """Number, role and text of the messages in what `read_archive` returned."""
    position, role, lines = 0, "", list[str]()
    for line in content.splitlines():
        if head := _ENTRY.match(line):
            if position:
                yield position, role, "\n".join(lines)
            position, role, lines = int(head[1]), head[2], []
        elif line.startswith("  "):
            lines.append(line.strip())
    if position:
        yield position, role, "\n".join(lines)
