"""What pages with the AI SDK send: messages with their files, decisions, results of the page's own tools."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import orjson
from pydantic import AliasChoices, Field

from gateway.adapters.foreign_ids import call_of
from gateway.adapters.user_content import Lenient, Messages, checked_content, file_at
from gateway.artifacts.attached_files import Upload
from gateway.errors import InvalidRequest
from gateway.ids import TURN_PREFIX
from gateway.service.seeding import MAX_SEEDED, SeedMessage
from gateway.tools.client_tools import MAX_TOOLS


class AiSdkMessage(Lenient):
    id: str = ""
    role: Literal["user", "assistant", "system"]
    parts: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])


class AiSdkToolBody(Lenient):
    description: str = ""
    parameters: dict[str, Any] = Field(
        default_factory=lambda: {"type": "object"},
        validation_alias=AliasChoices("parameters", "inputSchema", "input_schema"),
    )


class UiChatBody(Lenient):
    """What `useChat` sends. `message` alone is taken, too, in the place of `messages`."""

    id: str | None = Field(None, max_length=1000, description="The chat: a session of this or a derived id.")
    messages: Messages = Field(default_factory=list[dict[str, Any]])
    message: dict[str, Any] | None = None
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    message_id: str | None = Field(None, description="The message that is edited, or answered anew.")
    model: str | None = Field(None, description="One of the allowed models.")
    tools: dict[str, AiSdkToolBody] = Field(
        default_factory=dict[str, AiSdkToolBody],
        max_length=MAX_TOOLS,
        description="Tools that the page runs, by name.",
    )
    system: str | None = Field(None, description="Instructions of the page, as assistant-ui sends them.")


def seeds_of(given: Sequence[Mapping[str, Any]]) -> list[SeedMessage]:
    """The history of a chat that began elsewhere; none where it is of this gateway, or too long, or has no
    message of the user."""
    found: list[SeedMessage] = []
    for message in map(read_message, given):
        if message.id.startswith(TURN_PREFIX):
            return []
        if message.role == "user":
            text, files = content_of(message)
            found.append(SeedMessage("user", text, files))
        elif message.role == "assistant" and found and (text := _text_of(message)).strip():
            found.append(SeedMessage("assistant", text))
    return found if len(found) <= MAX_SEEDED else []


class AiSdkDecision(NamedTuple):
    """A person's word about a call."""

    call_id: str
    approved: bool
    reason: str | None


class AiSdkToolResult(NamedTuple):
    """What a tool of the page gave."""

    call_id: str
    text: str
    is_error: bool


def decisions_of(message: AiSdkMessage) -> list[AiSdkDecision]:
    """The decisions that an assistant's message has, and that were not carried out when it was sent."""
    found: list[AiSdkDecision] = []
    for part in message.parts:
        approval = part.get("approval")
        if part.get("state") == "approval-responded" and isinstance(approval, Mapping):
            approved, reason = approval.get("approved") is True, approval.get("reason")
            denial = reason if isinstance(reason, str) and not approved else None
            found.append(AiSdkDecision(call_of(str(approval.get("id"))), approved, denial))
    return found


def results_of(message: AiSdkMessage) -> Iterator[AiSdkToolResult]:
    """The results of the page's own tools that an assistant's message has, also those that are known."""
    for part in message.parts:
        state, call_id = part.get("state"), part.get("toolCallId")
        if part.get("providerExecuted") or not isinstance(call_id, str):
            continue
        if state == "output-available":
            output = part.get("output")
            text = output if isinstance(output, str) else orjson.dumps(output).decode()
            yield AiSdkToolResult(call_id, text, is_error=False)
        elif state == "output-error":
            yield AiSdkToolResult(call_id, str(part.get("errorText")), is_error=True)


def content_of(message: AiSdkMessage) -> tuple[str, list[str | Upload]]:
    """The text of a user's message, and the files that come with it."""
    files = (
        file_at(part["url"], part.get("mediaType"), part.get("filename"))
        for part in message.parts
        if _is(part, "file", "url")
    )
    return checked_content(_text_of(message), [*files])


def _text_of(message: AiSdkMessage) -> str:
    return "\n\n".join(part["text"] for part in message.parts if _is(part, "text", "text"))


def _is(part: Mapping[str, Any], kind: str, content: str) -> bool:
    return part.get("type") == kind and isinstance(part.get(content), str)


def read_message(given: Mapping[str, Any]) -> AiSdkMessage:
    try:
        return AiSdkMessage.model_validate(given)
    except ValueError:
        raise InvalidRequest("A message must have a role and parts.") from None
