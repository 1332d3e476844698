"""A conversation written out as data, for a model that reads it from outside."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from gateway.history.thinking_reader import said_by
from gateway.lexical import estimate_tokens
from gateway.messages import Block
from gateway.storage.messages import StoredMessage

MAX_TEXT = 16_000
"""Characters of one text block that are shown: several pages; the archive has the rest."""
MAX_RESULT = 2_000
"""Characters of one tool result that are shown, of its beginning and its end."""
MAX_FILE = 4_000
"""Characters of one attached text that are shown; its reference leads to the rest."""
MAX_ARGUMENTS = 1_000
"""Characters of one tool call's arguments that are shown."""


@dataclass(frozen=True, slots=True)
class DialogueEntry:
    """A message as it is written out; `tokens` are estimated."""

    stored: StoredMessage
    text: str
    tokens: int


def write_out(messages: Sequence[StoredMessage]) -> list[DialogueEntry]:
    """`messages` as text, without those that have none. Thinking is left out.

    Each part of a message stands under a line of its own, `[POSITION] WHO:`, where WHO is `user`,
    `assistant`, `assistant calls TOOL`, `result of TOOL`, `failed result of TOOL` or `text of FILE` (the
    reference of what was attached). All other lines are indented by two spaces, so that no text of a message
    can pass for such a line.
    """
    names: dict[str, str] = {}
    entries: list[DialogueEntry] = []
    for stored in messages:
        said = said_by(stored.message, stored.message)
        parts = [part for block in said.content for part in _parts(stored, block, names)]
        if parts:
            text = "\n".join(parts)
            entries.append(DialogueEntry(stored, text, estimate_tokens(text) + 1))
    return entries


def shorten(text: str, most: int) -> str:
    """`text`, or its beginning and its end with a mark between for the missing part, in about `most`
    characters."""
    if len(text) <= most:
        return text
    tail = most // 4
    left_out = f" [... {len(text) - most} characters left out ...] "
    return text[: most - tail] + left_out + text[len(text) - tail :]


def call_name(block: Block) -> str:
    """The name of the tool that a tool_use block calls, on one line."""
    return "".join(str(block.get("name", "")).split())[:128] or "unknown"


def _parts(stored: StoredMessage, block: Block, names: dict[str, str]) -> Iterator[str]:
    who = stored.message.role
    match block:
        case {"type": "text", "text": str(text)} if text.strip():
            yield _part(stored, who, shorten(text.strip(), MAX_TEXT))
        case {"type": "tool_use"}:
            names[str(block.get("id"))] = name = call_name(block)
            arguments = orjson.dumps(block.get("input")).decode()
            yield _part(stored, f"{who} calls {name}", shorten(arguments, MAX_ARGUMENTS))
        case {"type": "tool_result"}:
            name = names.get(str(block.get("tool_use_id")), "unknown")
            label = f"failed result of {name}" if block.get("is_error") else f"result of {name}"
            yield _part(stored, label, shorten(_plain(block.get("content")), MAX_RESULT))
        case {"type": "attached", "ref": ref, "name": str(name)}:
            yield _part(stored, who, f"(attached {' '.join(name.split())}, {ref})")
            if block["shown"] == "text":
                yield _part(stored, f"text of {ref}", shorten(block["text"].strip(), MAX_FILE))
        case {"type": "text" | "thinking" | "redacted_thinking" | "recalled"}:
            pass
        case _:
            yield _part(stored, who, f"({block['type']})")


def _part(stored: StoredMessage, label: str, text: str) -> str:
    return "\n".join([f"[{stored.position}] {label}:", *(f"  {line}" for line in text.splitlines())])


def _plain(content: Any) -> str:
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    blocks = [block for block in content if isinstance(block, dict)]
    return "\n".join(str(block.get("text") or f"({block.get('type')})") for block in blocks)
