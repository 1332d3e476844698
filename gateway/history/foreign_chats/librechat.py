"""A chat of a LibreChat export (JSON): a tree of messages, or the messages of one branch in their order.

{"conversationId", "title", "exportAt", "recursive": bool, "messagesTree" | "messages": [
   {"messageId", "parentMessageId", "isCreatedByUser", "sender", "text", "createdAt",
    "content"?: [{"type": "text" | "think" | "tool_call" | "image_file" …, "text": str | {"value"}}],
    "files"?: [{"filename"}], "children"?: [message …]}]}
"""

from collections.abc import Iterator, Mapping
from typing import Any

from gateway.history.foreign_chats.fields import branch, fields, id_of, items, moment, text, title
from gateway.history.foreign_chats.foreign_chat import ForeignChat, ForeignMessage, UnreadableChat, chat_from


def chat_of(value: Mapping[str, Any]) -> ForeignChat:
    """Raises UnreadableChat: there is nothing in it to read."""
    chat_id = id_of(value.get("conversationId"))
    if chat_id is None:
        raise UnreadableChat("It has no id.")
    return chat_from(
        "librechat",
        chat_id,
        title=title(value.get("title")),
        created_at=None,
        updated_at=None,
        messages=map(_message, _branch(value)),
    )


def is_one(value: Mapping[str, Any]) -> bool:
    """Whether it is a chat of this form."""
    return "conversationId" in value and any(
        isinstance(value.get(each), list) for each in ("messagesTree", "messages")
    )


def _branch(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages of the branch that was written last."""
    messages = list(_flat(items(value.get("messagesTree")) or items(value.get("messages"))))
    by_id = {key: (each, parent) for each, parent in messages if (key := text(each.get("messageId")))}
    if len(by_id) != len(messages) or not any(parent in by_id for _, parent in messages):
        return [each for each, _ in messages]
    followed = {parent for _, parent in messages}
    leaves = [key for key in by_id if key not in followed]
    newest = max(leaves, key=lambda key: moment(by_id[key][0].get("createdAt")) or 0, default=None)
    return branch(newest, by_id.get)


def _flat(messages: list[Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Each message with the id of the one that it follows, each before those that follow it."""
    open_lists: list[tuple[Iterator[Any], str | None]] = [(iter(messages), None)]
    while open_lists:
        siblings, parent = open_lists[-1]
        if (message := next(map(fields, siblings), None)) is None:
            open_lists.pop()
            continue
        yield message, text(message.get("parentMessageId")) if parent is None else parent
        if children := items(message.get("children")):
            open_lists.append((iter(children), text(message.get("messageId"))))


def _message(message: Mapping[str, Any]) -> tuple[ForeignMessage | None, int]:
    """The message as text, and how many of its parts the export only names."""
    named = [title(fields(each).get("filename")) or "file" for each in items(message.get("files"))]
    parts = [_part(fields(each)) for each in items(message.get("content"))]
    said = "\n\n".join(words for words, _ in parts if words) or text(message.get("text")).strip()
    words = "\n".join([*(f"[File: {name}]" for name in named), said]).strip()
    left_out = len(named) + sum(missing for _, missing in parts)
    if not words:
        return None, left_out
    role = "user" if message.get("isCreatedByUser") is True else "assistant"
    return ForeignMessage(role, words, moment(message.get("createdAt"))), left_out


def _part(part: Mapping[str, Any]) -> tuple[str, int]:
    kind, said = text(part.get("type")), part.get("text")
    if kind == "text":
        return text(said if isinstance(said, str) else fields(said).get("value")).strip(), 0
    return ("[Image]", 1) if "image" in kind else ("", 0)
