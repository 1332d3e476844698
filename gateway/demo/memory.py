"""The memory across sessions: the demo keeps what a user likes or asks to remember, tells, changes and
forgets it with `manage_memory`, and says which preferences it heeds.

Everything follows from the request alone, so a turn that another process goes on with ends the same.
"""

from gateway.demo import lasting, remembered
from gateway.demo.asked import Asked, ToolSaid
from gateway.demo.directives import Call, Wanted
from gateway.demo.remembered import Remembered
from gateway.demo.statements import answering, search_words, share
from gateway.demo.wire import text_block

TOOL = "manage_memory"
FITS = 0.35
"""Share of the words of what is to be forgotten or changed that a found memory must have."""
AS_WELL = 0.1
"""How much less than the best a memory may have to be meant, too."""
HEEDED = 5
"""Preferences that an answer names."""
SHORT = 200
"""Characters of a memory that are quoted."""

_PREFERENCES = frozenset({"preference", "user_preference", "constraint"})
_TYPE_WORDS = {"preference": "preference 偏好 喜好", "user_preference": "preference 偏好 喜好"}
_WORDS = {
    "save": ("Let me keep that.", "好，我记一下。"),
    "list": ("Let me see what I remember.", "我看看我都记得什么。"),
    "search": ("Let me look for it in what I remember.", "我先在记忆里找一下。"),
    "delete": ("I found it, and forget it now.", "找到了，我现在就忘掉。"),
    "update": ("I found it, and change it now.", "找到了，我现在就改。"),
    "saved": ("I remember from now on: “{}”", "我记住了：“{}”"),
    "known": ("What I remember of you:\n\n{}", "我记得你的这些事：\n\n{}"),
    "entry": ("- {} (`{}`)", "- {}（`{}`）"),
    "deleted": ("Forgotten: “{}”", "已经忘掉了：“{}”"),
    "updated": ("From now on I remember it so: “{}”", "改好了，现在记的是：“{}”"),
    "unknown": ("Nothing that I remember fits “{}”.", "我的记忆里没有符合“{}”的内容。"),
    "heeded": (
        "I take into account what I remember of you:\n\n{}",
        "我会考虑到我记得的这些：\n\n{}",
    ),
    "told": ("From an earlier conversation I remember: “{}” (`{}`)", "我记得你以前说过：“{}”（`{}`）"),
}


def begin(asked: Asked) -> list[Wanted]:
    """The first calls of a turn that is for the memory; what else the message asks is not looked at."""
    if TOOL not in asked.tools:
        return []
    text = asked.text
    if lasting.asks_what_is_remembered(text):
        return [_line("list", asked), Call(TOOL, {"action": "list"})]
    if topic := _sought(text):
        return [
            _line("search", asked),
            Call(TOOL, {"action": "search", "search": search_words(topic) or topic[:200]}),
        ]
    kept = lasting.lasting(text)
    saves = [Call(TOOL, {"action": "save", "content": each.content, "type": each.type}) for each in kept]
    return [_line("save", asked), *saves] if saves else []


def go_on(asked: Asked) -> list[Wanted]:
    """The calls after a search for what is to be forgotten or changed has found it."""
    if len(asked.results) != 1 or TOOL not in asked.tools or not (found := _meant(asked)):
        return []
    if change := lasting.to_change(asked.text):
        return [
            _line("update", asked),
            Call(TOOL, {"action": "update", "id": found[0].id, "content": change.new}),
        ]
    return [_line("delete", asked), *(Call(TOOL, {"action": "delete", "id": each.id}) for each in found)]


def told(said: ToolSaid, asked: Asked) -> str | None:
    """What to say of a call that worked; nothing of a search that led to another call."""
    match said.arguments.get("action"):
        case "save":
            return _say("saved", asked, said.arguments.get("content"))
        case "update":
            return _say("updated", asked, said.arguments.get("content"))
        case "delete":
            texts = {
                each.id: each.text for other in asked.results for each in remembered.lines(other.content)
            }
            memory_id = str(said.arguments.get("id"))
            return _say("deleted", asked, _short(texts.get(memory_id, memory_id)))
        case "search" if topic := _sought(asked.text):
            return None if _meant(asked) else _say("unknown", asked, _short(topic))
        case _:
            known = remembered.lines(said.own_words)
            return _say("known", asked, _listed(known, asked)) if known else said.own_words


def heeded(asked: Asked) -> str | None:
    """The preferences that count for what the user wants made: those whose words are in the request first."""
    known = [each for each in asked.memories if each.type in _PREFERENCES]
    if not known or not lasting.asks_to_make(asked.text):
        return None
    known.sort(key=lambda each: -share(asked.text, each.text))
    return _say("heeded", asked, _listed(known[:HEEDED], asked))


def answer(asked: Asked) -> str | None:
    """The answer to a question, from what the gateway told of former conversations: a memory that has most of
    its words."""
    by_text = {each.text: each.id for each in asked.memories}
    found = answering(asked.text, by_text)
    return _say("told", asked, _short(found), by_text[found]) if found else None


def _sought(text: str) -> str | None:
    change = lasting.to_change(text)
    return change.topic if change else lasting.to_forget(text)


def _meant(asked: Asked) -> list[Remembered]:
    """Of what the search of this turn found, the memories that the user means, best first."""
    topic, first = _sought(asked.text), asked.results[0]
    if topic is None or first.name != TOOL or first.is_error or first.arguments.get("action") != "search":
        return []
    found = [
        (share(topic, f"{each.text} {_TYPE_WORDS.get(each.type, '')}"), each)
        for each in remembered.lines(first.content)
    ]
    least = max([FITS, *(part - AS_WELL for part, _ in found)])
    return [each for part, each in sorted(found, key=lambda pair: -pair[0]) if part >= least]


def _listed(known: list[Remembered], asked: Asked) -> str:
    return "\n".join(_say("entry", asked, _short(each.text), each.id) for each in known)


def _line(what: str, asked: Asked) -> Wanted:
    return text_block(_say(what, asked))


def _say(what: str, asked: Asked, *values: object) -> str:
    return _WORDS[what][asked.chinese].format(*values)


def _short(text: str) -> str:
    return text if len(text) <= SHORT else f"{text[: SHORT - 1]}…"
