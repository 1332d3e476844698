"""What messages of Anthropic's Messages API are made of. Pure.

Fields and values are those of the package `anthropic`, with the blocks of its beta `mcp-client`: no other
block of a tool that ran elsewhere takes any name and result.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, unquote

import orjson

from gateway.adapters.foreign_ids import call_in_full, call_name, turn_of
from gateway.adapters.turn_parts import (
    CallAnswered,
    CallMade,
    Data,
    Part,
    Span,
    TurnEnded,
    TurnToolCall,
    runs_on_client,
)

Json = dict[str, Any]

SERVER = "gateway"
"""What stands for the server of an MCP tool in the blocks of our own tools."""
REASONS = frozenset({"end_turn", "max_tokens", "stop_sequence", "refusal", "model_context_window_exceeded"})
STATUSES: Mapping[str, int] = {
    "upstream_rate_limited": 429,
    "upstream_overloaded": 529,
    "upstream_timeout": 504,
    "context_overflow": 400,
}
"""Of answers whose turn failed; 502 of all other failures."""
KINDS: Mapping[int, str] = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
    504: "timeout_error",
    529: "overloaded_error",
}
"""Types of errors by their status (docs.claude.com "Errors")."""


def text_block(text: str) -> Json:
    return {"type": "text", "text": text}


def tool_use_id(turn_id: str, call_id: str) -> str:
    """The name of a call of letters, digits, _ and -, as the API has them: LangChain makes other names of
    others."""
    name = call_name(turn_id, call_id)
    if call_in_full(name) != name:
        return name
    escaped = quote(call_id, safe="").replace("-", "%2D").replace(".", "%2E").replace("~", "%7E")
    return f"{turn_id}-{escaped.replace('%', '-')}"


def call_named(name: str) -> str:
    """The name in full of the call that `tool_use_id` named; the same of others."""
    turn_id = turn_of(name)
    if turn_id is None or not name.startswith(f"{turn_id}-"):
        return call_in_full(name)
    return f"{turn_id}:{unquote(name.removeprefix(f'{turn_id}-').replace('-', '%'))}"


def tool_use(turn_id: str, call: TurnToolCall) -> Json:
    """A call for the client to run."""
    name = tool_use_id(turn_id, call.id)
    return {"type": "tool_use", "id": name, "name": call.name, "input": call.arguments}


def called(turn_id: str, part: Part) -> Iterator[Json]:
    """The blocks of a call that runs here, and of its result; of other parts nothing."""
    match part:
        case CallMade(call) if not runs_on_client(call):
            yield tool_use(turn_id, call) | {"type": "mcp_tool_use", "server_name": SERVER}
        case CallAnswered(call, data) if not runs_on_client(call):
            yield {
                "type": "mcp_tool_result",
                "tool_use_id": tool_use_id(turn_id, call.id),
                "is_error": data["status"] != "ok",
                "content": [text_block(data["content"])],
            }
        case _:
            pass


def signature_of(span: Span) -> str:
    """The signature of thinking that a gateway sent: such thinking is ignored when it comes back."""
    return f"gateway:{span.id}"


def stop_reason_of(ended: TurnEnded) -> str | None:
    """None where the answer is a failure. What the model refuses is an answer in this dialect."""
    if ended.failure is not None:
        return "refusal" if ended.failure[0] == "content_refused" else None
    if ended.data["status"] == "limit_reached":
        return "max_tokens"
    reason = ended.data.get("stop_reason") if ended.data["status"] == "completed" else None
    return reason if reason in REASONS else "end_turn"


def usage_of(used: Sequence[Data], estimate: int) -> Json:
    """As it was counted; the tokens of the prompt are the `estimate` as long as nothing was."""
    if not used:
        unknown = {"cache_creation_input_tokens": None, "cache_read_input_tokens": None}
        return {"input_tokens": estimate, "output_tokens": 0, **unknown}
    names = ("input_tokens", "output_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    return {name: sum(each.get(name, 0) for each in used) for name in names}


def citations_of(data: Data) -> list[Json]:
    """What was found in the web, for the text that comes next."""
    if "mode" in data:  # memories are no sources to be quoted
        return []
    return [
        {
            "type": "web_search_result_location",
            "url": hit["source"],
            "title": hit.get("title") or hit["id"],
            "cited_text": hit["snippet"],
            "encrypted_index": "",
        }
        for hit in data.get("results", ())
        if hit["source"].startswith(("https://", "http://"))
    ]


def error_body(code: str, message: str, status: int | None = None, request_id: str | None = None) -> bytes:
    """A failure as the SDKs read it: its type by its status, our code in its details."""
    if status is None:
        status = STATUSES.get(code, 502)
    kind = KINDS.get(status, "api_error" if status >= 500 else "invalid_request_error")
    error = {"type": kind, "message": message, "details": {"error_code": code}}
    named = {"request_id": request_id} if request_id is not None else {}
    return orjson.dumps({"type": "error", "error": error, **named})
