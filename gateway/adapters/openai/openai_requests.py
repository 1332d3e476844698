"""What clients of OpenAI's chat completions send: the whole conversation each time, with instructions, files,
tools and their results."""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from gateway.adapters.client_conversation import (
    ClientConversation,
    ClientExchange,
    ClientQuestion,
    ClientToolResult,
    ConversationDialect,
    lasting,
    refuse,
)
from gateway.adapters.client_sampling import sampling_of
from gateway.adapters.foreign_ids import call_in_full
from gateway.adapters.user_content import Messages, Tools, file_at, uploaded
from gateway.artifacts.attached_files import Upload
from gateway.errors import InvalidRequest
from gateway.http.validation import Bounded
from gateway.messages import Sampling, ToolSpec

debug_log = logging.getLogger(__name__)

_FILES = ("image_url", "file", "input_audio")  # no set: what a client sends need not be hashable


class StreamOptions(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    include_usage: bool | None = None


class ChatCompletionBody(Bounded):
    """A chat completion as the SDKs ask for it. Further fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    messages: Messages = Field(description="The conversation: its newest message is the turn.")
    model: str | None = Field(None, description="One of the allowed models; absent: the default.")
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    tools: Tools | None = Field(None, description="Functions that the client runs.")
    tool_choice: str | dict[str, Any] | None = Field(None, description="auto or none.")
    n: int | None = Field(None, description="1.")
    response_format: dict[str, Any] | None = Field(None, description="text.")
    audio: dict[str, Any] | None = Field(None, description="Not to be had.")
    modalities: list[str] | None = Field(None, description="text.")
    functions: list[Any] | None = Field(None, description="Not to be had: see tools.")
    max_completion_tokens: Any = Field(None, description="Most tokens of one model call; -1: no limit.")
    max_tokens: Any = Field(None, description="The same, as older clients have it.")
    stop: Any = Field(None, description="Texts at which the model stops.")
    temperature: Any = Field(None, description="Sent on where the model takes one.")
    top_p: Any = Field(None, description="As temperature.")


def conversation_of(
    messages: Iterable[tuple[int, Mapping[str, Any]]], dialect: ConversationDialect
) -> ClientConversation:
    """What the messages come to, which stand in the client's request in these places. Raises
    errors.InvalidRequest."""
    instruction_texts: list[str] = []
    exchanges: list[tuple[ClientQuestion, list[str]]] = []
    results: list[ClientToolResult] = []
    role = ""
    field = dialect.field
    for number, message in messages:
        where, role_of_this = f"{field}.{number}", message.get("role")
        match role_of_this:
            case "system" | "developer":
                instruction_texts += lasting(_texts_of(message, field, where))
                continue
            case "user":
                question = ClientQuestion(
                    _text_of(message, field, where), [*_files_of(message, field)], dialect
                )
                if not question.text.strip() and not question.parts:
                    refuse(field, f"{where}: the user's message must have text, or a file.")
                exchanges.append((question, []))
            case "assistant":
                if exchanges:  # what it said before the user did is nobody's answer
                    exchanges[-1][1].append(_text_of(message, field, where))
                results.clear()
            case "tool":
                name = call_in_full(str(message.get("tool_call_id")))
                results.append(ClientToolResult(name, _text_of(message, field, where)))
            case _:
                refuse(field, f"{where}: the role must be system, developer, user, assistant or tool.")
        role = role_of_this
    instructions = "\n\n".join(filter(None, instruction_texts))
    answered = [ClientExchange(question, "\n\n".join(filter(None, texts))) for question, texts in exchanges]
    if role == "tool" and results:
        return ClientConversation(dialect, instructions, answered, None, results)
    if role != "user":
        refuse(field, f"The last of {field} must be the user's, or results of tools.")
    return ClientConversation(dialect, instructions, answered[:-1], answered[-1].question, ())


def tools_of(given: Sequence[Mapping[str, Any]], choice: object) -> list[ToolSpec]:
    """The functions that the client runs, of `tools` and `tool_choice`. Raises errors.InvalidRequest."""
    if choice not in (None, "auto", "none"):
        refuse("tool_choice", "tool_choice must be auto or none: the model chooses.")
    found: list[ToolSpec] = []
    for tool in functions_of(given):
        function = tool.get("function")
        if not isinstance(function, Mapping):
            refuse("tools", "The function of each of tools must be an object.")
        named: Mapping[str, Any] = function
        parameters = named.get("parameters") or {"type": "object", "properties": {}}
        if not isinstance(parameters, dict):
            refuse("tools", "The parameters of a function must be a JSON Schema.")
        found.append(ToolSpec(str(named.get("name")), str(named.get("description") or ""), parameters))
    return found if choice != "none" else []


def functions_of(tools: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Those that are functions. Others (`custom`, `web_search`, `local_shell`, …) are left out: clients such
    as Codex send theirs along with each request, and go on without them."""
    for tool in tools:
        if (kind := tool.get("type", "function")) == "function":
            yield tool
        else:
            debug_log.debug("A tool of type %.100s is left out: it is no function.", kind)


def check_possible(body: ChatCompletionBody) -> None:
    """Raises errors.InvalidRequest for what the answer would have to leave out silently."""
    if body.n not in (None, 1):
        refuse("n", "n must be 1: a turn has one answer.")
    if body.response_format is not None and body.response_format.get("type") != "text":
        refuse("response_format", "response_format must be text: the model answers in words.")
    if body.audio is not None or "audio" in (body.modalities or ()):
        refuse("audio" if body.audio is not None else "modalities", "There is no audio output.")
    if body.functions:
        refuse("functions", "functions are not taken any more: send them as tools.")


def wanted_sampling(body: ChatCompletionBody) -> Sampling:
    return sampling_of(
        max_tokens=body.max_completion_tokens or body.max_tokens,
        stop=body.stop,
        temperature=body.temperature,
        top_p=body.top_p,
    )


def _text_of(message: Mapping[str, Any], field: str, where: str) -> str:
    return "\n\n".join(_texts_of(message, field, where))


def _texts_of(message: Mapping[str, Any], field: str, where: str) -> Sequence[str]:
    content = message.get("content")
    if content is not None and not isinstance(content, str | list):
        refuse(field, f"{where}: content must be text, or a list of parts.")
    given = [content] if isinstance(content, str) else [part.get("text") for part in _parts(content)]
    texts = [each for each in given if isinstance(each, str)]
    if any("\0" in text for text in texts):
        refuse(field, f"{where}: must not contain NUL characters.")
    return texts


def _files_of(message: Mapping[str, Any], field: str) -> Iterator[Mapping[str, Any]]:
    for part in _parts(message.get("content")):
        if part.get("type") in _FILES:
            yield part
        elif part.get("type") != "text":
            refuse(field, "Parts of a message must be text, image_url, file or input_audio.")


def _parts(content: object) -> Sequence[Mapping[str, Any]]:
    parts: list[Any] = content if isinstance(content, list) else []
    return [part for part in parts if isinstance(part, Mapping)]


def _file(part: Mapping[str, Any]) -> str | Upload:
    kind = part["type"]
    given = part.get(kind)
    inside: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    match kind:
        case "image_url" if isinstance(url := inside.get("url"), str):
            return file_at(url)
        case "file" if isinstance(data := inside.get("file_data"), str):
            name = inside.get("filename")
            return file_at(data, None, name) if data.startswith("data:") else uploaded(data, None, name)
        case "input_audio" if isinstance(data := inside.get("data"), str):
            return uploaded(data, f"audio/{inside.get('format')}", f"audio.{inside.get('format')}")
        case _:
            raise InvalidRequest(f"{kind}: its content must be in the message itself.")


CHAT = ConversationDialect("oa", "messages", _file)
