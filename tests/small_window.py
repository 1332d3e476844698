"""An endpoint with a small window: it counts roughly, refuses what is too long, and writes poor summaries."""

import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tests.loopback import served
from tests.product import estimate_tokens

Refusal = Callable[[int, int, int], str]
"""The words of a refusal, of the tokens of a prompt, the window, and the answer that was asked for."""


def llama_cpp(prompt: int, window: int, _: int) -> str:
    size = f"the available context size ({window} tokens)"
    return f"request ({prompt} tokens) exceeds {size}, try increasing it"


def bedrock(*_: int) -> str:
    return "Input is too long for requested model."


def unexplained(*_: int) -> str:
    return "The request is not acceptable."


def vllm(prompt: int, window: int, output: int) -> str:
    return (
        f"This model's maximum context length is {window} tokens. However, you requested {prompt + output} "
        f"tokens ({prompt} in the messages, {output} in the completion). Please reduce the length of the "
        "messages or completion."
    )


@dataclass(slots=True)
class SmallWindow:
    """What the endpoint does and what it was asked. `adds_output`: the answer's tokens count too, as vLLM
    counts. `summaries` is what it writes when it is asked for one; None: it fails with HTTP 500."""

    window: int
    refusal: Refusal = llama_cpp
    adds_output: bool = False
    summaries: str | None = "I cannot do that."
    reply: str = "Noted, thank you."
    bodies: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    refused: int = 0

    async def messages(self, request: Request) -> Response:
        body = orjson.loads(await request.body())
        prompt, output = size_of(body), body["max_tokens"]
        if prompt + (output if self.adds_output else 1) > self.window:
            self.refused += 1
            message = self.refusal(prompt, self.window, output)
            error = {"type": "invalid_request_error", "message": message}
            return JSONResponse({"type": "error", "error": error}, 400)
        if is_summary(body):
            if self.summaries is None:
                return JSONResponse({"error": {"type": "api_error", "message": "out of order"}}, 500)
            return _stream(self.summaries, prompt)
        self.bodies.append(body)
        return _stream(self.reply, prompt)


def is_summary(body: dict[str, Any]) -> bool:
    return not body.get("tools") and "<conversation>" in orjson.dumps(body["messages"]).decode()


def size_of(body: dict[str, Any]) -> int:
    """About as many tokens as a tokenizer makes of it."""
    system = body.get("system") or ""
    texts = [system] if isinstance(system, str) else [block["text"] for block in system]
    texts += [orjson.dumps(tool).decode() for tool in body.get("tools", ())]
    for message in body["messages"]:
        content = message["content"]
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        texts += [
            block["text"] if block["type"] == "text" else orjson.dumps(block).decode() for block in blocks
        ]
    return sum(estimate_tokens(re.sub(r"\s+", " ", text)) + 4 for text in texts)


@asynccontextmanager
async def serve_small_window(endpoint: SmallWindow) -> AsyncGenerator[str]:
    app = Starlette(routes=[Route("/v1/messages", endpoint.messages, methods=["POST"])])
    async with served(app, lifespan=False) as url:
        yield url


def _stream(text: str, prompt: int) -> Response:
    usage = {"input_tokens": prompt, "output_tokens": 1}
    events: list[dict[str, Any]] = [
        {
            "type": "message_start",
            "message": {"id": "msg_1", "role": "assistant", "model": "small", "content": [], "usage": usage},
        },
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": estimate_tokens(text)},
        },
        {"type": "message_stop"},
    ]
    frames = b"".join(
        b"event: %b\ndata: %b\n\n" % (each["type"].encode(), orjson.dumps(each)) for each in events
    )
    return Response(frames, media_type="text/event-stream")
