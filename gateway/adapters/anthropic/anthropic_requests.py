"""What clients of Anthropic's Messages API send: the whole conversation each time, with instructions, files,
tools and their results."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson
from pydantic import ConfigDict, Field

from gateway.adapters.anthropic.anthropic_message import call_named
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
from gateway.adapters.foreign_ids import turn_of
from gateway.adapters.user_content import Messages, Tools, file_at, file_of, uploaded
from gateway.artifacts.attached_files import Upload
from gateway.errors import InvalidRequest
from gateway.http.validation import Bounded
from gateway.messages import Block, Message, Sampling, ToolSpec
from gateway.tools.base import File

FILES = ("image", "document", "search_result")  # no set: what a client sends need not be hashable
_COUNTED = ("text", "thinking", "redacted_thinking", "tool_use", "tool_result", "image", "document")


class MessagesBody(Bounded):
    """A message as the SDKs ask for it, or its tokens. Further fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    messages: Messages = Field(description="The conversation: its newest message is the turn.")
    model: str | None = Field(None, description="One of the allowed models; absent: the default.")
    system: str | Messages | None = Field(None, description="The client's instructions.")
    stream: bool | None = None
    tools: Tools | None = Field(None, description="Tools that the client runs.")
    tool_choice: dict[str, Any] | None = Field(None, description="auto or none.")
    output_config: dict[str, Any] | None = Field(None, description="Its format is not to be had.")
    output_format: dict[str, Any] | None = Field(None, description="Not to be had.")
    mcp_servers: list[Any] | None = Field(None, description="Not to be had: the operators connect them.")
    max_tokens: Any = Field(None, description="Most tokens of one model call.")
    stop_sequences: Any = Field(None, description="Texts at which the model stops.")
    temperature: Any = Field(None, description="Sent on where the model takes one.")
    top_p: Any = Field(None, description="As temperature.")
    top_k: Any = Field(None, description="As temperature.")


def conversation_of(body: MessagesBody) -> ClientConversation:
    """Raises errors.InvalidRequest."""
    instruction_texts = lasting(_texts_of(body.system, "system"))
    exchanges: list[tuple[ClientQuestion, list[str]]] = []
    results: list[Block] = []
    asks = False
    for number, message in enumerate(body.messages):
        where = f"messages.{number}"
        content = message.get("content")
        match message.get("role"):
            case "system":
                instruction_texts += lasting(_texts_of(content, where))
            case "user":
                question, answers = _question_in(content, where)
                results += answers
                if question is not None:
                    exchanges.append((question, []))
                asks = question is not None
            case "assistant":
                if exchanges:  # what it said before the user did is nobody's answer
                    exchanges[-1][1].append(_text_of(content, where))
                results.clear()
                asks = False
            case _:
                refuse("messages", f"{where}: the role must be user, assistant or system.")
    instructions = "\n\n".join(filter(None, instruction_texts))
    answered = [ClientExchange(question, "\n\n".join(filter(None, texts))) for question, texts in exchanges]
    if asks:
        ours = [_result(each) for each in results if turn_of(str(each.get("tool_use_id"))) is not None]
        return ClientConversation(MESSAGES, instructions, answered[:-1], answered[-1].question, ours)
    if not results:
        refuse("messages", "The last of messages must be the user's.")
    return ClientConversation(MESSAGES, instructions, answered, None, [*map(_result, results)])


def tools_of(body: MessagesBody) -> list[ToolSpec]:
    """The tools that the client runs. Beside them those that Anthropic runs or defines (`web_search_…`,
    `bash_…`) are left out; a request that has nothing else is about them. Raises errors.InvalidRequest."""
    choice = (body.tool_choice or {}).get("type", "auto")
    if choice not in ("auto", "none"):
        refuse("tool_choice", "tool_choice must be auto or none: the model chooses.")
    found: list[ToolSpec] = []
    given = body.tools or ()
    own = [tool for tool in given if tool.get("type") in (None, "custom")]
    if given and not own:
        kind = str(given[0]["type"])[:100]
        refuse("tools", f"{kind!r} is not to be had: the gateway has tools of its own.")
    for tool in own:
        schema = tool.get("input_schema")
        if not isinstance(schema, dict):
            refuse("tools", "The input_schema of a tool must be a JSON Schema.")
        found.append(ToolSpec(str(tool.get("name")), str(tool.get("description") or ""), schema))
    return found if choice == "auto" else []


