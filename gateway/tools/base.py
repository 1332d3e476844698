"""The contract of a tool: a typed function the model may call, and what it gives back."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal, NamedTuple, Protocol

import orjson

from gateway.events.envelope import EventData
from gateway.events.tool_calls import Effect, MemoryWriteSuggestion, StepTrace
from gateway.messages import ToolSpec
from gateway.tools.steps import RunningStep, Steps

READ_ARTIFACT = "read_artifact"
"""The built-in tool that reads artifacts."""
MANAGE_MEMORY = "manage_memory"
"""The built-in tool that keeps memories."""
KEPT_ASIDE = "Kept as"
"""How it begins to tell of a memory that waits for the user to confirm it."""


class UserMessage(NamedTuple):
    """A message in the user's own words, by its position in the session."""

    position: int
    text: str


class Exchange(NamedTuple):
    """The user's message that a turn answers, and the assistant's text just before it."""

    answer: str
    message: UserMessage


ChangeKind = Literal["add", "change", "remove"]


@dataclass(frozen=True, slots=True)
class LastingChange:
    """A change of what lasts for the user, which a call would make: `what` it would do, as "delete a memory",
    and the `subject` in the words in which the user has it, with the `new` words if they change; `id` is its
    name there."""

    kind: ChangeKind
    what: str
    subject: str
    id: str = ""
    new: str = ""


@dataclass(frozen=True, slots=True)
class Influence:
    """The causes that may have led to a call: `foreign` are the tools that the operator does not trust, files
    and conversations from elsewhere whose words the model has read, `change` is what the call would change of
    what lasts, `is_asked` whether the user's newest message asks for that, and `is_approved` whether a person
    allowed this call, who was shown it."""

    foreign: tuple[str, ...] = ()
    change: LastingChange | None = None
    is_asked: bool = False
    is_approved: bool = False

    @property
    def cause(self) -> Literal["user", "model", "outside"]:
        """The cause, as events tell it."""
        return "user" if self.is_asked else "outside" if self.foreign else "model"


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may know about the call it serves.

    `idempotency_key` is the same in every repetition of the call: pass it on to services that understand one.
    `emit` puts an event (retrieval, tool_progress, ...) into the turn's stream, tied to this call.
    `traceparent` names the span of this call (W3C Trace Context); None while no traces are recorded.
    `project_id` and `role_id` are the session's, where it has them; `user_messages` gives the messages of its
    user and `tools_read` names the tools that answered, both as far as the model sees them. `offered` names
    the tools whose descriptions it reads; `exchange` gives the message of the turn, None in a turn without
    words of the user. `found` gives the memories that were found for the message, by id with what was shown.
    `owner` is who sent the message, with the key `key_id`. `is_shared`: the members of its project read the
    session; `host` is whose it is where that is somebody else, whose artifacts are read then, as far as the
    session uses them. `influence` is what may have led to the call.
    `ask` puts a question with yes or no to the user, where a client can. `may` is whether the key or sign-in
    that this was asked with allows an operation, by its name in `auth.operations`; `scopes` are what it
    allows as they are stored, None: what a member may.
    """

    session_id: str
    turn_id: str
    tool_call_id: str
    owner: str
    idempotency_key: str
    emit: Callable[[EventData], None]
    traceparent: str | None = None
    steps: Steps = field(default_factory=Steps)
    project_id: str | None = None
    role_id: str | None = None
    user_messages: Callable[[], Sequence[UserMessage]] = tuple
    tools_read: frozenset[str] = frozenset()
    offered: frozenset[str] = frozenset()
    exchange: Callable[[], Exchange | None] = lambda: None
    found: Callable[[], Mapping[str, str]] = dict[str, str]
    is_shared: bool = False
    is_temporary: bool = False
    key_id: str | None = None
    host: str | None = None
    influence: Influence = field(default_factory=Influence)
    ask: Callable[[str], Awaitable[bool]] | None = None
    may: Callable[[str], bool] = lambda _: True
    scopes: str | None = None

    @property
    def trace_headers(self) -> dict[str, str]:
        """Headers for the HTTP requests of this call, and for an MCP request's `_meta`: what the other side
        records becomes a part of the turn's trace. No baggage: it may be a third party's server."""
        return {"traceparent": self.traceparent} if self.traceparent is not None else {}

    def step(self, name: str, input: object = None) -> AbstractContextManager[RunningStep]:
        """Records a step of the tool: `with context.step("search", {"query": q}) as step: step.output = …`.
        It is seen in the call's result event, as a span and in the log, also when the tool fails later."""
        return self.steps.step(name, input)


