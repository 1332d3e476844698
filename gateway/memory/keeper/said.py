"""What the user said in a conversation, apart from all that others said in it. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from gateway.lexical import estimate_tokens
from gateway.memory.record import clean
from gateway.messages import Message
from gateway.storage.base import StoredMessage
from gateway.tools.wrapping import WRAPPER_TAGS

MAX_TEXT = 16_000
"""Characters of one message that are looked at: who says more pastes a document."""
MAX_CONTEXT = 1_500
"""Characters that are shown of what only helps to understand."""
CONTEXT = 6
"""Messages before the new ones that are shown."""
MAX_SKIPPED = 10
"""Characters of a clause that only leads to the next one: "No,", "说错了，"."""

_WRAPPED = re.compile(
    rf"<({'|'.join(WRAPPER_TAGS)})\b[^<>]{{0,200}}>.*?(?:</\1\s{{0,9}}>|\Z)", re.DOTALL | re.IGNORECASE
)
_FENCED = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.DOTALL | re.MULTILINE)
_CITED = re.compile(r"^[ \t]*>.*$", re.MULTILINE)
_SENTENCE = re.compile(r"(?:[^\n。！？!?；;.]|\.(?!\s|$))+[。！？!?；;.]*")
_GOES_ON = frozenset((",", "，"))
_CLAUSE = re.compile(r"(?:[^\n。！？!?；;.,，]|[.,](?!\s|$))+[？?]*")


@dataclass(slots=True)
class Piece:
    """As much of a conversation as one model call reads. `text` shows it, `said` are the user's own new words
    by message, `answers` what the assistant said, likewise."""

    lines: list[str] = field(default_factory=list[str])
    said: dict[int, StoredMessage] = field(default_factory=dict[int, StoredMessage])
    words: dict[int, str] = field(default_factory=dict[int, str])
    answers: dict[int, str] = field(default_factory=dict[int, str])
    tokens: int = 0

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


def own_words(message: Message) -> str:
    """What the user themselves says in a message, "" for any other: without what was told to the model beside
    it (recalled memories, results of tools, anything in our wrapper tags), and without what is pasted: fenced
    blocks and lines cited with `>`."""
    if message.role != "user":
        return ""
    text = _texts(message)
    for others in (_WRAPPED, _FENCED, _CITED):
        text = others.sub("\n", text)
    return clean(text)


def clauses(words: str) -> list[str]:
    """The parts of sentences, a question with its mark."""
    return [clause for _, clause in clauses_at(words)]


def clauses_at(words: str) -> list[tuple[int, str]]:
    """Likewise, each with the character at which it begins."""
    return [(each.start(), each[0].strip()) for each in _CLAUSE.finditer(words) if each[0].strip()]


def sentence_of(words: str, start: int, end: int) -> str:
    """The sentences in which words[start:end] stands."""
    within = [each for each in _SENTENCE.finditer(words) if each.start() < end and each.end() > start]
    return words[within[0].start() : within[-1].end()].strip() if within else words[start:end]


def clause_of(words: str, start: int, end: int) -> str:
    """The clauses in which words[start:end] stands, with what leads to them in the same sentence."""
    found = list(_CLAUSE.finditer(words))
    within = [place for place, each in enumerate(found) if each.start() < end and each.end() > start]
    if not within:
        return words[start:end]
    first = within[0]
    while first and len(found[first - 1][0].strip()) <= MAX_SKIPPED:
        if words[found[first - 1].end() : found[first].start()].strip() not in _GOES_ON:
            break
        first -= 1
    return words[found[first].start() : found[within[-1]].end()].strip()


def pieces(messages: Sequence[StoredMessage], *, after: int, room: int) -> list[Piece]:
    """The conversation from position `after` on, in pieces of about `room` tokens (estimated) with at least
    one message each, and in front of each the CONTEXT messages before it.

    Each message stands under a line of its own, `[POSITION] user:`, `[POSITION] user, before:` or
    `[POSITION] assistant:`. All other lines are indented by two spaces, so that nothing that was said can
    pass for such a line.
    """
    found: list[Piece] = []
    shown: list[tuple[int, str, str]] = []  # position, who, text: of all until now
    piece = Piece()
    for stored in messages:
        by_user = stored.message.role == "user"
        text = own_words(stored.message) if by_user else clean(_texts(stored.message))
        if not text:
            continue
        is_new = stored.position > after
        if is_new:
            lines = list(_lines(stored.position, "user" if by_user else "assistant", text, whole=by_user))
            tokens = sum(map(estimate_tokens, lines))
            if not found or piece.tokens + tokens > room:
                piece = _begun(shown[-CONTEXT:])
                found.append(piece)
            piece.lines += lines
            piece.tokens += tokens
            if by_user:
                piece.said[stored.position], piece.words[stored.position] = stored, text
        if not by_user and found:
            piece.answers[stored.position] = text
        shown.append((stored.position, "user, before" if by_user else "assistant", text))
    return [piece for piece in found if piece.said]


def _begun(context: Sequence[tuple[int, str, str]]) -> Piece:
    lines = [line for position, who, text in context for line in _lines(position, who, text, whole=False)]
    answers = {position: text for position, who, text in context if who == "assistant"}
    return Piece(lines, answers=answers, tokens=sum(map(estimate_tokens, lines)))


def _lines(position: int, who: str, text: str, *, whole: bool) -> Iterator[str]:
    most = MAX_TEXT if whole else MAX_CONTEXT
    yield f"[{position}] {who}:"
    yield from (f"  {line}" for line in text[:most].splitlines())
    if len(text) > most:
        yield f"  [... {len(text) - most} characters left out ...]"


def _texts(message: Message) -> str:
    return "\n".join(block["text"] for block in message.content if block["type"] == "text")[:MAX_TEXT]
