"""What clients of the Agent2Agent protocol, version 1, send: calls of JSON-RPC, and messages in them.

https://a2a-protocol.org/latest/specification; fields are those of the package `a2a-sdk`, as JSON. An empty
text is an absent one there.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field

from gateway.adapters.client_conversation import MAX_RESULTS
from gateway.adapters.user_content import MAX_MESSAGES, Lenient, checked_content, file_at, uploaded
from gateway.artifacts.attached_files import Upload
from gateway.errors import InvalidRequest
from gateway.http.validation import validated

P = TypeVar("P", bound=Lenient)

MAX_ID = 256


class A2aCall(BaseModel):
    """A call of JSON-RPC 2.0."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    jsonrpc: Literal["2.0"]
    id: Annotated[str, Field(max_length=MAX_ID)] | int | None = Field(
        None, description="The answer has it, and each event of a stream."
    )
    method: str = Field(max_length=MAX_ID)
    params: dict[str, Any] = Field(default_factory=dict[str, Any])


class PartBody(Lenient):
    text: str | None = None
    raw: str | None = None
    url: str | None = None
    data: Any = None
    filename: str | None = None
    media_type: str | None = None


class A2aMessage(Lenient):
    message_id: str = Field(min_length=1, max_length=MAX_ID)
    context_id: str = ""
    task_id: str = ""
    role: str = ""
    parts: list[PartBody] = Field(default_factory=list[PartBody], max_length=MAX_MESSAGES)


class Configuration(Lenient):
    return_immediately: bool = False
    history_length: int | None = None


class SendBody(Lenient):
    message: A2aMessage
    configuration: Configuration = Configuration()
    metadata: Mapping[str, Any] = Field(default_factory=dict[str, Any])


class TaskBody(Lenient):
    id: str = Field(min_length=1, max_length=MAX_ID)
    history_length: int | None = None


class A2aDecision(NamedTuple):
    """Of a person, about the call of that id."""

    call_id: str
    approved: bool
    reason: str | None


def params_of(call: A2aCall, model: type[P]) -> P:
    """The parameters of a call. Raises errors.InvalidRequest, which names the first that are wrong."""
    return validated(call.params, model, "params.")


def content_of(message: A2aMessage) -> tuple[str, list[str | Upload]]:
    """Text and files of a message that begins a turn; data becomes text. Raises errors.InvalidRequest."""
    texts: list[str] = []
    files: list[str | Upload] = []
    for part in message.parts:
        if part.raw:
            files.append(uploaded(part.raw, part.media_type or None, part.filename or None))
        elif part.url:
            files.append(file_at(part.url, part.media_type or None, part.filename or None))
        elif part.data is not None:
            texts.append(orjson.dumps(part.data).decode())
        elif part.text:
            texts.append(part.text)
    return checked_content("\n\n".join(texts), files)


def decisions_of(message: A2aMessage) -> Sequence[A2aDecision]:
    """What a message to a task that waits says of its calls; none where any of it is no decision. Raises
    errors.InvalidRequest where there are more than a model makes calls."""
    given: list[Any] = []
    for part in message.parts:
        data: Any = part.data
        if isinstance(data, Mapping) and isinstance(found := data.get("approvals"), list):
            given += found
    if len(given) > MAX_RESULTS:
        raise InvalidRequest(f"There may be {MAX_RESULTS} approvals.")
    decisions = [found for each in given if (found := _decision(each)) is not None]
    return decisions if len(decisions) == len(given) else ()


def _decision(given: object) -> A2aDecision | None:
    if not isinstance(given, Mapping):
        return None
    answer: Mapping[str, Any] = given
    name, approved, reason = answer.get("id"), answer.get("approved"), answer.get("reason")
    if not isinstance(name, str) or not isinstance(approved, bool):
        return None
    if not (name.isprintable() and len(name) <= MAX_ID):
        return None
    return A2aDecision(
        name, approved, reason if isinstance(reason, str) and reason and not approved else None
    )
