"""Refuses what the Messages API refuses, in its words: what passes here is a valid history.

Rules: docs.claude.com, "Messages", "Tool use", "Extended thinking" and "Prompt caching"; the shape of a
request is in request_schema.py. Two consecutive messages of one role count as one, as the API has it.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import ValidationError

from gateway.demo.question import blocks
from gateway.demo.request_schema import OTHER_FIELDS, THOUGHTS, MessagesRequest, ToolDefinition
from gateway.demo.signatures import is_genuine

MAX_CACHE_POINTS = 4
MAX_FILES = 100
"""Images and documents of one request."""
THOUGHT_FIRST = "toolu_thought_"
"""Ids of calls that followed a thought: the thought must come back in front of them."""


class RejectedRequest(Exception):
    """A request the API would not accept: the HTTP status, the message and, where the status does not say it,
    the type of its answer."""

    def __init__(self, message: str, *, status: int = 400, kind: str | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.kind = status, message, kind


def check(body: Any, *, counting: bool = False) -> dict[str, Any]:
    """Returns a valid body of /v1/messages, or, when `counting`, of /v1/messages/count_tokens.

    Raises:
        Refused: the API would answer with an error.
    """
    if not isinstance(body, dict):
        raise RejectedRequest("The request body is not a JSON object.")
    try:
        read = MessagesRequest.model_validate(body)
    except ValidationError as invalid:
        error = invalid.errors(include_url=False, include_input=False)[0]
        raise RejectedRequest(
            f"{'.'.join(map(str, error['loc']))}: {error['msg']}".removeprefix(": ")
        ) from None
    for name in body.keys() - MessagesRequest.model_fields.keys() - OTHER_FIELDS:
        raise RejectedRequest(f"{name}: Extra inputs are not permitted")
    if not counting:
        _check_limits(read)
    _check_tools(read.tools)
    if not read.messages:
        raise RejectedRequest("messages: at least one message is required")
    if read.messages[0].role != "user":
        raise RejectedRequest('messages: first message must use the "user" role')
    _check_signatures(body)
    _check_calls(body["messages"])
    if read.thinking.get("type", "disabled") != "disabled":
        _check_thoughts(body["messages"])
    _check_counts(body)
    return body


def _check_signatures(body: Mapping[str, Any]) -> None:
    """Thinking that another model has signed, or nobody, is not read."""
    for index, message in enumerate(body["messages"]):
        for place, block in enumerate(blocks(message)):
            if block["type"] in THOUGHTS and not is_genuine(block, body["model"]):
                raise RejectedRequest(
                    f"messages.{index}.content.{place}: Invalid `signature` in `{block['type']}` block"
                )


def _check_limits(read: MessagesRequest) -> None:
    if read.max_tokens is None:
        raise RejectedRequest("max_tokens: Field required")
    if read.thinking.get("type") != "enabled":
        return
    budget = read.thinking.get("budget_tokens")
    if not isinstance(budget, int) or budget < 1024:
        raise RejectedRequest("thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
    if budget >= read.max_tokens:
        raise RejectedRequest("`max_tokens` must be greater than `thinking.budget_tokens`.")
    if read.temperature not in (None, 1):
        raise RejectedRequest("`temperature` may only be set to 1 when thinking is enabled.")


def _check_tools(tools: list[ToolDefinition]) -> None:
    for index, tool in enumerate(tools):
        if tool.type is None and (tool.input_schema or {}).get("type") != "object":
            raise RejectedRequest(f"tools.{index}.custom.input_schema.type: Field required")
    if len({tool.name for tool in tools}) != len(tools):
        raise RejectedRequest("tools: Tool names must be unique.")


def _check_calls(messages: list[dict[str, Any]]) -> None:
    """Each tool_use is answered in the very next message, each tool_result answers one there."""
    seen: set[str] = set()
    open_calls: list[str] = []
    for index, (role, content) in enumerate([*_merged(messages), ("", [])]):
        results = [block["tool_use_id"] for block in content if block["type"] == "tool_result"]
        _check_results(index, open_calls, results)
        if any(block["type"] != "tool_result" for block in content[: len(results)]):
            raise RejectedRequest(
                f"messages.{index}: `tool_result` blocks must come first in a message's content"
            )
        open_calls = [block["id"] for block in content if block["type"] == "tool_use"]
        if len(set(open_calls)) != len(open_calls) or seen.intersection(open_calls):
            raise RejectedRequest("messages: `tool_use` ids must be unique")
        seen.update(open_calls)
        if role == "assistant" and content[-1]["type"] in THOUGHTS:
            raise RejectedRequest(
                f"messages.{index}: The final block in an assistant message cannot be `thinking`."
            )


def _check_results(index: int, calls: list[str], results: list[str]) -> None:
    if missing := [call for call in calls if call not in results]:
        raise RejectedRequest(
            f"messages.{index - 1}: `tool_use` ids were found without `tool_result` blocks immediately "
            f"after: {', '.join(missing)}. Each `tool_use` block must have a corresponding `tool_result` "
            "block in the next message."
        )
    if orphans := [call for call in results if call not in calls]:
        raise RejectedRequest(
            f"messages.{index}: unexpected `tool_use_id` found in `tool_result` blocks: "
            f"{', '.join(orphans)}. Each `tool_result` block must have a corresponding `tool_use` block in "
            "the previous message."
        )
    if len(set(results)) != len(results):
        raise RejectedRequest(
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


def _check_thoughts(messages: list[dict[str, Any]]) -> None:
    """While thinking is on, the calls of the running turn keep the thought they followed."""
    for index, message in reversed(list(enumerate(messages))):
        content = blocks(message)
        kinds = [block["type"] for block in content]
        if message["role"] == "user" and "text" in kinds:
            return
        followed = any(block.get("id", "").startswith(THOUGHT_FIRST) for block in content)
        if followed and not THOUGHTS.intersection(kinds):
            expected = "Expected `thinking` or `redacted_thinking`"
            raise RejectedRequest(f"messages.{index}.content.0.type: {expected}, but found `{kinds[0]}`.")


def _check_counts(body: Mapping[str, Any]) -> None:
    files = sum(block["type"] in ("image", "document") for block in all_blocks(body["messages"]))
    if files > MAX_FILES:
        raise RejectedRequest(f"messages: too many images and documents: {files} > {MAX_FILES}")
    contents = [body.get("tools"), body.get("system"), *(message["content"] for message in body["messages"])]
    marked = [block for group in contents if isinstance(group, list) for block in group]
    points = sum(bool(block.get("cache_control")) for block in marked)
    if points > MAX_CACHE_POINTS:
        raise RejectedRequest(
            f"A maximum of {MAX_CACHE_POINTS} blocks with cache_control may be provided. Found {points}."
        )


def all_blocks(messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The blocks of all messages, those inside of tool results included."""
    for message in messages:
        for block in blocks(message):
            yield block
            if block["type"] == "tool_result" and isinstance(block.get("content"), list):
                yield from block["content"]
