"""The tokens of a conversation: the last count of the endpoint, and an estimate of the rest."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from time import monotonic
from typing import Any

import orjson

from gateway.bounded_dict import BoundedDict
from gateway.errors import ModelError
from gateway.history.thinking_reader import refuses_thinking
from gateway.history.transcript import view, without_thinking
from gateway.lexical import estimate_tokens
from gateway.messages import (
    ARTIFACT,
    IMAGE_TOKENS,
    Block,
    Message,
    ToolSpec,
    Usage,
    attached_in,
    document_tokens,
    looked_at_tokens,
)
from gateway.model.base import Model, ModelRequest
from gateway.storage.messages import History

MESSAGE_TOKENS = 4
"""What a message costs beside its content: its role and the marks around it."""
_CALL_TOKENS = 12  # the frame of a tool call or of its result: ids and marks
_WRAPPED_TOKENS = 60  # the tags and the note around what is recalled or attached
_SEALED_CHARACTERS = 5  # base64 characters of a redacted thinking block for one token

START = 1.15
"""How far a model that was never measured is taken to be above the estimate: the tokenizers of 2026 count a
fifth more than those before, and a prompt that does not fit is worse than an early compression."""
LOWEST, HIGHEST = 0.7, 1.8
"""Bounds of the calibration: beyond them something else is wrong (a proxy that changes the prompt)."""
_WEIGHT = 0.2  # of a new measurement
_SMALLEST_LESSON = 200  # tokens; below, the fixed costs of a request outweigh its text
_MODELS = 64
_NEAR = 0.1  # of a threshold: the estimate's own error
_SILENCE = 600.0  # seconds for which an endpoint that cannot count is not asked again


class TokenMeter:
    """Measures conversations, by what was learned of the models' tokenizers. One for a process.

    Tokens are estimated by class of character (`lexical.estimate_tokens`) and multiplied by a factor that is
    learned for each model from the usage its endpoint reports. Of the models used last 64 are remembered.
    """

    def __init__(self) -> None:
        self._factors = BoundedDict[str, float](_MODELS)
        self._silent = BoundedDict[str, float](_MODELS)

    def factor(self, model: str) -> float:
        """The factor of estimates for `model`: 1.15 until something was learned."""
        return self._factors.get(model, START)

    def estimate(self, model: str, messages: Iterable[Message], overhead: int = 0) -> int:
        """Tokens of `messages` as `model` is expected to count them; `overhead` as `overhead_of` gives it."""
        return round(self.factor(model) * (tokens_of(messages) + overhead))

    def size(self, model: str, history: History, *, overhead: int = 0) -> int:
        """Tokens of the next request that sends `history`, without the answer to it.

        Exact up to the newest answer of this prompt generation whose usage is known (that already includes
        system prompt and tools), estimated from there on. Without such an answer all is estimated: `overhead`
        is then the estimate of system prompt and tools, as `overhead_of` gives it.
        """
        counted = self._counted(model, history)
        if counted is not None:
            return counted
        return round(self.factor(model) * (tokens_of(view(history)) + overhead))

    def size_of_prompt(self, model: str, history: History) -> int | None:
        """Tokens of system prompt and tools alone: by how much the newest answer's usage exceeds the estimate
        of the messages. None without such an answer in this prompt generation."""
        counted = self._counted(model, history)
        return None if counted is None else counted - self.estimate(model, view(history))

    def _counted(self, model: str, history: History) -> int | None:
        for index in range(len(history.messages) - 1, -1, -1):
            stored = history.messages[index]
            if stored.position <= history.generation_from:
                break
            if stored.usage is not None and stored.message.role == "assistant":
                since = [item.message for item in history.messages[index + 1 :]]
                return stored.usage.total + self.estimate(model, since)
        return None

    def learn(self, model: str, estimated: int, actual: int) -> None:
        """Takes in that what was estimated as `estimated` tokens (`request_tokens`, without any factor) was
        counted as `actual` by the endpoint. Small amounts teach nothing."""
        if estimated < _SMALLEST_LESSON or actual <= 0:
            return
        measured = min(HIGHEST, max(LOWEST, actual / estimated))
        old = self.factor(model)
        self._factors[model] = min(HIGHEST, max(LOWEST, old + _WEIGHT * (measured - old)))

    def calibrate(self, request: ModelRequest, usage: Usage) -> None:
        """Takes in the usage that was reported for `request`."""
        self.learn(request.model, request_tokens(request), usage.total - usage.output_tokens)

    def is_near(self, estimate: int, threshold: int) -> bool:
        """Whether the estimate is too near to the threshold to decide by itself."""
        return abs(estimate - threshold) <= _NEAR * threshold

    async def count(
        self,
        endpoint: Model,
        request: ModelRequest,
        estimate: int,
        threshold: int,
        *,
        shown: ModelRequest | None = None,
    ) -> int:
        """`estimate`, or what the endpoint counts for `request` where that may decide: when the estimate is
        within a tenth of `threshold`; it is asked with the files `shown`. An endpoint that cannot count, or
        fails to, leaves the estimate, and is not asked again for ten minutes. Never raises."""
        if not self.is_near(estimate, threshold):
            return estimate
        if self._silent.get(request.model, 0.0) > monotonic():
            return estimate
        try:
            counted = await _counted_by(endpoint, shown or request)
        except ModelError:
            counted = None
        if counted is None:
            self._silent[request.model] = monotonic() + _SILENCE
            return estimate
        self.learn(request.model, request_tokens(request), counted)
        return counted


async def _counted_by(endpoint: Model, request: ModelRequest) -> int | None:
    """Without its thinking where the endpoint refuses that. Raises errors.ModelError."""
    try:
        return await endpoint.count_tokens(request)
    except ModelError as error:
        if not refuses_thinking(error):
            raise
    messages = [without_thinking(message) for message in request.messages]
    return await endpoint.count_tokens(replace(request, messages=messages, thinking_budget=None))


def request_tokens(request: ModelRequest) -> int:
    """The estimate, without any factor, of everything in `request` that counts as input."""
    return tokens_of(request.messages) + overhead_of(request.system, request.tools)


def overhead_of(system: Sequence[Block], tools: Sequence[ToolSpec]) -> int:
    """The estimate, without any factor, of a system prompt and tools."""
    return sum(block_tokens(block) for block in system) + sum(
        _CALL_TOKENS + estimate_tokens(tool.name + tool.description) + _json_tokens(tool.input_schema)
        for tool in tools
    )


def tokens_of(messages: Iterable[Message]) -> int:
    """The estimate, without any factor, of `messages`."""
    return sum(message_tokens(message) for message in messages)


def message_tokens(message: Message) -> int:
    """The estimate, without any factor, of one message."""
    return MESSAGE_TOKENS + sum(block_tokens(block) for block in message.content)


def block_tokens(block: Block) -> int:  # noqa: PLR0911 - a line for each type
    """The estimate, without any factor, of one content block of any type."""
    match block:
        case {"type": "text", "text": str(text)}:
            return estimate_tokens(text)
        case {"type": "thinking", "thinking": str(text)}:
            return estimate_tokens(text)
        case {"type": "redacted_thinking", "data": str(data)}:
            return len(data) // _SEALED_CHARACTERS
        case {"type": "tool_use", "name": str(name)}:
            return _CALL_TOKENS + estimate_tokens(name) + _json_tokens(block.get("input"))
        case {"type": "tool_result"}:
            return _CALL_TOKENS + _content_tokens(block.get("content"))
        case {"type": "recalled", "memories": list(memories)}:
            return sum(estimate_tokens(each["text"]) for each in memories) + _WRAPPED_TOKENS
        case {"type": "attached", "text": str(text)} if (file := attached_in(block)) is not None:
            return _WRAPPED_TOKENS + estimate_tokens(text) + looked_at_tokens(file)
        case {"source": {"type": kind, "tokens": int(tokens)}} if kind == ARTIFACT:
            return tokens
        case {"type": "image"}:
            return IMAGE_TOKENS
        case {"type": "document", "source": dict(source)}:
            return _document_tokens(source)
        case _:
            return _json_tokens(block)


def _content_tokens(content: Any) -> int:
    if isinstance(content, str):
        return estimate_tokens(content)
    if isinstance(content, list):
        return sum(block_tokens(each) for each in content if isinstance(each, dict))
    return 0


def _document_tokens(source: dict[str, Any]) -> int:
    data = source.get("data")
    if source.get("type") == "text" and isinstance(data, str):
        return estimate_tokens(data)
    if source.get("type") == "content":
        return _content_tokens(source.get("content"))
    return document_tokens(len(data) * 3 // 4 if isinstance(data, str) else 0)


def _json_tokens(value: Any) -> int:
    return estimate_tokens(orjson.dumps(value).decode())
