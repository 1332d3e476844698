"""How other servers of the Messages API behave: how they write a stream and an error, and what they refuse.

Sources: recordings of llama.cpp, the sources of vLLM and Ollama, and for the others the documents and public
reports that tests/endpoints names.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from gateway.demo.strictness import RejectedRequest

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EndpointStyle:
    """One kind of server. `models` are those that it has (None: it takes any name); `error` makes the JSON of
    a status, a type and a message; `overflow` says that SIZE tokens are more than its WINDOW.

    `signs`: what ends a thinking block, a signature, an empty one, the message's id, or nothing. With
    `stops_last` blocks stay open until the message ends. `first` is the index of the first block. `around`
    are bytes before and after the events; `call_id` is filled with letters and the place of the call.
    """

    overflow: str
    error: Callable[[int, str, str], dict[str, Any]] = lambda _, kind, text: {
        "type": "error",
        "error": {"type": kind, "message": text},
    }
    overflow_type: str = "invalid_request_error"
    models: tuple[str, ...] | None = None
    signs: Literal["yes", "empty", "id", "no"] = "yes"
    stops_last: bool = False
    first: int = 0
    names_events: bool = True
    around: tuple[bytes, bytes] = (b"", b"")
    ends: bool = True
    call_id: str = "call_{letters}{place}"
    counts_first: bool = True
    input_in_start: bool = True
    needs_key: bool = True
    refuses: Callable[[Body], None] = lambda _: None

    def check(self, body: Body) -> None:
        """Raises RejectedRequest where this server would not answer."""
        if self.models is not None and body.get("model") not in self.models:
            raise RejectedRequest(f"model '{body.get('model')}' not found", status=404)
        self.refuses(body)

    def too_long(self, size: int, window: int) -> RejectedRequest:
        words = self.overflow.replace("SIZE", str(size)).replace("WINDOW", str(window))
        return RejectedRequest(words, kind=self.overflow_type)


def _thinks(body: Body) -> bool:
    return body.get("thinking", {}).get("type", "disabled") != "disabled"


def _blocks(body: Body) -> Iterator[tuple[int, list[dict[str, Any]]]]:
    """The content of each message of the model, with its place."""
    for place, message in enumerate(body.get("messages", ())):
        if message.get("role") == "assistant" and isinstance(message.get("content"), list):
            yield place, message["content"]


def _wants_thinking(words: str) -> Callable[[Body], None]:
    """Refuses a call of a tool that has lost its thinking, in a request that thinks."""

    def check(body: Body) -> None:
        for place, content in _blocks(body):
            kinds = {block.get("type") for block in content}
            if _thinks(body) and "tool_use" in kinds and not kinds & {"thinking", "redacted_thinking"}:
                raise RejectedRequest(words.replace("PLACE", str(place)))

    return check


def _small_model(body: Body) -> None:
    if body.get("model") != _SMALL:
        return
    if body.get("tools"):
        raise RejectedRequest(f"registry.ollama.ai/library/{_SMALL} does not support tools", kind="api_error")
    if _thinks(body):
        raise RejectedRequest(f'"{_SMALL}" does not support thinking')


def _system_role(body: Body) -> None:
    if any(message.get("role") == "system" for message in body.get("messages", ())):
        words = "invalid params, chat content has invalid message role: system (2013)"
        raise RejectedRequest(words, kind="bad_request_error")


def _unsigned(body: Body) -> None:
    for place, content in _blocks(body):
        for at, block in enumerate(content):
            if block.get("type") == "thinking" and not block.get("signature"):
                words = f"messages.{place}.content.{at}.thinking.signature: Field required"
                raise RejectedRequest(f"The model returned the following errors: {words}")


def _cache_points(body: Body) -> None:
    if body.get("model") == "gpt-oss" and "'cache_control'" in str(body):
        raise RejectedRequest("litellm.BadRequestError: cache_control: Extra inputs are not permitted")


def _as_openai(status: int, kind: str, text: str) -> dict[str, Any]:
    return {"error": {"message": text, "type": kind, "param": None, "code": str(status)}}


_SMALL = "gemma3:1b"
"""A model without tools and thinking."""

STYLES = {
    "llama.cpp": EndpointStyle(
        "request (SIZE tokens) exceeds the available context size (WINDOW tokens), try increasing it",
        lambda status, kind, text: {"error": {"code": status, "message": text, "type": kind}},
        "exceed_context_size_error",
        signs="empty",
        stops_last=True,
        call_id="{letters}{letters}{place}",
        input_in_start=False,
        needs_key=False,
    ),
    "vllm": EndpointStyle(
        "This model's maximum context length is WINDOW tokens. However, your request has SIZE input tokens.",
        overflow_type="BadRequestError",
        models=("Qwen/Qwen3-8B",),
        call_id="chatcmpl-tool-{letters}{place}",
        needs_key=False,
    ),
    "ollama": EndpointStyle(
        "prompt too long (SIZE tokens); exceeded max context length of WINDOW",
        models=("qwen3:8b", _SMALL),
        signs="no",
        needs_key=False,
        refuses=_small_model,
    ),
    "lm-studio": EndpointStyle(
        "The number of tokens to keep from the initial prompt is greater than the context length "
        "(n_keep: SIZE>= n_ctx: WINDOW).",
        lambda _status, _kind, text: {"error": text},
        signs="no",
        call_id="4362141{place}",
        needs_key=False,
    ),
    "litellm": EndpointStyle(
        "litellm.ContextWindowExceededError: prompt is too long: SIZE tokens > WINDOW maximum",
        _as_openai,
        refuses=_cache_points,
    ),
    "openrouter": EndpointStyle(
        "This endpoint's maximum context length is WINDOW tokens. However, you requested about SIZE tokens.",
        lambda status, _kind, text: {"error": {"message": text, "code": status}},
        around=(b": OPENROUTER PROCESSING\n\n" * 2, b"event: data\ndata: [DONE]\n\n"),
        ends=False,
    ),
    "deepseek": EndpointStyle(
        "This model's maximum context length is WINDOW tokens. However, you requested SIZE tokens.",
        _as_openai,
        signs="id",
        around=(b": keep-alive\n\n", b""),
        refuses=_wants_thinking(
            "The `content[].thinking` in the thinking mode must be passed back to the API."
        ),
    ),
    "kimi": EndpointStyle(
        "Invalid request: Your request exceeded model token limit: WINDOW (requested: SIZE)",
        signs="empty",
        call_id="calculate:{place}",
        counts_first=False,
        refuses=_wants_thinking(
            "thinking is enabled but reasoning_content is missing in assistant tool call message "
            "at index PLACE"
        ),
    ),
    "glm": EndpointStyle("Prompt exceeds max length", overflow_type="1261", counts_first=False),
    "minimax": EndpointStyle(
        "invalid params, context window exceeds limit (2013)",
        lambda status, kind, text: {
            "type": "error",
            "error": {"type": kind, "message": text, "http_code": str(status)},
        },
        "bad_request_error",
        call_id="call_function_{letters}_{place}",
        refuses=_system_role,
    ),
    "qwen": EndpointStyle(
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, WINDOW]",
        signs="empty",
        first=1,
        names_events=False,
    ),
    "bedrock": EndpointStyle(
        "Input is too long for requested model.",
        lambda _status, _kind, text: {"message": text},
        call_id="toolu_bdrk_{letters}{place}",
        refuses=_unsigned,
    ),
}
