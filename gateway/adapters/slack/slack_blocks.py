"""A message as Block Kit, and as chunks of a stream. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gateway.adapters.messengers.base import AnswerText, Drawn, Note, Question
from gateway.adapters.slack.slack_mrkdwn import escaped, harmless, mrkdwn

Block = dict[str, Any]
SECTION = 3000
"""Characters of a section, https://docs.slack.dev/reference/block-kit/blocks/section-block."""
PREVIEW = 300
"""Characters of the text in notifications."""
APPROVE, DENY, STOP = "gateway_approve", "gateway_deny", "gateway_stop"
"""Ids of the buttons."""
EVENT_TYPE = "gateway_message"
"""Of the metadata of our messages."""
_SIGNS = {"running": "⏳", "ok": "✓", "failed": "⚠"}
_STATUSES = {"running": "in_progress", "ok": "complete", "failed": "error"}


def blocks_of(drawn: Drawn) -> list[Block]:
    """The message: text in sections, notes that follow each other as one quiet line, questions with buttons;
    while it is being written, with a button that stops it."""
    found: list[Block] = []
    notes: list[str] = []

    def close_notes() -> None:
        if notes:
            found.append({"type": "context", "elements": [_text(line) for line in _joined(notes)]})
            notes.clear()

    for item in drawn.items:
        if isinstance(item, Note):
            notes.append(f"{_SIGNS[item.status]} {escaped(item.text)}")
            continue
        close_notes()
        if isinstance(item, AnswerText):
            found += (
                {"type": "section", "expand": True, "text": _text(each)}
                for each in _sections(mrkdwn(item.markdown))
            )
        else:
            found += _question(item)
    close_notes()
    if not drawn.is_final and not any(isinstance(each, Question) for each in drawn.items):
        found.append({"type": "actions", "elements": [_button("Stop", STOP, "stop")]})
    return found


def preview(drawn: Drawn) -> str:
    """The beginning of the message, for notifications."""
    for item in drawn.items:
        text = mrkdwn(item.markdown) if isinstance(item, AnswerText) else ""
        if isinstance(item, Question):
            text = f"May {escaped(item.tool)} run?"
        if text:
            return text[:PREVIEW]
    return escaped(drawn.items[0].text) if drawn.items and isinstance(drawn.items[0], Note) else "…"


def without_blocks(drawn: Drawn) -> str:
    """The message as text alone, cut as a section: chat.update takes 4,000 characters."""
    lines: list[str] = []
    for item in drawn.items:
        if isinstance(item, AnswerText):
            lines.append(mrkdwn(item.markdown))
        elif isinstance(item, Note):
            lines.append(f"{_SIGNS[item.status]} {escaped(item.text)}")
        else:
            lines.append(f"May *{escaped(item.tool)}* run? Decide on the gateway's page.")
    text = "\n".join(lines) or "…"
    shown = next(_cut(text))
    return shown if shown == text else f"{shown}\n… {len(text) - len(shown)} more, see the gateway's page"


def metadata(key: str, drawn: Drawn) -> dict[str, Any]:
    """What a message tells of itself: the turn and its part, the last event it shows, and whether it ends
    the turn."""
    payload = {"key": key, "seq": drawn.seq, "is_last": drawn.is_last}
    return {"event_type": EVENT_TYPE, "event_payload": payload}


class Streamed:
    """What was given to a stream, and what has to follow."""

    def __init__(self) -> None:
        self._text = ""
        self._tasks: dict[str, Note] = {}

    def can_take(self, drawn: Drawn) -> bool:
        """Whether the message only grows: a stream takes nothing back and has no buttons."""
        if any(isinstance(each, Question) for each in drawn.items):
            return False
        names = {name for name, _ in _tasks(drawn)}
        return _said(drawn).startswith(self._text) and self._tasks.keys() <= names

    def chunks(self, drawn: Drawn) -> list[dict[str, Any]]:
        """What the message has more than before."""
        found: list[dict[str, Any]] = []
        text = _said(drawn)
        for name, note in _tasks(drawn):
            if self._tasks.get(name) != note:
                found.append(
                    {
                        "type": "task_update",
                        "id": name,
                        "title": harmless(note.text),
                        "status": _STATUSES[note.status],
                    }
                )
        if len(text) > len(self._text):
            found.append({"type": "markdown_text", "text": harmless(text[len(self._text) :])})
        return found

    def took(self, drawn: Drawn) -> None:
        """It has all of that."""
        self._text, self._tasks = _said(drawn), dict(_tasks(drawn))


def _said(drawn: Drawn) -> str:
    """The text, without a last sign that may begin a mention whose rest is still to come."""
    text = "\n\n".join(each.markdown for each in drawn.items if isinstance(each, AnswerText))
    return text if drawn.is_final else text.removesuffix("<")


def _tasks(drawn: Drawn) -> Iterator[tuple[str, Note]]:
    for number, item in enumerate(drawn.items):
        if isinstance(item, Note):
            yield item.id or f"note-{number}", item


def _question(item: Question) -> Sequence[Block]:
    reason = f"\n{_unfenced(item.reason)}" if item.reason else ""
    asks = f"May *{escaped(item.tool)}* run?{reason}\n```\n{_unfenced(item.arguments)}\n```"
    buttons = [
        _button("Approve", APPROVE, item.name, style="primary"),
        _button("Deny", DENY, item.name, style="danger"),
    ]
    return (
        *({"type": "section", "text": _text(each)} for each in _sections(asks)),
        {"type": "actions", "elements": buttons},
    )


def _unfenced(text: str) -> str:
    return escaped(text).replace("```", "`\u200b``")


def _button(text: str, action: str, value: str, **more: str) -> Mapping[str, Any]:
    return {
        "type": "button",
        "action_id": action,
        "value": value,
        "text": {"type": "plain_text", "text": text},
        **more,
    }


def _text(text: str) -> dict[str, str]:
    return {"type": "mrkdwn", "text": text}


def _joined(notes: Sequence[str]) -> Iterator[str]:
    """A context block has ten elements at most; many notes are one line."""
    for at in range(0, min(len(notes), 100), 10):
        yield "  ·  ".join(notes[at : at + 10])[:SECTION]


def _sections(text: str) -> Iterator[str]:
    """The text in pieces of SECTION at most, cut between lines; code is closed and opened again."""
    piece, is_code = "", False
    for whole in text.splitlines(keepends=True):
        for line in _cut(whole):
            if len(piece) + len(line) > SECTION - 10:
                yield (piece + "```" if is_code else piece).strip("\n")
                piece = "```\n" if is_code else ""
            piece += line
        if whole.strip() == "```":
            is_code = not is_code
    if piece.strip("\n"):
        yield piece.strip("\n")


def _cut(line: str) -> Iterator[str]:
    """The line in pieces that have room in a section, not cut within `&amp;` and the like."""
    while len(line) > SECTION - 10:
        end = SECTION - 10
        sign = line.rfind("&", end - 4, end)
        if sign >= 0 and ";" not in line[sign:end]:
            end = sign
        yield line[:end]
        line = line[end:]
    yield line
