"""The user's own text in a conversation, separated from all other text. Pure."""

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, field
from typing import NamedTuple

from gateway.lexical import estimate_tokens
from gateway.memory.assents import is_assent
from gateway.memory.validation import clean
from gateway.messages import Message, texts_of
from gateway.storage.messages import StoredMessage
from gateway.tools.policy import heard_in
from gateway.tools.wrapping import WRAPPER_TAGS

MAX_TEXT = 16_000
"""Characters of one message that are read: a longer one is a pasted document."""
MAX_CONTEXT = 1_500
"""Characters of a message that is shown as context."""
MAX_PROPOSED = 6_000
"""Characters of a message of the assistant to which the user assents."""
CONTEXT = 6
"""Messages before the new ones that are shown as context."""
_WRAPPED = re.compile(
    rf"<({'|'.join(WRAPPER_TAGS)})\b[^<>]{{0,200}}>.*?(?:</\1\s{{0,9}}>|\Z)", re.DOTALL | re.IGNORECASE
)
_CODE_BLOCK = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_QUOTED_LINE = re.compile(r"^[ \t]*>.*$", re.MULTILINE)


@dataclass(slots=True)
class Excerpt:
    """As much of a conversation as one model call reads. `text` is its rendering; by position, `messages` are
    the user's new messages, `user_texts` the user's own text in them, `answers` the assistant's messages;
    `user_positions` are those of all messages of the user, also of earlier ones. `tools` are, by position of
    the new ones, the tools whose output the model has read since the message before."""

    lines: list[str] = field(default_factory=list[str])
    messages: dict[int, StoredMessage] = field(default_factory=dict[int, StoredMessage])
    user_texts: dict[int, str] = field(default_factory=dict[int, str])
    answers: dict[int, str] = field(default_factory=dict[int, str])
    user_positions: list[int] = field(default_factory=list[int])
    tools: dict[int, frozenset[str]] = field(default_factory=dict[int, frozenset[str]])
    tokens: int = 0

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def answers_before(self, position: int) -> dict[int, str]:
        """The assistant's texts, by position, between the user's message there and the one before it."""
        former = max((each for each in self.user_positions if each < position), default=0)
        return {place: text for place, text in self.answers.items() if former < place < position}


def user_text(message: Message) -> str:
    """The user's own text in a message, "" for any other role: without what the gateway added (recalled
    memories, tool results, anything in our wrapper tags) and without what the user pasted: code blocks and
    lines quoted with `>`."""
    if message.role != "user":
        return ""
    text = _texts(message)
    for pattern in (_WRAPPED, _CODE_BLOCK, _QUOTED_LINE):
        text = pattern.sub("\n", text)
    return clean(text)


def assistant_text(message: Message) -> str:
    """The text of a message of the assistant, "" for any other role."""
    return clean(_texts(message)) if message.role == "assistant" else ""


def excerpts(
    messages: Sequence[StoredMessage], *, after: int, max_tokens: int, spoke: Set[str] = frozenset()
) -> list[Excerpt]:
    """The conversation after position `after`, in excerpts of about `max_tokens` tokens (estimated) with at
    least one message each; each begins with the CONTEXT messages before it. `spoke` are those whose words the
    model has read throughout, among the tools.

    Each message has a header line, `[POSITION] user:`, `[POSITION] user, before:` or `[POSITION] assistant:`.
    All other lines are indented by two spaces, so that no text can pass for a header.
    """
    found: list[Excerpt] = []
    shown: list[_Shown] = []  # all until now
    excerpt, heard = Excerpt(), _tools_before(messages)
    for stored, text, limit in _limited(messages):
        by_user = stored.message.role == "user"
        if stored.position > after:
            lines = list(_lines(stored.position, "user" if by_user else "assistant", text, limit))
            tokens = sum(map(estimate_tokens, lines))
            if not found or excerpt.tokens + tokens > max_tokens:
                excerpt = _with_context(shown[-CONTEXT:])
                found.append(excerpt)
            excerpt.lines += lines
            excerpt.tokens += tokens
            if by_user:
                excerpt.messages[stored.position], excerpt.user_texts[stored.position] = stored, text
                excerpt.user_positions.append(stored.position)
                excerpt.tools[stored.position] = heard[stored.position] | spoke
        if not by_user and found:
            excerpt.answers[stored.position] = text
        role, brief = ("user, before", MAX_CONTEXT) if by_user else ("assistant", limit)
        shown.append(_Shown(stored.position, role, text, brief))
    return [excerpt for excerpt in found if excerpt.messages]


class _Shown(NamedTuple):
    """A message as it is shown, and so many characters of it."""

    position: int
    role: str
    text: str
    limit: int


def _limited(messages: Sequence[StoredMessage]) -> list[tuple[StoredMessage, str, int]]:
    """The messages that have a text, the text, and how many characters of it are shown. Of the assistant's
    more are where the user assents to them."""
    found: list[tuple[StoredMessage, str, int]] = []
    assented = False
    for stored in reversed(messages):
        if stored.message.role == "user":
            if text := user_text(stored.message):
                assented = is_assent(text)
                found.append((stored, text, MAX_TEXT))
        elif text := clean(_texts(stored.message)):
            found.append((stored, text, MAX_PROPOSED if assented else MAX_CONTEXT))
    return found[::-1]


def _tools_before(messages: Sequence[StoredMessage]) -> dict[int, frozenset[str]]:
    """By position of the user's messages, the tools whose output the model has read since the one before,
    with the files that this one brought."""
    found: dict[int, frozenset[str]] = {}
    spoke: set[str] = set()
    for stored in messages:
        if user_text(stored.message):
            found[stored.position], spoke = frozenset(spoke), set()
        for block in stored.message.content:
            if (name := heard_in(stored.message.role, block)) is not None:
                spoke.add(name)
    return found


def _with_context(context: Sequence[_Shown]) -> Excerpt:
    lines = [line for each in context for line in _lines(*each)]
    return Excerpt(
        lines,
        answers={each.position: each.text for each in context if each.role == "assistant"},
        user_positions=[each.position for each in context if each.role != "assistant"],
        tokens=sum(map(estimate_tokens, lines)),
    )


def _lines(position: int, role: str, text: str, limit: int) -> Iterator[str]:
    yield f"[{position}] {role}:"
    yield from (f"  {line}" for line in text[:limit].splitlines())
    if len(text) > limit:
        yield f"  [... {len(text) - limit} characters left out ...]"


def _texts(message: Message) -> str:
    return "\n".join(texts_of(message))[:MAX_TEXT]
