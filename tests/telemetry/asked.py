"""An endpoint of the Messages API that answers turns, and does what a test wants when asked for something
else."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, Literal

import orjson
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

ANSWERS, ASIDE = "claude-sonnet-4-5", "claude-haiku-4-5"
"""The model of turns, and the one that is asked beside them; both have a price."""
INPUT, OUTPUT = 1000, 50
"""Tokens of each call beside a turn."""
COST = (INPUT * 1 + OUTPUT * 5) / 1_000_000
"""US dollars of a whole one, by the list price of ASIDE."""

Way = Literal["answer", "cut", "limit", "hang", "busy"]


class Endpoint:
    """Answers beside a turn in the `way` it is told, with `text`. `asked` counts how often, `hangs` is set
    when somebody waits for an answer that does not come."""

    def __init__(self) -> None:
        self.way: Way = "answer"
        self.text = "{}"
        self.asked = 0
        self.hangs = asyncio.Event()
        self.app = Starlette(
            routes=[
                Route("/v1/messages", self._messages, methods=["POST"]),
                Route("/v1/messages/count_tokens", self._count, methods=["POST"]),
            ]
        )

    async def _count(self, request: Request) -> Response:
        return JSONResponse({"input_tokens": 10})

    async def _messages(self, request: Request) -> Response:
        model = (await request.json())["model"]
        if model == ANSWERS:
            return _streamed(_stream(model, "All right. " * 100, 10, 5))
        self.asked += 1
        if self.way == "busy":
            return JSONResponse({"error": {"type": "overloaded_error", "message": "Busy."}}, 529)
        return _streamed(self._aside(model))

    async def _aside(self, model: str) -> AsyncIterator[bytes]:
        if self.way in {"answer", "limit"}:
            stopped = "max_tokens" if self.way == "limit" else "end_turn"
            async for event in _stream(model, self.text, INPUT, OUTPUT, stopped):
                yield event
            return
        yield _started(model, INPUT)
        if self.way == "hang":
            self.hangs.set()
            await asyncio.Event().wait()


async def _stream(
    model: str, text: str, tokens_in: int, tokens_out: int, stopped: str = "end_turn"
) -> AsyncIterator[bytes]:
    block = {"index": 0, "content_block": {"type": "text", "text": ""}}
    yield _started(model, tokens_in)
    yield _event("content_block_start", block)
    yield _event("content_block_delta", {"index": 0, "delta": {"type": "text_delta", "text": text}})
    yield _event("content_block_stop", {"index": 0})
    yield _event("message_delta", {"delta": {"stop_reason": stopped}, "usage": {"output_tokens": tokens_out}})
    yield _event("message_stop", {})


def _started(model: str, tokens_in: int) -> bytes:
    usage = {"input_tokens": tokens_in, "output_tokens": 1}
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": model, "usage": usage}
    return _event("message_start", {"message": {**message, "content": []}})


def _event(kind: str, data: dict[str, Any]) -> bytes:
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), orjson.dumps({"type": kind, **data}))


def _streamed(events: AsyncIterator[bytes]) -> Response:
    return StreamingResponse(events, media_type="text/event-stream")
