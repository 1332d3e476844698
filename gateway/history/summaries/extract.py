"""A summary without a model: what is known as structured facts, and the first and last lines of what is
archived. Pure.

It takes the place of one that no model could write, so that a session never ends of its length: what is lost
by it is in the archive, and read_archive reads it.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from gateway.history.summaries.kept_facts import complete
from gateway.history.summaries.summary import Reference, SessionSummary, to_markdown
from gateway.lexical import estimate_tokens, tokens
from gateway.messages import Block, shortened, texts_of
from gateway.storage.messages import StoredMessage
from gateway.tools.base import KEPT_ASIDE, MANAGE_MEMORY

NOTED = (
    "Made without a model: of what was archived it has only first and last lines. read_archive has the rest."
)
"""Stands among the risks of such a summary, for the model that reads it."""

_LINE = 160
"""Characters of an excerpt: a sentence or two."""
_GOAL = 240
_SHARE = 0.75
"""Of the summary's tokens, for excerpts and what a former summary had; names and files get the rest."""
MIN_EXTRACT = 60
"""Tokens that such a summary has room for at least: one excerpt and the note."""
_SAVES = frozenset({"save", "update"})
_QUOTES = str.maketrans("“”", "''")
_MEMORY = re.compile(r"\bm_[0-9a-f]{16}\b")
_SAID = 0.5
"""The share of a memory's words that a message of the user has to have, for it to be theirs."""
_ABOUT = frozenset({"user", "users", "the", "is", "has", "用户", "用", "户"})
"""Words by which a model tells of the user what they said of themselves."""

_GIVES_WAY = (
    "identifiers",
    "progress",
    "next_actions",
    "artifacts",
    "risks",
    "open_questions",
    "decisions",
    "constraints",
    "facts",
)
"""The parts of a former summary, that which is missed least first."""


def extracted(
    messages: Sequence[StoredMessage],
    *,
    previous: SessionSummary | None,
    questions: Sequence[str] = (),
    artifacts: Sequence[Reference] = (),
    forgotten: Collection[str] = (),
    most_tokens: int,
) -> SessionSummary:
    """The summary of `messages`, in at most `most_tokens` (of its text, estimated) where that is 60 or more:
    what `previous` has, the summary of those before them; what the model saved in the memory meanwhile as the
    user had said it, but for memories that were `forgotten` (ids); the first lines of the first message and
    of the newest ones; failed tools, `questions` that were open, `artifacts` and names, as every summary has
    them."""
    most = max(most_tokens, MIN_EXTRACT)
    saved = [*dict.fromkeys(_saved_in(messages, forgotten))]
    excerpts = [(item.message.role == "user", each) for item in messages if (each := _excerpt(item))]
    kept = previous or SessionSummary()
    goal = kept.goal or next((_first_line(text, _GOAL) for text in _texts_of(messages, "user")), "")
    base = kept.model_copy(
        update={
            "goal": shortened(goal, _GOAL),
            "facts": [*kept.facts, *(each for each in saved if each not in kept.facts)],
            "risks": [NOTED, *(each for each in kept.risks if each != NOTED)],
            "trajectory_end": "",
            "sources": [],
        }
    )
    base = _within(base, int(_SHARE * most))
    base = _with_excerpts(base, excerpts, int(_SHARE * most))
    whole = complete(
        base,
        messages,
        previous=previous,
        questions=questions,
        answered=(),
        artifacts=artifacts,
        most_tokens=most,
    )
    return _within(whole, most)


def _with_excerpts(
    summary: SessionSummary, excerpts: Sequence[tuple[bool, str]], most_tokens: int
) -> SessionSummary:
    """With as many excerpts as fit: of the newest two messages, of the first, of the user's, of the others,
    always the newest first; in the order they were said. Each is with whether it is the user's."""
    left = most_tokens - estimate_tokens(to_markdown(summary)) - estimate_tokens("\n\n## Progress")
    newest_first = [*range(len(excerpts) - 1, -1, -1)]
    by_user = sorted(newest_first, key=lambda place: not excerpts[place][0])
    taken: list[int] = []
    for place in dict.fromkeys([*newest_first[:2], *newest_first[-1:], *by_user]):
        cost = estimate_tokens(f"\n- {excerpts[place][1]}")
        if cost > left:
            break
        left -= cost
        taken.append(place)
    return summary.model_copy(
        update={"progress": [*summary.progress, *(excerpts[place][1] for place in sorted(taken))]}
    )


