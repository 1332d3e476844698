"""What clients of OpenAI's responses send: what is new after a response that they name, or all of it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from gateway.adapters.client_conversation import ClientConversation, ClientQuestion, lasting, refuse
from gateway.adapters.client_sampling import sampling_of
from gateway.adapters.foreign_ids import call_in_full, turn_of
from gateway.adapters.openai.openai_requests import CHAT, conversation_of, functions_of, tools_of
from gateway.adapters.user_content import Messages, Tools
from gateway.http.validation import Bounded
from gateway.messages import Sampling, ToolSpec

RESPONSES = CHAT._replace(field="input")
"""Conversations are compared in one form: a client may go on with the other API."""
_ID = re.compile(r"resp_(?P<turn>[A-Za-z0-9_-]{1,64})(?:\.(?P<behind>\d{1,12}))?", re.ASCII)
_TEXTS = ("input_text", "output_text", "text", "refusal")
_PARTS = (*_TEXTS, "input_image", "input_file", "input_audio")  # no set: what comes need not be hashable


class ResponseBody(Bounded):
    """A response as the SDKs ask for it. Further fields are ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    input: str | Messages = Field(
        description="The user's message; or items, of which the newest message is the turn."
    )
    model: str | None = Field(None, description="One of the allowed models; absent: the default.")
    instructions: str | None = Field(None, description="Those of the client application.")
    stream: bool | None = None
    background: bool | None = Field(None, description="Answered at once; the turn goes on by itself.")
    previous_response_id: str | None = Field(None, description="The response after which the input comes.")
    conversation: str | dict[str, Any] | None = Field(None, description="The session.")
    tools: Tools | None = Field(None, description="Functions that the client runs.")
    tool_choice: str | dict[str, Any] | None = Field(None, description="auto or none.")
    text: dict[str, Any] | None = Field(None, description="Its format: text.")
    prompt: dict[str, Any] | None = Field(None, description="Not to be had.")
    max_output_tokens: Any = Field(None, description="Most tokens of one model call.")
    temperature: Any = Field(None, description="Sent on where the model takes one.")
    top_p: Any = Field(None, description="As temperature.")


def wanted_sampling(body: ResponseBody) -> Sampling:
    return sampling_of(max_tokens=body.max_output_tokens, temperature=body.temperature, top_p=body.top_p)


