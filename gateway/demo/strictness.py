"""Refuses what the Messages API refuses, in its words: what passes here is a valid history.

Rules: docs.claude.com, "Messages", "Tool use", "Extended thinking" and "Prompt caching"; those of images and
documents are in media.py. Two consecutive messages of one role count as one, as the API has it.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from gateway.demo import media
from gateway.demo.asked import blocks
from gateway.demo.signatures import is_genuine

_TOP = frozenset(
    [
        "model",
        "messages",
        "max_tokens",
        "system",
        "stream",
        "temperature",
        "top_p",
        "top_k",
        "stop_sequences",
        "tools",
        "tool_choice",
        "thinking",
        "metadata",
        "service_tier",
        "container",
        "context_management",
        "mcp_servers",
        "output_config",
        "output_format",
        "cache_control",
    ]
)
_REQUIRED: dict[str, dict[str, type]] = {
    "text": {"text": str},
    "tool_use": {"id": str, "name": str, "input": dict},
    "tool_result": {"tool_use_id": str},
    "thinking": {"thinking": str, "signature": str},
    "redacted_thinking": {"data": str},
    "image": {"source": dict},
    "document": {"source": dict},
    "demo_novelty": {},
}
_OPTIONAL = {
    "text": frozenset({"cache_control", "citations"}),
    "tool_use": frozenset({"cache_control", "caller"}),
    "tool_result": frozenset({"content", "is_error", "cache_control"}),
    "image": frozenset({"cache_control"}),
    "document": frozenset({"cache_control", "title", "context", "citations"}),
    "demo_novelty": frozenset({"payload"}),
}
_ROLE_OF = {
    "tool_use": "assistant",
    "tool_result": "user",
    "thinking": "assistant",
    "redacted_thinking": "assistant",
    "image": "user",
    "document": "user",
}
_IN_RESULTS = frozenset({"text", "image", "document"})
_TOOL_NAME = re.compile(r"[a-zA-Z0-9_-]{1,128}")
_CALL_ID = re.compile(r"[a-zA-Z0-9_-]+")
_THOUGHTS = frozenset({"thinking", "redacted_thinking"})
MAX_CACHE_POINTS = 4
THOUGHT_FIRST = "toolu_thought_"
"""Ids of calls that followed a thought: the thought must come back in front of them."""


class Refused(Exception):
    """A request the API would not accept: the HTTP status and the message of its answer."""

    def __init__(self, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.status, self.message = status, message


def check(body: Any, *, counting: bool = False) -> dict[str, Any]:
    """Returns a valid body of /v1/messages, or, when `counting`, of /v1/messages/count_tokens.

    Raises:
        Refused: the API would answer with an error.
    """
    if not isinstance(body, dict):
        raise Refused("The request body is not a JSON object.")
    for name in body.keys() - _TOP:
        raise Refused(f"{name}: Extra inputs are not permitted")
    if not isinstance(body.get("model"), str) or not body["model"]:
        raise Refused("model: Field required")
    if not counting:
        _check_numbers(body)
    _check_tools(body.get("tools") or [])
    for path, block in _named(body.get("system") or [], "system"):
        _check_block(path, block)
    _check_messages(body.get("messages"))
    _check_thoughts(body)
    if (files := sum(1 for _ in media.files(body))) > media.MAX_FILES:
        raise Refused(f"messages: too many images and documents: {files} > {media.MAX_FILES}")
    points = sum(1 for _ in _cache_points(body))
    if points > MAX_CACHE_POINTS:
        raise Refused(
            f"A maximum of {MAX_CACHE_POINTS} blocks with cache_control may be provided. Found {points}."
        )
    return body


def _check_numbers(body: Mapping[str, Any]) -> None:
    limit = body.get("max_tokens")
    if not isinstance(limit, int) or isinstance(limit, bool):
        raise Refused("max_tokens: Field required")
    if limit < 1:
        raise Refused("max_tokens: Input should be greater than or equal to 1")
    temperature = body.get("temperature")
    if temperature is not None and not (isinstance(temperature, int | float) and 0 <= temperature <= 1):
        raise Refused("temperature: range: 0..1")
    thinking = body.get("thinking") or {}
    if thinking.get("type") == "enabled":
        budget = thinking.get("budget_tokens")
        if not isinstance(budget, int) or budget < 1024:
            raise Refused("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
        if budget >= limit:
            raise Refused("`max_tokens` must be greater than `thinking.budget_tokens`.")
        if temperature not in (None, 1):
            raise Refused("`temperature` may only be set to 1 when thinking is enabled.")


def _check_tools(tools: Any) -> None:
    seen: set[str] = set()
    if not isinstance(tools, list):
        raise Refused("tools: Input should be a valid list")
    for index, tool in enumerate(tools):
        name, schema = tool.get("name"), tool.get("input_schema")
        if not isinstance(name, str) or not _TOOL_NAME.fullmatch(name):
            raise Refused(
                f"tools.{index}.custom.name: String should match pattern '^[a-zA-Z0-9_-]{{1,128}}$'"
            )
        if name in seen:
            raise Refused("tools: Tool names must be unique.")
        seen.add(name)
        if "type" not in tool and (not isinstance(schema, dict) or schema.get("type") != "object"):
            raise Refused(f"tools.{index}.custom.input_schema.type: Field required")


def _named(content: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        raise Refused(f"{path}: Input should be a valid string or list")
    for index, block in enumerate(content):
        yield f"{path}.{index}", block


def _check_block(path: str, block: Any, role: str | None = None) -> None:
    tag = block.get("type") if isinstance(block, dict) else None
    if tag not in _REQUIRED:
        raise Refused(f"{path}: Input tag {tag!r} found using 'type' does not match any of the expected tags")
    _check_fields(f"{path}.{tag}", block, _REQUIRED[tag], _OPTIONAL.get(tag, frozenset()))
    if role is not None and _ROLE_OF.get(tag, role) != role:
        raise Refused(f"{path}: `{tag}` blocks are not permitted in `{role}` messages")
    if tag == "text":
        _check_text(block["text"])
    if tag == "tool_use" and not _CALL_ID.fullmatch(block["id"]):
        raise Refused(f"{path}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if tag in _THOUGHTS and not is_genuine(block):
        raise Refused(f"{path}: Invalid `signature` in `{tag}` block")
    if tag == "tool_result":
        for inner, part in _named(block.get("content", ""), f"{path}.tool_result.content"):
            _check_block(inner, part)
            if part["type"] not in _IN_RESULTS:
                raise Refused(f"{inner}: `{part['type']}` blocks are not permitted in `tool_result` blocks")
    if tag in ("image", "document"):
        try:
            media.check_source(tag, block["source"])
        except media.NotShown as refused:
            raise Refused(f"{path}.{tag}{refused}") from None


def _check_fields(
    path: str, block: Mapping[str, Any], required: Mapping[str, type], optional: frozenset[str]
) -> None:
    for name, kind in required.items():
        if not isinstance(block.get(name), kind):
            raise Refused(f"{path}.{name}: Field required")
    for name in block.keys() - required.keys() - optional - {"type"}:
        raise Refused(f"{path}.{name}: Extra inputs are not permitted")


def _check_text(text: str) -> None:
    if not text:
        raise Refused("messages: text content blocks must be non-empty")
    if not text.strip():
        raise Refused("messages: text content blocks must contain non-whitespace text")


def _check_messages(messages: Any) -> None:
    if not isinstance(messages, list) or not messages:
        raise Refused("messages: at least one message is required")
    for index, message in enumerate(messages):
        role = message.get("role") if isinstance(message, dict) else None
        if role not in ("user", "assistant", "system"):
            raise Refused(f"messages.{index}.role: Input should be 'user' or 'assistant'")
        if not message.get("content"):
            raise Refused(f"messages.{index}: all messages must have non-empty content")
        if isinstance(message["content"], str):
            _check_text(message["content"])
        for path, block in _named(message["content"], f"messages.{index}.content"):
            _check_block(path, block, role if role != "system" else None)
    if messages[0]["role"] != "user":
        raise Refused('messages: first message must use the "user" role')
    _check_calls(messages)


def _check_calls(messages: list[dict[str, Any]]) -> None:
    """Each tool_use is answered in the very next message, each tool_result answers one there."""
    seen: set[str] = set()
    open_calls: list[str] = []
    merged = _merged(messages)
    for index, (role, content) in enumerate([*merged, ("", [])]):
        results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
        _check_results(index, open_calls, results)
        if any(block["type"] != "tool_result" for block in content[: len(results)]):
            raise Refused(f"messages.{index}: `tool_result` blocks must come first in a message's content")
        open_calls = [block["id"] for block in content if block["type"] == "tool_use"]
        if len(set(open_calls)) != len(open_calls) or seen.intersection(open_calls):
            raise Refused("messages: `tool_use` ids must be unique")
        seen.update(open_calls)
        if role == "assistant" and content[-1]["type"] in _THOUGHTS:
            raise Refused(f"messages.{index}: The final block in an assistant message cannot be `thinking`.")


def _check_results(index: int, calls: list[str], results: list[str]) -> None:
    if missing := [call for call in calls if call not in results]:
        raise Refused(
            f"messages.{index - 1}: `tool_use` ids were found without `tool_result` blocks immediately "
            f"after: {', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` "
            "block in the next message."
        )
    if orphans := [call for call in results if call not in calls]:
        raise Refused(
            f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: "
            f"{', '.join(orphans)}. "
            "Each `tool_result` block must have a corresponding `tool_use` block in the previous message."
        )
    if len(set(results)) != len(results):
        raise Refused(
            "each tool_use must have a single result. Found multiple `tool_result` blocks with one id"
        )


def _merged(messages: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    merged: list[tuple[str, list[dict[str, Any]]]] = []
    for message in messages:
        if merged and merged[-1][0] == message["role"]:
            merged[-1][1].extend(blocks(message))
        else:
            merged.append((message["role"], list(blocks(message))))
    return merged


def _check_thoughts(body: Mapping[str, Any]) -> None:
    """While thinking is on, the calls of the running turn keep the thought they followed."""
    if (body.get("thinking") or {}).get("type", "disabled") == "disabled":
        return
    for index, message in reversed(list(enumerate(body["messages"]))):
        content = blocks(message)
        kinds = [block["type"] for block in content]
        if message["role"] == "user" and "text" in kinds:
            return
        thoughtful = any(block.get("id", "").startswith(THOUGHT_FIRST) for block in content)
        if thoughtful and not _THOUGHTS.intersection(kinds):
            raise Refused(
                f"messages.{index}.content.0.type: Expected `thinking` or `redacted_thinking`, "
                f"but found `{kinds[0]}`."
            )


def _cache_points(body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    groups = [
        body.get("tools") or [],
        body.get("system") or [],
        *(message["content"] for message in body["messages"]),
    ]
    for group in groups:
        for block in group:
            if isinstance(block, dict) and block.get("cache_control"):
                yield block