def _within(summary: SessionSummary, most_tokens: int) -> SessionSummary:
    """The summary in so many tokens: parts of it give way from their oldest, then its sentences are cut."""
    for part in _GIVES_WAY:
        while (items := getattr(summary, part)) and estimate_tokens(to_markdown(summary)) > most_tokens:
            first = 1 if part == "risks" and items[0] == NOTED and len(items) > 1 else 0
            rest = [*items[:first], *items[first + max(1, (len(items) - first) // 4) :]]
            if part == "risks" and rest == items:
                break
            summary = summary.model_copy(update={part: rest})
    length = _GOAL
    while estimate_tokens(to_markdown(summary)) > most_tokens and length > 8:
        length //= 2
        cut = {
            name: shortened(getattr(summary, name), length)
            for name in ("goal", "trajectory_start", "trajectory_end")
        }
        summary = summary.model_copy(update=cut)
    return summary


def _excerpt(item: StoredMessage) -> str:
    """A message in one line: its first words and, of a long one, its last. They stand between quotation marks
    that they have none of, so that nothing in them can pass for what somebody else said."""
    lines = [line.strip() for text in _texts(item) for line in text.splitlines() if line.strip()]
    if not lines:
        return ""
    who = "The user" if item.message.role == "user" else "The assistant"
    first, last = lines[0], lines[-1]
    words = _first_line(first, _LINE)
    if len(lines) > 1:
        words += f" … {_first_line(last, _LINE // 2)}"
    elif len(first) > _LINE:
        words += first[-_LINE // 4 :].strip()
    return f"[{item.position}] {who}: “{words.translate(_QUOTES)}”"


def _first_line(text: str, most: int) -> str:
    return shortened(" ".join(text.split()), most)


def _texts_of(messages: Sequence[StoredMessage], role: str) -> Iterator[str]:
    for item in messages:
        if item.message.role == role:
            yield from _texts(item)


def _texts(item: StoredMessage) -> list[str]:
    return [text for text in texts_of(item.message) if text.strip()]


def _saved_in(messages: Sequence[StoredMessage], forgotten: Collection[str]) -> Iterator[str]:
    """What the model saved in the memory as the user had said it. Nothing that failed, that waits for the
    user to confirm it, as a page may have said it, or that was deleted again or `forgotten`."""
    asked: dict[str, tuple[str, str]] = {}
    saved: dict[str, str] = {}
    for item in messages:
        for block in item.message.content:
            if block["type"] == "tool_use" and block.get("name") == MANAGE_MEMORY:
                asked[block["id"]] = _asked_of(block)
            elif block["type"] == "tool_result" and not block.get("is_error"):
                action, given = asked.pop(block["tool_use_id"], ("", ""))
                told = block.get("content")
                if not isinstance(told, str) or told.startswith(KEPT_ASIDE):
                    continue
                if (found := _MEMORY.search(told)) is None:
                    continue
                if action == "delete":
                    saved.pop(found[0], None)
                elif given and action in _SAVES:
                    saved[found[0]] = given
    theirs = [set(tokens(text)) for text in _texts_of(messages, "user")]
    for memory_id, content in saved.items():
        words = set(tokens(content)) - _ABOUT
        if memory_id not in forgotten and any(len(words & said) >= _SAID * len(words) for said in theirs):
            yield content


def _asked_of(block: Block) -> tuple[str, str]:
    """The action and the content of a call."""
    given: Any = block.get("input")
    action, content = (given.get("action"), given.get("content")) if isinstance(given, dict) else ("", "")
    text = _first_line(content, _GOAL) if isinstance(content, str) else ""
    return (action, text) if isinstance(action, str) else ("", "")
