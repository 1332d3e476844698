"""Messages as JSON, encoded a few at a time, beside the event loop: a long session, or one long message,
holds up nobody and fills no memory."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import orjson
from starlette.responses import Response

from gateway.api.session_bodies import Messages
from gateway.http.downloads import StreamedBody
from gateway.http.json_types import json_body
from gateway.http.requests import ApiRequest
from gateway.messages import Message

MAX_UNSTREAMED = 524_288
"""Bytes up to which an answer is made before it is sent: most are no longer, and have a length and the right
status also when what they tell of cannot be read. A longer one is sent in pieces of that size."""


async def messages_reply(
    request: ApiRequest, reply: Messages, messages: AsyncGenerator[Sequence[Message]]
) -> Response:
    """The JSON of `reply`, which has no messages yet, with `messages` for its messages. Raises what iterating
    does while the beginning is read; later that breaks the answer off."""
    chunks = _encoded(reply, messages)
    began, size = list[bytes](), 0
    async for chunk in chunks:
        began.append(chunk)
        size += len(chunk)
        if size >= MAX_UNSTREAMED:
            break
    else:
        return Response(b"".join(began), 200, {"cache-control": "no-store"}, "application/json")
    return StreamedBody(
        _sent(began, chunks), media_type="application/json", send_timeout=request.settings.send_timeout
    )


async def _encoded(reply: Messages, messages: AsyncGenerator[Sequence[Message]]) -> AsyncGenerator[bytes]:
    before, _, after = json_body(reply).partition(b"[]")
    yield before + b"["
    is_first = True
    async with aclosing(messages) as pages:
        async for page in pages:
            if page:
                if not is_first:
                    yield b","
                yield await asyncio.to_thread(_encode, page)
                is_first = False
    yield b"]" + after


def _encode(page: Sequence[Message]) -> bytes:
    return b",".join([orjson.dumps({"role": each.role, "content": each.content}) for each in page])


async def _sent(began: list[bytes], rest: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """In pieces of bounded size: the socket's buffer is no place for a message of any length."""
    held = bytearray()
    async with aclosing(rest):
        async for chunk in _all(began, rest):
            if len(held) + len(chunk) <= MAX_UNSTREAMED:
                held += chunk
                continue
            if held:
                yield bytes(held)
                held.clear()
            for at in range(0, len(chunk), MAX_UNSTREAMED):
                yield chunk[at : at + MAX_UNSTREAMED]
    yield bytes(held)


async def _all(began: list[bytes], rest: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    while began:
        yield began.pop(0)
    async for chunk in rest:
        yield chunk
