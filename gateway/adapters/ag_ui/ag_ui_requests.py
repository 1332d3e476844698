"""What clients of AG-UI send: the input of a run, with all messages of its thread."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from pydantic import Field, field_validator

from gateway.adapters.ag_ui.ag_ui_messages import RESULT, Message
from gateway.adapters.client_conversation import MAX_RESULTS
from gateway.adapters.foreign_ids import call_of, turn_of
from gateway.adapters.user_content import MAX_MESSAGES, Lenient, Messages, checked_content, file_at, uploaded
from gateway.artifacts.attached_files import Upload
from gateway.errors import InvalidRequest
from gateway.messages import ToolSpec
from gateway.service.seeding import MAX_SEEDED, SeedMessage
from gateway.tools.client_tools import MAX_TOOLS

MEDIA = ("image", "audio", "video", "document")  # no set: what a client sends need not be hashable


class AgUiToolBody(Lenient):
    name: str
    description: str = ""
    parameters: dict[str, Any] | None = None


class ContextBody(Lenient):
    description: str
    value: str


class ResumeBody(Lenient):
    interrupt_id: str
    status: Literal["resolved", "cancelled"]
    payload: Any = None


class RunBody(Lenient):
    """`RunAgentInput`. `state` is the client's own."""

    thread_id: str = Field(
        min_length=1, max_length=1000, description="The thread: a session of this or a derived id."
    )
    run_id: str = Field("", max_length=1000, description="Repeated in the events of the run.")
    protocol_version: str | None = Field(None, description="Absent in drafts before 1.0.")
    messages: Messages = Field(default_factory=list[dict[str, Any]])
    tools: list[AgUiToolBody] = Field(
        default_factory=list[AgUiToolBody], max_length=MAX_TOOLS, description="Tools that the client runs."
    )
    context: list[ContextBody] = Field(
        default_factory=list[ContextBody],
        max_length=MAX_MESSAGES,
        description="Instructions of the client application.",
    )
    resume: list[ResumeBody] = Field(
        default_factory=list[ResumeBody], max_length=MAX_RESULTS, description="Answers to interrupts."
    )
    forwarded_props: Any = Field(None, description="`model` in it is one of the allowed models.")

    @field_validator("messages")
    @classmethod
    def _named(cls, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if not all(
            isinstance(each.get("id"), str) and isinstance(each.get("role"), str) for each in messages
        ):
            raise ValueError("each must have an id and a role")
        return messages

    @property
    def model(self) -> str | None:
        props = self.forwarded_props
        model = props.get("model") if isinstance(props, Mapping) else None
        return model if isinstance(model, str) else None

    @property
    def instructions(self) -> str:
        """What the application tells the model; "" where it tells nothing, or nothing any more."""
        instructions = [text_of(each) for each in self.messages if each["role"] in {"system", "developer"}]
        instructions += [f"{each.description}:\n{each.value}" for each in self.context]
        return "\n\n".join(text for text in instructions if text.strip())

    @property
    def tool_specs(self) -> Sequence[ToolSpec]:
        return [
            ToolSpec(each.name, each.description, each.parameters or {"type": "object"})
            for each in self.tools
        ]


class StopBody(Lenient):
    thread_id: str = Field(min_length=1, max_length=1000)


class AgUiDecision(NamedTuple):
    """A person's word about a call, or (`is_given_up`) that there will be none."""

    turn_id: str
    call_id: str
    approved: bool
    reason: str | None
    arguments: dict[str, Any] | None
    is_given_up: bool


class AgUiToolResult(NamedTuple):
    """What a tool of the client gave."""

    turn_id: str
    call_id: str
    text: str
    is_error: bool


def decisions_of(resume: Sequence[ResumeBody]) -> Iterator[AgUiDecision]:
    """Raises errors.InvalidRequest."""
    for each in resume:
        turn_id = turn_of(each.interrupt_id)
        if turn_id is None:
            raise InvalidRequest(f"resume: {each.interrupt_id[:200]!r} is no interrupt of this gateway.")
        payload = each.payload if isinstance(each.payload, Mapping) else {"approved": each.payload}
        is_given_up = each.status == "cancelled"
        approved = payload.get("approved")
        if not is_given_up and not isinstance(approved, bool):
            raise InvalidRequest("resume: the payload must have `approved`, true or false.")
        reason, edited = payload.get("reason"), payload.get("editedArgs")
        yield AgUiDecision(
            turn_id,
            call_of(each.interrupt_id),
            approved=not is_given_up and approved is True,
            reason=reason if isinstance(reason, str) and not approved else None,
            arguments=edited if isinstance(edited, dict) and approved else None,
            is_given_up=is_given_up,
        )


def results_of(messages: Sequence[Message]) -> list[AgUiToolResult]:
    """The results that the client gave behind the last answer. Raises errors.InvalidRequest."""
    found: list[AgUiToolResult] = []
    for message in reversed(messages):
        if message["role"] not in {"tool", "user"}:
            break
        name, text = str(message.get("toolCallId")), text_of(message)
        turn_id = turn_of(name)
        if turn_id is None or message["role"] == "user" or message["id"] == name + RESULT:
            continue
        error = message.get("error")
        if isinstance(error, str) and error:
            text = f"{text}\n\n{error}" if text else error
        found.append(AgUiToolResult(turn_id, call_of(name), text, is_error=bool(error)))
        if len(found) > MAX_RESULTS:
            raise InvalidRequest(f"messages: there may be {MAX_RESULTS} results of tools.")
    return found[::-1]


def user_content(message: Message) -> tuple[str, list[str | Upload]]:
    """The text of a user's message, and its files. Raises errors.InvalidRequest."""
    return checked_content(text_of(message), [*_files(message)])


def seeds_of(messages: Sequence[Message]) -> list[SeedMessage]:
    """The history of a chat that began elsewhere; none where it is of this gateway, or too long, or has no
    message of the user."""
    found: list[SeedMessage] = []
    for message in messages:
        role, text = message["role"], text_of(message)
        if turn_of(message["id"]) is not None:
            return []
        if role == "user":
            text, files = user_content(message)
            found.append(SeedMessage("user", text, files))
        elif role == "assistant" and found and text.strip():
            found.append(SeedMessage("assistant", text))
    return found if len(found) <= MAX_SEEDED else []


def text_of(message: Message) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "\n\n".join(part["text"] for part in _parts(message) if isinstance(part.get("text"), str))


def _files(message: Message) -> Iterator[str | Upload]:
    for part in _parts(message):
        kind, given = part.get("type"), part.get("source")
        if kind in MEDIA and isinstance(given, Mapping):
            about = part.get("metadata")
            name = about.get("filename") if isinstance(about, Mapping) else None
            is_inside, value, mime = given.get("type") == "data", given.get("value"), given.get("mimeType")
        elif kind == "binary":  # of drafts
            name, mime, is_inside = part.get("filename"), part.get("mimeType"), bool(part.get("data"))
            value = part.get("data") or part.get("url")
        else:
            continue
        yield uploaded(str(value), mime, name) if is_inside else file_at(str(value), mime, name)


def _parts(message: Message) -> Sequence[Mapping[str, Any]]:
    content = message.get("content")
    return [part for part in content if isinstance(part, Mapping)] if isinstance(content, list) else []
