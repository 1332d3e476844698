"""A turn as messages: what its events come to, cut where Markdown has its borders. Pure: the same events draw
the same messages, whoever draws them again."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import orjson
from markdown_it import MarkdownIt

from gateway.adapters.messengers.base import AnswerText, Drawn, Item, Note, Question
from gateway.adapters.turn_fold import Fold
from gateway.adapters.turn_parts import (
    ApprovalAsked,
    ApprovalGiven,
    AttemptWithdrawn,
    CallAnswered,
    CallMade,
    CallProgressed,
    Data,
    Grew,
    Noted,
    Part,
    TurnBegan,
    TurnEnded,
)
from gateway.client import Frame
from gateway.events.envelope import StoredEvent
from gateway.messages import cut_off
from gateway.thinking_in_text import without_thinking

MAX_MESSAGES = 20
"""Messages of one turn; the rest of a longer answer is in its session."""
MAX_ITEMS = 30
"""Items of one message: Slack takes 50 blocks (https://docs.slack.dev/reference/block-kit/blocks), and a long
item is several."""
MAX_FILES, MAX_FILE = 10, 20_971_520
"""Files of a turn that are posted, and bytes of each."""
SHOWN_KINDS = frozenset({"csv", "image", "markdown", "pdf"})
NOTE_SIZE = 200
"""Characters of a text in a note, and what a note takes of a message at least."""
MAX_ARGUMENTS = 2400
"""Characters of a call's arguments that stand in its question; of longer ones the question says how many are
missing."""
_BLOCKS = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_FENCES = ("```", "~~~")


class TurnDrawing:
    """Takes the frames of one turn from its first on. `own` begins the ids of messages that came from this
    messenger: what was asked elsewhere is told with its question."""

    def __init__(self, own: str) -> None:
        self.seq = 0
        self._files: dict[str, Data] = {}
        self._own = own
        self._fold = Fold()
        self._items: dict[str, Item] = {}
        self._texts: dict[str, list[str]] = {}
        self._messages: tuple[int, Sequence[Drawn]] | None = None

    @property
    def turn_id(self) -> str:
        return self._fold.turn_id

    @property
    def is_over(self) -> bool:
        return self._fold.is_over

    def take(self, frame: Frame) -> None:
        """The next event."""
        assert frame.seq is not None
        turn_id = self.turn_id or frame.load()["turn_id"]
        for part in self._fold.take([StoredEvent(frame.seq, frame.event, turn_id, frame.data)]):
            self._take(part)
        self.seq = frame.seq
        self._messages = None

    def files_to_show(self) -> Sequence[tuple[str, Data]]:
        """What it made that people look at: pictures, tables, documents. Large results of tools as text or
        JSON are for the model."""
        shown = [(ref, data) for ref, data in self._files.items() if data.get("kind") in SHOWN_KINDS]
        return [each for each in shown if each[1]["size"] <= MAX_FILE][:MAX_FILES]

    def messages(self, size: int) -> Sequence[Drawn]:
        """What it says by now, in messages of at most `size` characters of Markdown each. They are drawn once
        for each event: long Markdown takes a while, and a delivery asks for each message in turn."""
        if self._messages is None or self._messages[0] != size:
            self._messages = size, self._draw(size)
        return self._messages[1]

    def _draw(self, size: int) -> Sequence[Drawn]:
        pages = [*_pages(self._shown(), size)]
        if len(pages) > MAX_MESSAGES:
            pages = pages[:MAX_MESSAGES]
            pages[-1].append(Note("The answer goes on in its session on the gateway's page."))
        last = len(pages) - 1
        return [
            Drawn(
                tuple(page), self.seq, is_final=at < last or self.is_over, is_last=at == last and self.is_over
            )
            for at, page in enumerate(pages)
        ]

    def _shown(self) -> Iterator[Item]:
        for name, item in self._items.items():
            if name not in self._texts:
                yield item
            elif text := without_thinking("".join(self._texts[name])).lstrip("\n").rstrip():
                yield AnswerText(text)

    def _take(self, part: Part) -> None:
        items = self._items
        match part:
            case TurnBegan(data=data) if not str(data.get("client_message_id", "")).startswith(self._own):
                whose = "Scheduled" if data.get("dialect") == "schedule" else "Asked elsewhere"
                items["asked"] = Note(f"{whose}: {_line(data['input'])}")
            case Grew(span, text) if span.kind == "text":
                self._texts.setdefault(span.id, []).append(orjson.loads(text))
                items.setdefault(span.id, AnswerText(""))
            case AttemptWithdrawn(spans=spans):
                for span in spans:
                    items.pop(span.id, None)
                    self._texts.pop(span.id, None)
            case CallMade() | CallProgressed() | ApprovalAsked() | ApprovalGiven() | CallAnswered():
                self._items[part.call.id] = self._of_call(part)
            case Noted("memory", data, seq) if data["op"] == "remembered" and "content" in data:
                items[f"memory {seq}"] = Note(f"Remembered: {_line(data['content'])}")
            case Noted("artifact", data):
                self._files[data["ref"]] = data
            case TurnEnded() as ended:
                self._end(ended)
            case _:
                pass

    def _of_call(
        self, part: CallMade | CallProgressed | ApprovalAsked | ApprovalGiven | CallAnswered
    ) -> Item:
        call = part.call
        match part:
            case CallMade():
                return Note(call.name, call.id, "running")
            case CallProgressed(_, data):
                message = f": {_line(data['message'])}" if "message" in data else ""
                return Note(call.name + message, call.id, "running")
            case ApprovalAsked(_, data):
                arguments = orjson.dumps(call.arguments, option=orjson.OPT_INDENT_2).decode()
                return Question(
                    f"{self.turn_id}:{call.id}",
                    call.name,
                    cut_off(arguments, MAX_ARGUMENTS, "the gateway's page"),
                    _line(data.get("reason", "")),
                )
            case ApprovalGiven(_, data):
                return Note(f"{call.name}: {data['decision']} by {data['by']}", call.id, "running")
            case CallAnswered(_, {"status": "ok"}):
                return Note(call.name, call.id)
            case CallAnswered(_, data):
                return Note(f"{call.name}: {data['status'].replace('_', ' ')}", call.id, "failed")

    def _end(self, ended: TurnEnded) -> None:
        if (failure := ended.failure) is not None:
            self._items["end"] = Note(failure[1], "end", "failed")
        elif ended.data["status"] == "cancelled":
            self._items["end"] = Note("Stopped.", "end", "failed")
        elif ended.data["status"] == "limit_reached":
            self._items["end"] = Note("It ends here: a limit was reached.", "end", "failed")
        elif not any(self._shown()):
            self._items["end"] = Note("There is no answer.", "end")


def _line(text: object) -> str:
    """A text in one line."""
    line = " ".join(str(text).split())
    return line if len(line) <= NOTE_SIZE else f"{line[:NOTE_SIZE]}…"


def _size(item: Note | Question) -> int:
    """Characters that it takes of a message."""
    if isinstance(item, Note):
        return max(NOTE_SIZE, len(item.text) + 4)
    return len(item.arguments) + 2 * NOTE_SIZE


def _pages(items: Iterator[Item], size: int) -> Iterator[list[Item]]:
    page: list[Item] = []
    room = size
    for item in items:
        if len(page) == MAX_ITEMS:
            yield page
            page, room = [], size
        if not isinstance(item, AnswerText):
            if page and _size(item) > room:
                yield page
                page, room = [], size
            page.append(item)
            room -= _size(item)
            continue
        begun = ""
        for block in blocks(item.markdown, size):
            if len(block.rstrip()) > room and (page or begun):
                yield [*page, AnswerText(begun.lstrip("\n").rstrip())] if begun else page
                page, room, begun = [], size, ""
            begun += block
            room -= len(block)
        if begun.strip():
            page.append(AnswerText(begun.lstrip("\n").rstrip()))
    if page:
        yield page


def blocks(markdown: str, size: int) -> Iterator[str]:
    """The text in blocks that may stand in messages of their own: together it, but for one that is longer
    than `size`, which is cut at lines, or inside of one, and as a code block is closed and opened again."""
    lines = markdown.splitlines(keepends=True)
    starts = {
        token.map[0]
        for token in _BLOCKS.parse(markdown)
        if token.map
        and token.nesting >= 0
        and (token.level == 0 or (token.type == "list_item_open" and token.level == 1))
    }
    borders = [*sorted(starts | {0}), len(lines)]
    for begin, end in pairwise(borders):
        block = "".join(lines[begin:end])
        if len(block.rstrip()) <= size:
            yield block
        else:
            yield from _cut(lines[begin:end], size)


def _cut(lines: Sequence[str], size: int) -> Iterator[str]:
    fence = lines[0] if lines[0].lstrip().startswith(_FENCES) else ""
    closing = fence.strip()[:3]
    size -= len(fence) + len(closing) + 1
    begun = ""
    for whole in lines:
        for at in range(0, len(whole), size):
            line = whole[at : at + size]
            if begun and len(begun) + len(line) > size:
                yield f"{begun.rstrip()}\n{closing}\n" if fence else begun
                begun = fence
            begun += line
    yield begun
