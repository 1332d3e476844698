"""Messages as JSON, encoded a few at a time, beside the event loop: a long session, or one long message,
holds up nobody and fills no memory."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

import orjson
from starlette.requests import Request
from starlette.responses import Response

from gateway.api.bodies import Messages
from gateway.api.downloads import Piecewise
from gateway.api.replies import json_body
from gateway.api.requests import settings_of
from gateway.messages import Message

WHOLE = 524_288
"""Bytes up to which an answer is made before it is sent: most are no longer, and have a length and the right
status also when what they tell of cannot be read. A longer one is sent in pieces of that size."""


async def messages_reply(
    request: Request, reply: Messages, said: AsyncGenerator[Sequence[Message]]
) -> Response:
    """The JSON of `reply`, which has no messages yet, with `said` for its messages. Raises what iterating
    does while the beginning is read; later that breaks the answer off."""
    pieces = _encoded(reply, said)
    began, size = list[bytes](), 0
    async for piece in pieces:
        began.append(piece)
        size += len(piece)
        if size >= WHOLE:
            break
    else:
        return Response(b"".join(began), 200, {"cache-control": "no-store"}, "application/json")
    return Piecewise(
        _sent(began, pieces), media_type="application/json", send_timeout=settings_of(request).send_timeout
    )


async def _encoded(reply: Messages, said: AsyncGenerator[Sequence[Message]]) -> AsyncGenerator[bytes]:
    before, _, after = json_body(reply).partition(b"[]")
    yield before + b"["
    is_first = True
    async with aclosing(said) as pages:
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
        async for piece in _all(began, rest):
            if len(held) + len(piece) <= WHOLE:
                held += piece
                continue
            if held:
                yield bytes(held)
                held.clear()
            for at in range(0, len(piece), WHOLE):
                yield piece[at : at + WHOLE]
    yield bytes(held)


async def _all(began: list[bytes], rest: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    while began:
        yield began.pop(0)
    async for piece in rest:
        yield piece