@dataclass(frozen=True, slots=True)
class File:
    """A result that is no text for the model: an image, a document, an archive. It becomes an artifact.
    `mime` None: its first bytes decide."""

    data: bytes = field(repr=False)
    mime: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class ToolOutput:
    """What the model reads as `content`; `is_error` marks a failure that the tool itself reports. `steps` are
    reported beside those that were recorded through the context, `memory_writes` go to the memory, and
    `problems` name reports of the tool that could not be used. `note` names the source of content from
    elsewhere: the model gets it wrapped as data under this note. Content over the limit becomes an artifact,
    as it is, and the model gets its compact form; `bounded`: the tool itself keeps it short enough to be read
    whole. `files` become artifacts always."""

    content: str
    is_error: bool = False
    memory_writes: Sequence[MemoryWriteSuggestion] = ()
    steps: Sequence[StepTrace] = ()
    problems: Sequence[str] = ()
    note: str | None = None
    bounded: bool = False
    files: Sequence[File] = ()


Changes = Callable[[dict[str, Any], ToolContext], Awaitable[LastingChange | None]]


class Tool(Protocol):
    """A tool. `run` gets arguments that are valid against `spec.input_schema` and may raise
    `errors.ToolError` with a message for the model; it may be cancelled at any await. `timeout` is in
    seconds."""

    @property
    def spec(self) -> ToolSpec: ...

    @property
    def effect(self) -> Effect: ...

    @property
    def timeout(self) -> float: ...

    async def run(self, arguments: dict[str, Any], context: ToolContext) -> ToolOutput: ...


@dataclass(frozen=True, slots=True)
class FunctionTool:
    """A tool made of a function; `tools.function.tool` builds it from type hints and docstring. `category`
    and `examples` are for people who look at the catalog. `check` raises errors.BadArguments for arguments
    that do not fit; without it they are held to the spec's schema. `changes` gives what a call would change
    of what lasts for the user, None: nothing; it may raise a GatewayError where that cannot be found out.
    `short` is how models with a small window are told of it, where its author wrote that."""

    spec: ToolSpec
    effect: Effect
    timeout: float
    function: Callable[[dict[str, Any], ToolContext], Awaitable[ToolOutput]] = field(repr=False)
    category: str | None = None
    examples: tuple[str, ...] = ()
    check: Callable[[dict[str, Any]], object] | None = field(default=None, repr=False)
    changes: Changes | None = field(default=None, repr=False)
    short: ToolSpec | None = field(default=None, repr=False)

    async def run(self, arguments: dict[str, Any], context: ToolContext) -> ToolOutput:
        return await self.function(arguments, context)


def digest_of(tool: Tool) -> str:
    """What a person can know of a tool when they allow it, as a hash: its description, the schema of its
    arguments, and its effect."""
    said = [tool.spec.description, tool.spec.input_schema, tool.effect]
    return sha256(orjson.dumps(said, option=orjson.OPT_SORT_KEYS)).hexdigest()[:32]


def parameters(tool: Tool) -> str:
    """The names of a tool's parameters; those that may be left out with a question mark."""
    schema = tool.spec.input_schema
    required = schema.get("required", ())
    return ", ".join(name if name in required else f"{name}?" for name in schema.get("properties", {}))
