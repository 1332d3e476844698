"""What a response has: its id, the items of its output, its usage. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import orjson

from gateway.adapters.openai.openai_frames import usage_of
from gateway.adapters.turn_parts import Data

Json = dict[str, Any]

SERVER = "gateway"
"""The server label of the gateway's own tools."""
CONSTANT: Json = {
    "instructions": None,
    "metadata": {},
    "parallel_tool_calls": True,
    "temperature": None,
    "tool_choice": "auto",
    "tools": [],
    "top_p": None,
}
"""What the types ask for and the log does not have: a response that is read again is the same one."""


class Form(NamedTuple):
    """The form of an item's text: the stems of its events, its place, and the fields beside it."""

    deltas: str
    parts: str
    place: bytes
    beside: bytes
    content: bytes


FORMS: Mapping[str, Form] = {
    "message": Form(
        "response.output_text",
        "response.content_part",
        b'"content_index":0,',
        b'"logprobs":[],',
        b'{"type":"output_text","annotations":[],"text":"%b"}',
    ),
    "reasoning": Form(
        "response.reasoning_summary_text",
        "response.reasoning_summary_part",
        b'"summary_index":0,',
        b"",
        b'{"type":"summary_text","text":"%b"}',
    ),
}


@dataclass(slots=True)
class Item:
    """One of the output. `done_json` is its JSON in the end, `text` the JSON of its text without quotes."""

    index: int
    about: Json
    done_json: bytes = b""
    is_withdrawn: bool = False
    text: list[bytes] = field(default_factory=list[bytes])

    @property
    def type(self) -> str:
        return self.about["type"]

    @property
    def where(self) -> bytes:
        return b'"item_id":%b,"output_index":%d,' % (orjson.dumps(self.about["id"]), self.index)

    def json(self, status: str) -> bytes:
        """As it is now."""
        if self.type == "mcp_approval_request":
            return orjson.dumps(self.about)
        written = orjson.dumps({**self.about, "status": status})
        if self.text:
            form = FORMS[self.type]
            field = b'"content":[' if self.type == "message" else b'"summary":['
            written = written.replace(field, field + form.content % b"".join(self.text), 1)
        return written


def response_id(turn_id: str, behind: int | None) -> str:
    """The id of a turn's first response, or of the one that tells what came behind the event `behind`, with
    which the turn began to wait for its client."""
    return f"resp_{turn_id}" if behind is None else f"resp_{turn_id}.{behind}"


def usage_of_response(used: Sequence[Data]) -> Json:
    """In this dialect the tokens of the input include those of its cache."""
    usage = usage_of(used)
    return {
        "input_tokens": usage["prompt_tokens"],
        "input_tokens_details": usage["prompt_tokens_details"],
        "output_tokens": usage["completion_tokens"],
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage["total_tokens"],
    }
