"""The contract between a turn and the model that answers it."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from gateway.messages import Block, Message, ToolSpec, Usage
from gateway.model.endpoint_facts import EndpointFacts
from gateway.model.endpoint_queue import EndpointQueue


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One model call. Everything the model will see, and nothing about how to reach it, but on whose behalf
    it is: the user `owner`, or (None) the gateway itself.

    `system` holds text blocks (with cache breakpoints already placed), `thinking_budget` is in tokens
    (None: no thinking), `temperature`, `top_p` and `top_k` None leave the endpoint's defaults; at one of
    `stop_sequences` the model stops. `may_call` False: the model shall answer without calling the tools that
    it has.
    """

    model: str
    max_tokens: int
    system: Sequence[Block]
    messages: Sequence[Message]
    tools: Sequence[ToolSpec] = ()
    thinking_budget: int | None = None
    temperature: float | None = None
    metadata: dict[str, str] = field(default_factory=dict[str, str])
    owner: str | None = None
    may_call: bool = True
    top_p: float | None = None
    top_k: int | None = None
    stop_sequences: Sequence[str] = ()

    @property
    def sampling(self) -> dict[str, float | int]:
        """What chooses the words, by its names in the API. Thinking goes with the defaults alone."""
        given = {"temperature": self.temperature, "top_p": self.top_p, "top_k": self.top_k}
        if self.thinking_budget is not None:
            return {}
        return {name: value for name, value in given.items() if value is not None}


KeyOwner = Literal["user", "tenant", "gateway"]
"""Whose key of the endpoint a call is made with."""


@dataclass(frozen=True, slots=True)
class Started:
    """The endpoint began to answer: `message_start` was seen. `usage` is what it has reported so far."""

    response_id: str | None
    model: str | None
    usage: Usage | None
    key_of: KeyOwner | None = None


class Delta(NamedTuple):
    """Text that arrived together in one read, or a part of very much, belonging to one content block. Never
    empty."""

    kind: Literal["text", "thinking"]
    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """The complete message: the last chunk of a stream, sent only after `message_stop`.

    `content` are the blocks exactly as they must go back to the model (signed thinking, redacted thinking and
    unknown types included). A `tool_use` block's `input` is a JSON object; when the model wrote something
    else, the block's id is a key of `bad_inputs`, its value is the reason, and `input` is {}.
    `thinks_in_text`: its thinking stood in its text. `stop_sequence` is the text at which it stopped, where
    the endpoint told it.
    """

    content: Sequence[Block]
    stop_reason: str | None
    usage: Usage | None
    model: str | None
    response_id: str | None
    bad_inputs: dict[str, str] = field(default_factory=dict[str, str])
    key_of: KeyOwner | None = None
    thinks_in_text: bool = False
    stop_sequence: str | None = None


Chunk = Started | Delta | Answer

Take = Callable[[Delta], bool]
"""Is offered a delta while the iteration waits, without a task switch; what it takes is not iterated."""


class Model(Protocol):
    """An endpoint that can be asked.

    `stream` opens one call; no retry happens inside. Iterating yields `Started` once, then any number of
    `Delta`, then exactly one `Answer`, after which the iteration ends. An iteration that ends without an
    `Answer` does not exist: any failure (refused connection, status, timeout, broken or truncated
    stream) is raised as `errors.ModelError`, on entering or while iterating, and nothing else is raised
    except `asyncio.CancelledError`. Leaving the context closes the upstream request at once, also when
    cancelled. A delta may be offered to `take` first, in its order; what that raises comes out of the
    iteration. `facts` is what is known of the endpoint, `queue` the line before it: who asks takes a slot
    there first, if it has any number of them.
    """

    facts: EndpointFacts
    queue: EndpointQueue

    def stream(
        self, request: ModelRequest, take: Take | None = None
    ) -> AbstractAsyncContextManager[AsyncIterator[Chunk]]: ...

    async def count_tokens(self, request: ModelRequest) -> int | None:
        """Input tokens of `request` as the endpoint counts them; None where it has no way to count."""
        ...

    async def started(self, seconds: float) -> None:
        """Waits for a server that is starting: until it can be asked, for `seconds` at most."""
        ...

    async def prepare(self) -> None:
        """Loads ahead what the first call would have to wait for. Calling it is optional."""
        ...

    async def inquire(self) -> None:
        """Asks the endpoint once what it is, for `facts`; raises nothing. Calling it is optional."""
        ...

    async def watch(self) -> None:
        """Keeps `facts` up to date until it is cancelled."""
        ...

    async def close(self) -> None:
        """Closes connections. Idempotent."""
        ...