def check_possible(body: MessagesBody) -> None:
    """Raises errors.InvalidRequest for what the answer would have to leave out silently."""
    if body.output_format is not None or (body.output_config or {}).get("format") is not None:
        refuse("output_config", "output_config.format is not to be had: the model answers in words.")
    if body.mcp_servers:
        refuse("mcp_servers", "Servers of a request are not asked: the operators connect MCP servers.")


def wanted_sampling(body: MessagesBody) -> Sampling:
    return sampling_of(
        max_tokens=body.max_tokens,
        stop=body.stop_sequences,
        temperature=body.temperature,
        top_p=body.top_p,
        top_k=body.top_k,
    )


def counted_messages(body: MessagesBody) -> list[Message]:
    """All that a model might have to read of a conversation, as it is estimated."""
    return [
        Message("user", [_counted(each) for each in _blocks(message.get("content"))])
        for message in body.messages
    ]


def _question_in(content: object, where: str) -> tuple[ClientQuestion | None, Sequence[Block]]:
    """What a user's message asks, and the results of tools in it."""
    results, parts = list[Block](), list[Block]()
    for block in _blocks(content):
        kind = block.get("type")
        if kind == "tool_result":
            results.append(block)
        elif kind in FILES:  # clients move the marks of their cache from one message to another
            parts.append({key: block[key] for key in ("type", "source", "title", "content") if key in block})
        elif kind != "text":
            refuse("messages", f"{where}: blocks of type {str(kind)[:100]!r} are not read.")
    text = _text_of(content, where)
    if text.strip() or parts:
        return ClientQuestion(text, parts, MESSAGES), results
    if not results:
        refuse("messages", f"{where}: the user's message must have text, or a file.")
    return None, results


def _result(block: Block) -> ClientToolResult:
    """Raises errors.InvalidRequest."""
    content = block.get("content")
    files = [file for each in _blocks(content) if (file := _file_of_result(each)) is not None]
    text = _text_of(content, "tool_result")
    return ClientToolResult(
        call_named(str(block.get("tool_use_id"))), text, block.get("is_error") is True, files
    )


def _file_of_result(block: Block) -> File | None:
    if block.get("type") not in FILES:
        return None
    try:
        file = _file(block)
    except InvalidRequest as error:
        refuse("messages", f"tool_result: {error.message}")
    if isinstance(file, str):
        refuse("messages", "tool_result: the content of a file must be in the message itself.")
    return File(file.data, file.mime, file.name)


def _text_of(content: object, where: str) -> str:
    return "\n\n".join(_texts_of(content, where))


def _texts_of(content: object, where: str) -> Sequence[str]:
    given = (block.get("text") for block in _blocks(content, where) if block.get("type") == "text")
    texts = [each for each in given if isinstance(each, str)]
    if any("\0" in text for text in texts):
        refuse("messages", f"{where}: must not contain NUL characters.")
    return texts


def _blocks(content: object, where: str = "content") -> Sequence[Block]:
    if content is None:
        return ()
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    if not isinstance(content, list):
        refuse("messages", f"{where}: must be text, or a list of blocks.")
    blocks: list[Any] = content
    return [block for block in blocks if isinstance(block, dict)]


def _file(part: Mapping[str, Any]) -> str | Upload:
    if part["type"] == "search_result":
        return _written(part.get("content"), part.get("title"))
    given = part.get("source")
    source: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
    title = part.get("title")
    match source.get("type"):
        case "base64" if isinstance(data := source.get("data"), str):
            return uploaded(data, source.get("media_type"), title)
        case "url" if isinstance(url := source.get("url"), str):
            return file_at(url, None, title)
        case "text" | "content":
            return _written(source.get("data", source.get("content")), title)
        case _:
            raise InvalidRequest("Its content must be in the message itself: base64, text or content.")


def _written(content: object, title: object) -> Upload:
    if any(block.get("type") != "text" for block in _blocks(content)):
        raise InvalidRequest("The content of a document must be text.")
    return file_of(_text_of(content, "document").encode(), "text/plain", title)


def _counted(block: Block) -> Block:
    """A block as the estimate knows it: what is no block of a history is counted by its size."""
    kind = block.get("type")
    if kind not in _COUNTED:
        return {"type": "text", "text": orjson.dumps(block).decode()}
    if kind == "tool_result" and isinstance(block.get("content"), list):
        return {**block, "content": [_counted(each) for each in _blocks(block["content"])]}
    return block


MESSAGES = ConversationDialect("an", "messages", _file)
