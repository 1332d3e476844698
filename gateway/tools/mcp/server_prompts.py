"""The prompts that a server offers: its list as the SDK takes it, and the text of one that is filled in.

A prompt is shown to a person, who sends it or not: what a server wrote is their draft, and nothing of it is
told to the model by itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mcp_types import EmbeddedResource, Prompt, PromptMessage, TextContent, TextResourceContents

from gateway.errors import ToolError
from gateway.messages import shortened
from gateway.tools.mcp import bounds
from gateway.tools.mcp.call_results import mended_result
from gateway.tools.mcp.tool_list import PAGE
from gateway.tools.mcp.tool_schemas import shown

_SPEAKERS: Mapping[str, str] = {"user": "User", "assistant": "Assistant"}


@dataclass(frozen=True, slots=True)
class PromptArgument:
    """What is filled in; texts are for people."""

    name: str
    description: str
    is_required: bool


@dataclass(frozen=True, slots=True)
class ServerPrompt:
    """A prompt by the server's own name for it; `title` and `description` are for people."""

    name: str
    title: str
    description: str
    arguments: tuple[PromptArgument, ...]


def mended_prompts(page: Mapping[str, Any]) -> dict[str, Any]:
    """A page of a list without what is no prompt, which the SDK would refuse all of them for."""
    listed = page.get("prompts")
    entries = listed if isinstance(listed, list) else []
    kept = [
        {"name": each["name"], **_texts(each), "arguments": [*_arguments(each.get("arguments"))]}
        for each in entries[: bounds.LISTED]
        if isinstance(each, dict) and _is_name(each.get("name"))
    ]
    cursor = page.get("nextCursor")
    more = {"nextCursor": cursor} if isinstance(cursor, str) else {}
    return {**PAGE, "prompts": kept, **more}


def mended_prompt(result: Mapping[str, Any]) -> dict[str, Any]:
    """A prompt that is filled in, with messages that are valid: what cannot be read is named in its place."""
    given = result.get("messages")
    messages = given if isinstance(given, list) else [given] if isinstance(given, dict) else []
    mended = [
        {"role": "assistant" if each.get("role") == "assistant" else "user", "content": block}
        for each in messages[: bounds.PROMPT_MESSAGES]
        if isinstance(each, dict)
        for block in mended_result({"content": each.get("content")})["content"]
    ]
    return {"resultType": result.get("resultType", "complete"), "messages": mended}


def prompt_of(listed: Prompt) -> ServerPrompt:
    arguments = (
        PromptArgument(each.name, each.description or "", each.required is True)
        for each in listed.arguments or ()
    )
    return ServerPrompt(listed.name, listed.title or "", listed.description or "", tuple(arguments))


def draft_of(messages: Sequence[PromptMessage]) -> str:
    """The text of a prompt, as a person may send it: its messages one below the other, with who says each
    where the assistant speaks in them. Raises ToolError: there is no text, or too much."""
    texts = [(each.role, _text_of(each)) for each in messages]
    told = [(role, text) for role, text in texts if text is not None and text.strip()]
    if not told:
        raise ToolError("the prompt has no text")
    is_dialogue = any(role == "assistant" for role, _ in told)
    parts = [f"{_SPEAKERS[role]}: {text}" if is_dialogue else text for role, text in told]
    if left_out := sum(text is None for _, text in texts):
        parts.append(f"[{left_out} parts that are no text, left out]")
    draft = shown("\n\n".join(parts))
    if len(draft) > bounds.PROMPT_TEXT:
        raise ToolError(f"the prompt has more than {bounds.PROMPT_TEXT:,} characters")
    return draft


def _text_of(message: PromptMessage) -> str | None:
    match message.content:
        case TextContent(text=text):
            return text
        case EmbeddedResource(resource=TextResourceContents(text=text)):
            return text
        case _:
            return None


def _arguments(given: Any) -> Iterator[dict[str, Any]]:
    for each in (given if isinstance(given, list) else [])[: bounds.PROMPT_ARGUMENTS]:
        if isinstance(each, dict) and _is_name(each.get("name")):
            yield {"name": each["name"], **_texts(each), "required": each.get("required") is True}


def _texts(entry: Mapping[str, Any]) -> dict[str, str]:
    """Its words for people."""
    return {
        key: shortened(shown(text[: 2 * bounds.LINE]).strip(), bounds.LINE)
        for key in ("title", "description")
        if isinstance(text := entry.get(key), str) and text.strip()
    }


def _is_name(name: Any) -> bool:
    """Whether it is one that goes back to the server as it is, and can be shown."""
    return (
        isinstance(name, str) and 0 < len(name) <= bounds.NAME and shown(name) == name and bool(name.strip())
    )
