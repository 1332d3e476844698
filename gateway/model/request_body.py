"""A model request as the Messages API writes it. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from gateway.messages import Block, Message
from gateway.model.base import ModelRequest
from gateway.model.endpoint_profile import Way

NONE: Mapping[str, float] = {}
ADAPTIVE = {"type": "adaptive", "display": "summarized"}
"""Thinking without a budget. By default the models that take none show nothing of it."""


def counted_body(request: ModelRequest) -> dict[str, Any]:
    """The body of a request to count tokens."""
    body: dict[str, Any] = {"model": request.model, "messages": _written(request.messages)}
    if request.system:
        body["system"] = request.system
    if request.tools:
        body["tools"] = [
            {"name": tool.name, "description": tool.description, "input_schema": tool.input_schema}
            for tool in request.tools
        ]
    if request.thinking_budget is not None:
        body["thinking"] = {"type": "enabled", "budget_tokens": request.thinking_budget}
    return body


def streamed_body(request: ModelRequest) -> dict[str, Any]:
    """The body of a request for an answer, without sampling parameters: not every endpoint takes them."""
    body = {**counted_body(request), "max_tokens": request.max_tokens, "stream": True}
    if request.tools and not request.may_call:
        body["tool_choice"] = {"type": "none"}
    if request.stop_sequences:
        body["stop_sequences"] = [*request.stop_sequences]
    if request.metadata:
        body["metadata"] = request.metadata
    return body


def in_way(body: dict[str, Any], way: Way, sampling: Mapping[str, float] = NONE) -> dict[str, Any]:
    """The body as it is sent in that way, with those of the sampling parameters that go along."""
    if way.sampling:
        body = {**body, **{name: sampling[name] for name in way.sampling}}
    if way.thinking == "adaptive":
        body = {**body, "thinking": ADAPTIVE}
    elif way.thinking is None and "thinking" in body:
        body = {name: value for name, value in body.items() if name != "thinking"}
    if way.stops != "all" and "stop_sequences" in body:
        kept = [each for each in body["stop_sequences"] if way.stops == "visible" and each.strip()]
        body = {name: value for name, value in body.items() if name != "stop_sequences"}
        body |= {"stop_sequences": kept} if kept else {}
    return body if way.cache_points else _without_cache_points(body)


def _without_cache_points(body: dict[str, Any]) -> dict[str, Any]:
    system = body.get("system", ())
    messages = [
        {**message, "content": [_unmarked(block) for block in message["content"]]}
        for message in body["messages"]
    ]
    return {**body, **({"system": [*map(_unmarked, system)]} if system else {}), "messages": messages}


def _unmarked(block: Block) -> Block:
    if "cache_control" not in block:
        return block
    return {name: value for name, value in block.items() if name != "cache_control"}


def _written(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The messages without blank text, which a model may write but the API refuses to read."""
    written: list[dict[str, Any]] = []
    for message in messages:
        content = [block for block in message.content if not _is_blank(block)]
        if content:
            written.append({"role": message.role, "content": content})
    return written


def _is_blank(block: Block) -> bool:
    if block.get("type") != "text":
        return False
    text = block.get("text")
    return isinstance(text, str) and (not text or text.isspace())
