"""The open response of an endpoint that streams, read to its answer or its failure."""

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from gateway.errors import ModelError
from gateway.model.base import Chunk
from gateway.model.failures import presentable, protocol_failure, timed_out, truncated
from gateway.model.message_stream import MessageStream
from gateway.model.sse import SseParser
from gateway.model.watchdog import Watchdog

if TYPE_CHECKING:
    import aiohttp

MAX_STREAM = 256 * 1024 * 1024
"""Bytes of one stream: far above any answer, so that an endless one ends."""

_LINGER = 0.02
"""Seconds a complete stream gets to end properly, so that its connection can serve the next call."""


async def chunks_of(
    response: "aiohttp.ClientResponse", message: MessageStream, watchdog: Watchdog, secret: str | None
) -> AsyncGenerator[Chunk]:
    """The chunks of `message` as they arrive. `watchdog` closes the response when it expires, and is stopped
    at the end; `secret` is shown in no failure.

    Raises:
        ModelError: the stream broke off, fell silent, or broke its rules.
    """
    content, parser, left = response.content, SseParser(), MAX_STREAM
    try:
        while not message.finished:
            try:
                data = await content.readany()  # all that came since the last read; nothing at the end
            except Exception:  # noqa: BLE001 - the edge: a reset, a broken chunk, a broken encoding
                data = None
            if not data:
                raise _broken_off(response, message, watchdog, ended=data is not None)
            left -= len(data)
            if left < 0:
                raise protocol_failure("the stream does not end")
            chunks = message.feed(parser.feed(data))
            if chunks:
                watchdog.pause()
                for chunk in chunks:
                    yield chunk
            if message.failure is not None:
                raise presentable(message.failure, secret)
            if chunks or message.progress:
                watchdog.progress()
    finally:
        watchdog.stop()
        message.failure = None  # its traceback ends here, and would keep the answer until a collection
    if not content.is_eof():
        await _linger(content)


def _broken_off(
    response: "aiohttp.ClientResponse", message: MessageStream, watchdog: Watchdog, *, ended: bool
) -> ModelError:
    if watchdog.expired:
        return timed_out("The model's endpoint fell silent before its answer was complete.")
    if not ended or message.started:
        return truncated()
    # No message ever began: often the address is some other server's, and its content type tells.
    if response.content_type in {"text/event-stream", "application/octet-stream"}:
        return truncated()
    return protocol_failure(
        f"it sent {response.content_type:.40} instead of a stream (check ANTHROPIC_BASE_URL)"
    )


async def _linger(content: "aiohttp.StreamReader") -> None:
    try:
        async with asyncio.timeout(_LINGER):
            while await content.readany():
                pass
    except Exception:  # noqa: BLE001 - the answer is complete; only the connection is lost
        return
