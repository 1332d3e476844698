"""A chat of a Claude export.

    {"uuid", "name", "created_at", "updated_at",
     "chat_messages": [{"uuid", "sender": "human" | "assistant", "created_at", "text", "parent_message_uuid"?,
       "content": [{"type": "text" | "thinking" | "tool_use" | "tool_result" …}],
       "attachments": [{"file_name", "extracted_content"}], "files": [{"file_name"}]}]}

The form is nowhere documented; it is what exports of 2023 to 2026 have.
"""

from collections.abc import Mapping
from typing import Any

from gateway.history.foreign_chats.fields import fenced, fields, id_of, items, moment, text, title
from gateway.history.foreign_chats.foreign_chat import (
    MAX_MESSAGES,
    ForeignChat,
    ForeignFile,
    ForeignMessage,
    UnreadableChat,
)

MAX_FILES = 20
"""Of one message."""


def chat_of(value: Mapping[str, Any]) -> ForeignChat:
    """Raises UnreadableChat: there is nothing in it to read."""
    chat_id = id_of(value.get("uuid"))
    if chat_id is None:
        raise UnreadableChat("It has no id.")
    messages: list[ForeignMessage] = []
    left_out = 0
    for message in _branch(value):
        read, missing = _message(message)
        left_out += missing
        if read is not None:
            messages.append(read)
    if not messages:
        raise UnreadableChat("There are no messages in it.")
    times = [each.at for each in messages if each.at is not None]
    return ForeignChat(
        "claude",
        chat_id,
        title(value.get("name")),
        moment(value.get("created_at")) or min(times, default=None),
        moment(value.get("updated_at")) or max(times, default=None),
        tuple(messages[-MAX_MESSAGES:]),
        left_out,
    )


def _branch(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages in their order; where they name what they follow, those of the last branch."""
    messages = [fields(each) for each in items(value.get("chat_messages"))]
    by_id = {uuid: each for each in messages if (uuid := text(each.get("uuid")))}
    if len(by_id) != len(messages) or not any(each.get("parent_message_uuid") in by_id for each in messages):
        return messages
    at: object = value.get("current_leaf_message_uuid")
    if at not in by_id:
        at = messages[-1].get("uuid")
    found: list[Mapping[str, Any]] = []
    seen: set[object] = set()
    while isinstance(at, str) and at in by_id and at not in seen:
        seen.add(at)
        found.append(by_id[at])
        at = by_id[at].get("parent_message_uuid")
    return found[::-1]


def _message(message: Mapping[str, Any]) -> tuple[ForeignMessage | None, int]:
    """The message as text, and how many of its parts the export only names."""
    sender = message.get("sender")
    if sender not in {"human", "assistant"}:
        return None, 0
    words = [said for part in items(message.get("content")) if (said := _part(fields(part)))]
    said = "\n\n".join(words) or text(message.get("text"))
    attached, named = list[ForeignFile](), list[str]()
    for each in map(fields, items(message.get("attachments"))):
        name, content = title(each.get("file_name")) or "attachment.txt", text(each.get("extracted_content"))
        if content.strip() and len(attached) < MAX_FILES and sender == "human":
            attached.append(ForeignFile(name, content))
        else:
            named.append(name)
    named += [title(fields(each).get("file_name")) or "file" for each in items(message.get("files"))]
    said = "\n".join([*(f"[File: {name}]" for name in dict.fromkeys(named)), said]).strip()
    if not said and not attached:
        return None, 0
    role = "user" if sender == "human" else "assistant"
    return ForeignMessage(role, said, moment(message.get("created_at")), tuple(attached)), len(named)


def _part(part: Mapping[str, Any]) -> str:
    kind = part.get("type")
    if kind in {"text", "voice_note"}:
        return text(part.get("text")).strip()
    if kind == "tool_use" and part.get("name") == "artifacts":
        made = fields(part.get("input"))
        content, name = text(made.get("content")), title(made.get("title"))
        shown = fenced(content, text(made.get("language"))) if content.strip() else ""
        return f"**{name}**\n\n{shown}" if name and shown else shown
    return ""
