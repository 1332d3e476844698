"""The open response of an endpoint that streams, read to its answer or its failure."""

import asyncio
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from gateway.errors import ModelError
from gateway.model.base import Chunk, Delta, Take
from gateway.model.credentials import Credential, named
from gateway.model.message_stream import MessageStream
from gateway.model.sse import SseParser
from gateway.model.upstream_failures import presentable, protocol_failure, timed_out, truncated
from gateway.model.watchdog import Watchdog

if TYPE_CHECKING:
    from gateway.model.http_response import HttpResponse

MAX_STREAM = 256 * 1024 * 1024
"""Bytes of one stream: far above any answer, so that an endless one ends."""


async def chunks_of(
    response: "HttpResponse",
    message: MessageStream,
    watchdog: Watchdog,
    credential: Credential,
    take: Take | None = None,
) -> AsyncGenerator[Chunk]:
    """The chunks of `message` as they arrive, without those that `take` takes (see `Model.stream`).
    `watchdog` closes the response when it expires, and is stopped at the end; the key of `credential` is
    shown in no failure.

    Raises:
        ModelError: the stream broke off, fell silent, or broke its rules.
    """
    reading = _Reading(response, message, watchdog, take)
    try:
        while not message.finished:
            chunks = await reading.chunks()
            if chunks:
                watchdog.pause()
                for chunk in chunks:
                    yield chunk
            if message.failure is not None:
                raise presentable(named(message.failure, credential), credential.key)
            if chunks:
                watchdog.progress()
    finally:
        watchdog.stop()
        response.on_data = None
        message.failure = None  # its traceback ends here, and would keep the answer until a collection


class _Reading:
    """While a task waits for chunks, deltas are offered to `take` as they arrive, and it goes on waiting."""

    __slots__ = ("_left", "_message", "_parser", "_response", "_take", "_waiter", "_watchdog")

    def __init__(
        self, response: "HttpResponse", message: MessageStream, watchdog: Watchdog, take: Take | None
    ) -> None:
        self._response, self._message, self._watchdog, self._take = response, message, watchdog, take
        self._parser, self._left = SseParser(), MAX_STREAM
        self._waiter: asyncio.Future[list[Chunk]] | None = None
        response.on_data = self._on_data

    async def chunks(self) -> list[Chunk]:
        """What comes next; none when the message has failed. Raises ModelError, and what `take` raises."""
        while not self._response.is_ready:
            self._waiter = asyncio.get_running_loop().create_future()
            try:
                return await self._waiter
            finally:
                self._waiter = None
        return self._read()

    def _on_data(self) -> None:
        waiter = self._waiter
        if waiter is None or waiter.done() or not self._response.is_ready:
            return  # the task looks itself, or there is nothing to see
        try:
            chunks = self._read()
            if self._take is not None:
                while chunks and type(chunks[0]) is Delta and self._take(chunks[0]):
                    del chunks[0]
        except Exception as error:  # noqa: BLE001 - raised where it is awaited
            waiter.set_exception(error)
            return
        if chunks or self._message.failure is not None:
            waiter.set_result(chunks)
        elif self._response.is_ready:  # the same read brought the end: there is no further call for that
            self._on_data()

    def _read(self) -> list[Chunk]:
        message = self._message
        try:
            data = self._response.taken()
        except Exception:  # noqa: BLE001 - the boundary: a reset, a broken chunk or encoding
            raise _broken_off(self._response, message, self._watchdog, ended=False) from None
        if not data:
            raise _broken_off(self._response, message, self._watchdog, ended=True)
        self._left -= len(data)
        if self._left < 0:
            raise protocol_failure("the stream does not end")
        chunks = message.feed(self._parser.feed(data))
        if message.progress:
            self._watchdog.progress()
        return chunks


def _broken_off(
    response: "HttpResponse", message: MessageStream, watchdog: Watchdog, *, ended: bool
) -> ModelError:
    if watchdog.expired:
        return timed_out("The model's endpoint fell silent before its answer was complete.")
    if not ended or message.started:
        return truncated()
    # No message ever began: often the address is some other server's, as its content type shows.
    if response.content_type in {"text/event-stream", "application/octet-stream"}:
        return truncated()
    return protocol_failure(
        f"it sent {response.content_type:.40} instead of a stream (check ANTHROPIC_BASE_URL)"
    )
