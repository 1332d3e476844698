"""A chat of a Claude export.

    {"uuid", "name", "created_at", "updated_at",
     "chat_messages": [{"uuid", "sender": "human" | "assistant", "created_at", "text", "parent_message_uuid"?,
       "content": [{"type": "text" | "thinking" | "tool_use" | "tool_result" …}],
       "attachments": [{"file_name", "extracted_content"}], "files": [{"file_name"}], "files_v2"?}]}

`text` is for what cannot read `content`: it has thoughts in it, and a sentence in the place of each call.

The form is nowhere documented; it is what exports of 2023 to 2026 have.
"""

import re
from collections.abc import Mapping
from typing import Any

from gateway.history.foreign_chats.fields import (
    branch,
    enclosed,
    fenced,
    fields,
    id_of,
    items,
    moment,
    nothing,
    text,
    title,
)
from gateway.history.foreign_chats.foreign_chat import (
    MAX_FILES,
    ForeignChat,
    ForeignFile,
    ForeignMessage,
    UnreadableChat,
    chat_from,
)

_NOT_SHOWN = re.compile(r"```\s*This block is not supported on your current device yet\.\s*```")
_THOUGHT = re.compile("<antThinking>")
_DOCUMENT = re.compile(r"<antArtifact\b([^>]{0,1000})>")
_ATTRIBUTE = re.compile(r'\b(title|language)="([^"]*)"')
"""Of exports of 2024, where documents and thoughts stand in the text."""


def chat_of(value: Mapping[str, Any]) -> ForeignChat:
    """Raises UnreadableChat: there is nothing in it to read."""
    chat_id = id_of(value.get("uuid"))
    if chat_id is None:
        raise UnreadableChat("It has no id.")
    return chat_from(
        "claude",
        chat_id,
        title=title(value.get("name")),
        created_at=moment(value.get("created_at")),
        updated_at=moment(value.get("updated_at")),
        messages=map(_message, _branch(value)),
    )


def _branch(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages in their order; where they name what they follow, those of the last branch."""
    messages = [fields(each) for each in items(value.get("chat_messages"))]
    by_id = {uuid: each for each in messages if (uuid := text(each.get("uuid")))}
    if len(by_id) != len(messages) or not any(
        text(each.get("parent_message_uuid")) in by_id for each in messages
    ):
        return messages
    at = text(value.get("current_leaf_message_uuid"))
    if at not in by_id:
        at = text(messages[-1].get("uuid"))
    return branch(
        at, lambda uuid: (by_id[uuid], by_id[uuid].get("parent_message_uuid")) if uuid in by_id else None
    )


def _message(message: Mapping[str, Any]) -> tuple[ForeignMessage | None, int]:
    """The message as text, and how many of its parts the export only names."""
    sender = message.get("sender")
    if sender not in {"human", "assistant"}:
        return None, 0
    parts = items(message.get("content"))
    words = [said for part in parts if (said := _part(fields(part)))]
    said = "\n\n".join(words) if parts else _plain(text(message.get("text")))
    attached, named = list[ForeignFile](), list[str]()
    for each in map(fields, items(message.get("attachments"))):
        name, content = title(each.get("file_name")) or "attachment.txt", text(each.get("extracted_content"))
        if content.strip() and len(attached) < MAX_FILES and sender == "human":
            attached.append(ForeignFile(name, content))
        else:
            named.append(name)
    files = [*items(message.get("files")), *items(message.get("files_v2"))]
    named += [title(fields(each).get("file_name")) or "file" for each in files]
    named = [each for each in dict.fromkeys(named) if each not in {file.name for file in attached}]
    said = "\n".join([*(f"[File: {name}]" for name in named), said]).strip()
    if not said and not attached:
        return None, 0
    role = "user" if sender == "human" else "assistant"
    return ForeignMessage(role, said, moment(message.get("created_at")), tuple(attached)), len(named)


def _part(part: Mapping[str, Any]) -> str:
    kind = part.get("type")
    if kind in {"text", "voice_note"}:
        return _plain(text(part.get("text")))
    made = fields(part.get("input"))
    if kind == "tool_use" and part.get("name") == "artifacts":
        return _document(title(made.get("title")), text(made.get("content")), text(made.get("language")))
    if kind == "tool_use" and part.get("name") == "create_file":
        name = title(text(made.get("path")).split("/")[-1])
        return _document(name, text(made.get("file_text")), "")
    return ""


def _plain(said: str) -> str:
    """What was said, with the documents that stand in it, without thoughts and what stands for tool calls."""
    said = enclosed(_NOT_SHOWN.sub("", said), _THOUGHT, "</antThinking>", nothing)
    return enclosed(said, _DOCUMENT, "</antArtifact>", _document_of).strip()


def _document_of(begun: re.Match[str], content: str) -> str:
    about: dict[str, str] = dict(_ATTRIBUTE.findall(begun[1]))
    return _document(title(about.get("title")), content.strip("\n"), about.get("language", ""))


def _document(name: str | None, content: str, language: str) -> str:
    """A document that was written beside the chat; "" where there is nothing in it."""
    shown = fenced(content, language) if content.strip() else ""
    return f"**{name}**\n\n{shown}" if name and shown else shown
