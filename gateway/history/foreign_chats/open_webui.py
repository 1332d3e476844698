"""A chat of an Open WebUI export: a tree of messages, of which `currentId` ends the branch that was seen.

    {"id", "title", "created_at", "updated_at", "chat": {"title",
       "history": {"currentId", "messages": {ID: {"id", "parentId", "role", "content", "timestamp",
          "files"?: [{"type": "image" | "file", "name", "file": {"data": {"content"}}}]}}},
       "messages"?: [the branch that was seen last]}}

Times are Unix seconds. What the model thought, and calls of tools, stand in `<details>` in a content.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from gateway.history.foreign_chats.fields import (
    branch,
    enclosed,
    fields,
    id_of,
    items,
    nothing,
    seconds,
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

_FOLDED = re.compile(r'<details type="(?:reasoning|tool_calls|code_interpreter)"')
"""What a reader saw folded: thoughts, and calls of tools."""


def chat_of(value: Mapping[str, Any]) -> ForeignChat:
    """Raises UnreadableChat: there is nothing in it to read."""
    chat = fields(value.get("chat"))
    messages = _branch(chat)
    if not messages:
        raise UnreadableChat("There are no messages in it.")
    return chat_from(
        "open-webui",
        id_of(value.get("id")) or _id_from(messages),
        title=title(value.get("title")) or title(chat.get("title")),
        created_at=seconds(value.get("created_at")),
        updated_at=seconds(value.get("updated_at")),
        messages=map(_message, messages),
    )


def is_one(value: Mapping[str, Any]) -> bool:
    """Whether it is a chat of this form."""
    chat = fields(value.get("chat"))
    return isinstance(chat.get("history"), Mapping) or isinstance(chat.get("messages"), list)


def _branch(chat: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    history = fields(chat.get("history"))
    nodes = {key: fields(each) for key, each in fields(history.get("messages")).items()}
    path = branch(
        history.get("currentId"),
        lambda key: (nodes[key], nodes[key].get("parentId")) if key in nodes else None,
    )
    return path or [fields(each) for each in items(chat.get("messages"))] or list(nodes.values())


def _id_from(messages: list[Mapping[str, Any]]) -> str:
    """Of an export that names no id: the same each time it is imported."""
    digest = hashlib.sha256()
    for each in messages[:2]:
        digest.update(
            f"{each.get('id')} {each.get('timestamp')} {each.get('content')}\n".encode(errors="replace")
        )
    return digest.hexdigest()[:32]


def _message(message: Mapping[str, Any]) -> tuple[ForeignMessage | None, int]:
    """The message as text, and how many of its parts the export only names."""
    role = message.get("role")
    if role not in {"user", "assistant"}:
        return None, 0
    attached, named, pictures = list[ForeignFile](), list[str](), 0
    for each in map(fields, items(message.get("files"))):
        content = text(fields(fields(each.get("file")).get("data")).get("content"))
        if each.get("type") == "image":
            pictures += 1
        elif content.strip() and len(attached) < MAX_FILES and role == "user":
            attached.append(ForeignFile(title(each.get("name")) or "attachment.txt", content))
        else:
            named.append(title(each.get("name")) or "file")
    said = enclosed(text(message.get("content")), _FOLDED, "</details>", nothing).strip()
    words = "\n".join([*(f"[File: {name}]" for name in named), *(["[Image]"] * pictures), said]).strip()
    if not words and not attached:
        return None, 0
    left_out = len(named) + pictures
    return ForeignMessage(role, words, seconds(message.get("timestamp")), tuple(attached)), left_out