class RetrieveQuery(BaseModel):
    """How a response is read."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    stream: bool = False
    starting_after: int = Field(
        -1, ge=-1, lt=2**53, description="The sequence_number of the last event that the client has."
    )


class ResponsesDecision(NamedTuple):
    """What a person decided about a call."""

    is_approved: bool
    reason: str | None


class Input(NamedTuple):
    """The input of a request; of its `results` those with an entry in `decisions` are decisions. `after`: the
    turn of an answer that the client does not repeat, but only names."""

    conversation: ClientConversation
    decisions: Mapping[str, ResponsesDecision]
    after: str | None


def read_response_id(name: str) -> tuple[str, int | None] | None:
    """The turn, and what `response_id` was given; None for what is no id of ours."""
    found = _ID.fullmatch(name)
    if found is None:
        return None
    return found["turn"], int(found["behind"]) if found["behind"] is not None else None


def input_of(body: ResponseBody) -> Input:
    """Raises errors.InvalidRequest."""
    given = body.input
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    decisions: dict[str, ResponsesDecision] = {}
    conversation = conversation_of(_messages(items, decisions), RESPONSES)
    if body.instructions:
        texts = [*lasting([body.instructions]), conversation.instructions]
        instructions = "\n\n".join(filter(None, texts))
        conversation = conversation._replace(instructions=instructions)
    if body.previous_response_id is not None:
        conversation = _new_alone(conversation)
    return Input(conversation, decisions, _referred(items))


def client_tools_of(body: ResponseBody) -> list[ToolSpec]:
    """The functions that the client runs. Raises errors.InvalidRequest."""
    given = [{"function": tool} for tool in functions_of(body.tools or ())]
    return tools_of(given, body.tool_choice)


def check_possible(body: ResponseBody) -> None:
    """Raises errors.InvalidRequest for what the answer would have to leave out silently."""
    form: object = (body.text or {}).get("format")
    if isinstance(form, Mapping) and form.get("type") != "text":
        refuse("text", "text.format must be text: the model answers in words.")
    if body.prompt is not None:
        refuse("prompt", "There are no stored prompts: send instructions.")
    if body.conversation is not None and body.previous_response_id is not None:
        refuse("conversation", "conversation does not go with previous_response_id: name one of them.")


def conversation_id(body: ResponseBody) -> str | None:
    """The id of the conversation that is named. Raises errors.InvalidRequest."""
    named = body.conversation
    found = named.get("id") if isinstance(named, dict) else named
    if named is not None and not (isinstance(found, str) and found):
        refuse("conversation", "conversation must be an id, or an object with one.")
    return found


def _referred(items: Sequence[Mapping[str, Any]]) -> str | None:
    """The turn of the item before the newest messages, where that is a reference alone."""
    for item in reversed(items):
        if item.get("type") == "item_reference":
            name = str(item.get("id"))
            return turn_of(name) or turn_of(name.partition("_")[2])
        if item.get("role") == "assistant" or item.get("type", "message") != "message":
            break
    return None


def _messages(
    items: Sequence[Mapping[str, Any]], decisions: dict[str, ResponsesDecision]
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Items as messages of a chat completion. Other output that comes back says only that the model had its
    say: the log has it. Between the results of one turn it says nothing, in whichever order they come."""
    has_results = False
    for number, item in enumerate(items):
        match item.get("type", "message"):
            case "message":
                if has_results:
                    yield number, {"role": "assistant"}
                has_results = False
                yield number, {"role": item.get("role"), "content": _content(item.get("content"))}
            case "function_call_output":
                output = _content(item.get("output"))
                if isinstance(output, list) and any(part["type"] != "text" for part in output):
                    refuse("input", f"input.{number}: output must be text.")
                has_results = True
                yield number, {"role": "tool", "tool_call_id": item.get("call_id"), "content": output}
            case "mcp_approval_response":
                name, reason = call_in_full(str(item.get("approval_request_id"))), item.get("reason")
                if not isinstance(approves := item.get("approve"), bool):
                    refuse("input", f"input.{number}: approve must be true or false.")
                decisions[name] = ResponsesDecision(approves, reason if isinstance(reason, str) else None)
                has_results = True
                yield number, {"role": "tool", "tool_call_id": name}
            case _ if not has_results:
                yield number, {"role": "assistant"}
            case _:
                pass


def _content(given: object) -> object:
    """Text, or parts as a chat completion has them."""
    return [_part(part) for part in given if isinstance(part, Mapping)] if isinstance(given, list) else given


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    kind = part.get("type")
    if kind not in _PARTS:
        refuse("input", f"Parts must be {', '.join(_PARTS)}.")
    if kind in _TEXTS:
        return {"type": "text", "text": part.get("text", part.get("refusal"))}
    if kind == "input_image":
        return {"type": "image_url", "image_url": {"url": part.get("image_url")}}
    if kind == "input_file":
        return {"type": "file", "file": {key: part.get(key) for key in ("filename", "file_data")}}
    return {"type": kind, kind: part.get(kind)}


def _new_alone(conversation: ClientConversation) -> ClientConversation:
    """After a response that is named: messages of the user that follow each other are one."""
    if any(each.answer for each in conversation.before):
        refuse("input", "With previous_response_id the input must be new: it has an answer.")
    if conversation.question is None or not conversation.before:
        return conversation
    asked = [*(each.question for each in conversation.before), conversation.question]
    text = "\n\n".join(each.text for each in asked if each.text)
    question = ClientQuestion(text, [part for each in asked for part in each.parts], RESPONSES)
    return conversation._replace(before=(), question=question)
