"""A model that answers as a test tells it, and conversations as they are stored."""

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias

import orjson

from gateway.model.base import Started
from gateway.model.endpoint_facts import EndpointFacts
from gateway.model.endpoint_queue import EndpointQueue
from tests.product import (
    Answer,
    Block,
    Chunk,
    Message,
    ModelRequest,
    StoredMessage,
    Take,
    Usage,
    text_block,
    tool_result_block,
)

USAGE = Usage(input_tokens=100, output_tokens=10)
SUMMARY: dict[str, Any] = {
    "goal": "Plan a trip.",
    "facts": ["The user is called 小明."],
    "progress": ["Began."],
}


@dataclass(frozen=True, slots=True)
class Broken:
    """A stream that reports `usage` and then fails."""

    usage: Usage
    failure: Exception


Scripted: TypeAlias = "str | Broken | Answer | Exception | Callable[[ModelRequest], Scripted]"


def answer(text: str, stop_reason: str | None = "end_turn") -> Answer:
    content = [text_block(text)] if text else []
    return Answer(content, stop_reason, USAGE, None, "r")


def summary(**parts: Any) -> str:
    """What a well-behaved summariser writes."""
    return orjson.dumps({**SUMMARY, **parts}).decode()


class ScriptedModel:
    """Answers with each of `script` in turn, then for ever with the last. Keeps what it was asked."""

    def __init__(self, *script: Scripted, counts: Sequence[int | Exception | None] = ()) -> None:
        self.script: list[Scripted] = list(script) or [summary()]
        self.requests: list[ModelRequest] = []
        self.counted = 0
        self.facts = EndpointFacts()
        self.queue = EndpointQueue(self.facts)
        self._counts = list(counts)

    @asynccontextmanager
    async def stream(
        self, request: ModelRequest, take: Take | None = None
    ) -> AsyncGenerator[AsyncIterator[Chunk]]:
        self.requests.append(request)
        given: Scripted = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        while callable(given):
            given = given(request)
        if isinstance(given, Exception):
            raise given
        yield (
            _broken(given)
            if isinstance(given, Broken)
            else _chunks(answer(given) if isinstance(given, str) else given)
        )

    async def started(self, seconds: float) -> None:
        pass

    async def prepare(self) -> None:
        pass

    async def inquire(self) -> None:
        """There is nothing to ask."""

    async def watch(self) -> None:
        """There is nothing to ask."""

    async def count_tokens(self, request: ModelRequest) -> int | None:
        self.counted += 1
        counted = self._counts.pop(0)
        if isinstance(counted, Exception):
            raise counted
        return counted

    async def close(self) -> None:
        pass

    @property
    def asked(self) -> list[str]:
        """The text of each request, without the instructions."""
        return [
            "\n".join(block["text"] for message in request.messages for block in message.content)
            for request in self.requests
        ]


async def _chunks(answer: Answer) -> AsyncGenerator[Chunk]:
    yield Started("r", None, None)
    yield answer


async def _broken(answer: Broken) -> AsyncGenerator[Chunk]:
    yield Started("r", None, answer.usage)
    raise answer.failure


def user(text: str) -> Message:
    return Message("user", [text_block(text)])


def says(*blocks: str | Block) -> Message:
    return Message("assistant", [text_block(each) if isinstance(each, str) else each for each in blocks])


def call(name: str, call_id: str, **arguments: Any) -> Block:
    return {"type": "tool_use", "id": call_id, "name": name, "input": arguments}


def result(call_id: str, content: str = "ok", *, failed: bool = False) -> Block:
    return tool_result_block(call_id, content, is_error=failed)


def results(*blocks: Block) -> Message:
    return Message("user", list(blocks))


def thought(text: str = "hm") -> Block:
    return {"type": "thinking", "thinking": text, "signature": "c2lnbmVk"}


def stored(*messages: Message, first: int = 1) -> list[StoredMessage]:
    """The messages at their positions."""
    return [StoredMessage(position, "t", message) for position, message in enumerate(messages, first)]


def words(tokens: int, word: str = "planning") -> str:
    """About so many estimated tokens of text."""
    return " ".join([word] * round(tokens / (0.27 * (len(word) + 1))))
