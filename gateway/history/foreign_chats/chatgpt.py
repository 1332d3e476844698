"""A chat of a ChatGPT export: a tree of messages (`mapping`), of which `current_node` ends the branch that
its reader saw last.

    {"title", "create_time", "update_time", "conversation_id", "current_node",
     "mapping": {ID: {"parent", "children", "message": {"author": {"role", "name"}, "create_time",
       "recipient", "weight", "content": {"content_type", "parts" | "text" | "result" …},
       "metadata": {"content_references": [{"matched_text", "alt"}], "attachments": [{"name"}] …}}}}}

A message of no weight is none that its reader saw, nor is a hidden one.

The form is nowhere documented; it is what exports of 2023 to 2026 have.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from gateway.history.foreign_chats.fields import branch, fenced, fields, id_of, items, seconds, text, title
from gateway.history.foreign_chats.foreign_chat import (
    ForeignChat,
    ForeignMessage,
    UnreadableChat,
    chat_from,
)

_CITED = re.compile("\ue200[^\ue200\ue201]*\ue201|【[^】]{0,40}†[^】]{0,200}】")
"""Marks of sources, in letters for private use, or as they were before."""
_NAMED = re.compile("\ue200entity\ue202(\\[[^\ue200\ue201]{0,2000}\\])\ue201")
"""What an answer names, as exports of 2025 have it: a kind, the name, and what it is."""
_WRITING = re.compile(r"^:::(?:writing\b.{0,500})?[ \t]*$\n?", re.MULTILINE)
"""The fences of a text that its reader was to take along, such as a letter."""
_UNSEEN = frozenset({"user_editable_context", "model_editable_context", "thoughts", "reasoning_recap"})
"""What no reader saw as part of the chat."""
_SHOWN_CALLS = frozenset({"all", "", "python"})
"""To whom messages go of which a reader saw the text; other calls of tools are theirs alone."""


def chat_of(value: Mapping[str, Any]) -> ForeignChat:
    """Raises UnreadableChat: there is nothing in it to read."""
    chat_id = id_of(value.get("conversation_id")) or id_of(value.get("id"))
    if chat_id is None:
        raise UnreadableChat("It has no id.")
    return chat_from(
        "chatgpt",
        chat_id,
        title=title(value.get("title")),
        created_at=seconds(value.get("create_time")),
        updated_at=seconds(value.get("update_time")),
        messages=map(_message, _branch(value)),
    )


def _branch(value: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages from the root to the current node, or where that is not there to the newest leaf."""
    mapping = fields(value.get("mapping"))
    at: object = text(value.get("current_node"))
    if at not in mapping:
        at = _newest_leaf(mapping)
    nodes = {key: fields(node) for key, node in mapping.items()}
    return branch(
        at,
        lambda key: (fields(nodes[key].get("message")), nodes[key].get("parent")) if key in nodes else None,
    )


def _newest_leaf(mapping: Mapping[str, Any]) -> str | None:
    leaves = (key for key, node in mapping.items() if not items(fields(node).get("children")))
    return max(
        leaves,
        key=lambda key: seconds(fields(fields(mapping[key]).get("message")).get("create_time")) or 0,
        default=None,
    )


def _message(message: Mapping[str, Any]) -> tuple[ForeignMessage | None, int]:
    """The message as text, and how many of its parts the export only names."""
    role = fields(message.get("author")).get("role")
    metadata, content = fields(message.get("metadata")), fields(message.get("content"))
    kind = text(content.get("content_type"))
    if role not in {"user", "assistant", "tool"} or kind in _UNSEEN:
        return None, 0
    if metadata.get("is_visually_hidden_from_conversation") is True or message.get("weight") == 0:
        return None, 0
    recipient = text(message.get("recipient"))
    if role == "assistant" and recipient not in _SHOWN_CALLS:
        words, left_out = _document(content), 0
    elif role == "tool":
        words, left_out = _of_tool(kind, content)
    else:
        words, left_out = _content(kind, content)
    if role == "user":
        names = [text(fields(each).get("name")) for each in items(metadata.get("attachments"))]
        words = "\n".join([*(f"[File: {name}]" for name in names if name), words])
        left_out += len([name for name in names if name])
    words = _with_sources(words, metadata).strip()
    if not words:
        return None, left_out
    at = seconds(message.get("create_time"))
    return ForeignMessage("user" if role == "user" else "assistant", words, at), left_out


def _with_sources(words: str, metadata: Mapping[str, Any]) -> str:
    """With the links that a reader saw in the place of the marks; without those that name none."""
    links = {
        text(named.get("matched_text")): text(named.get("alt"))
        for named in map(fields, items(metadata.get("content_references")))
    }
    if ":::writing" in words:
        words = _WRITING.sub("", words)
    named = _NAMED.sub(lambda mark: links.get(mark[0]) or _name(mark[1]), words)
    return _CITED.sub(lambda mark: links.get(mark[0], ""), named)


def _name(mark: str) -> str:
    try:
        said = items(json.loads(mark))
    except (ValueError, RecursionError):
        return ""
    return text(said[1]) if len(said) > 1 else ""


def _content(kind: str, content: Mapping[str, Any]) -> tuple[str, int]:
    if kind == "code":
        return fenced(text(content.get("text")), text(content.get("language"))), 0
    if kind == "tether_quote":
        quoted = text(content.get("text")) or text(content.get("title"))
        return "\n".join(f"> {line}" for line in quoted.splitlines()), 0
    parts = items(content.get("parts"))
    if not parts:
        return text(content.get("text")) or text(content.get("result")), 0
    words, left_out = list[str](), 0
    for part in parts:
        said, missing = _part(part)
        words += [said] if said else []
        left_out += missing
    return "\n\n".join(words), left_out


def _part(part: object) -> tuple[str, int]:
    if isinstance(part, str):
        return text(part), 0
    kind, named = text(fields(part).get("content_type")), fields(part)
    if said := text(named.get("text")):  # what was said in a recording, or in a form that is new
        return said, 0
    if "image" in kind:
        return "[Image]", 1
    if "audio" in kind or "video" in kind:
        return "[Recording]", 1
    return "", int(bool(named))


def _of_tool(kind: str, content: Mapping[str, Any]) -> tuple[str, int]:
    """Of what tools answered: outputs of code and pictures, which a reader saw."""
    if kind == "execution_output":
        said = text(content.get("text"))
        return (fenced(said, "text") if said.strip() else ""), 0
    if kind == "multimodal_text":
        pictures = [part for part in items(content.get("parts")) if not isinstance(part, str)]
        said = [_part(part) for part in pictures]
        return "\n\n".join(words for words, _ in said if words), sum(missing for _, missing in said)
    return "", 0


def _document(content: Mapping[str, Any]) -> str:
    """The text of a document that was written beside the chat."""
    try:
        named = fields(
            json.loads(text(content.get("text")) or "".join(map(text, items(content.get("parts")))))
        )
    except (ValueError, RecursionError):
        return ""
    whole = [each for each in map(fields, items(named.get("updates"))) if each.get("pattern") == ".*"]
    document = text(named.get("content")) or text(whole[-1].get("replacement") if whole else None)
    name = title(named.get("name"))
    return f"**{name}**\n\n{document}" if document and name else document
