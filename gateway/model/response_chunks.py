"""The open response of an endpoint that streams, read to its answer or its failure."""

import asyncio
import re
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING

from gateway.errors import ModelError
from gateway.model.base import Chunk, Delta, Take
from gateway.model.credentials import Credential, named
from gateway.model.message_stream import MessageStream
from gateway.model.sse import DONE, ErrorData, SseParser
from gateway.model.strict_json import is_json
from gateway.model.upstream_failures import (
    decoded_body,
    failure_of_body,
    presentable,
    protocol_failure,
    timed_out,
    truncated,
)
from gateway.model.watchdog import Watchdog

if TYPE_CHECKING:
    from gateway.model.http_response import HttpResponse

MAX_STREAM = 256 * 1024 * 1024
"""Bytes of one stream: far above any answer, so that an endless one ends."""
MAX_WHOLE = 4 * 1024 * 1024
"""Bytes of a response that is no stream."""
STREAMS = frozenset({"text/event-stream", "application/octet-stream"})
"""Content types of a stream; the other one is that of a response that names none."""

_FIELD = re.compile(r"^(data|event|id|retry)?:", re.MULTILINE)


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
        if response.unread_coding is not None:
            coding = response.unread_coding
            raise protocol_failure(
                f"its answer has the content-encoding {coding:.40}, which nobody asked for"
            )
        while not message.finished:
            try:
                chunks = await reading.chunks()
            except ModelError as failure:
                raise presentable(named(failure, credential), credential.key) from None
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

    __slots__ = (
        *("_left", "_message", "_parser", "_response", "_take", "_unread", "_unread_size", "_waiter"),
        "_watchdog",
    )

    def __init__(
        self, response: "HttpResponse", message: MessageStream, watchdog: Watchdog, take: Take | None
    ) -> None:
        self._response, self._message, self._watchdog, self._take = response, message, watchdog, take
        self._parser, self._left = SseParser(), MAX_STREAM
        self._unread: list[bytes] = []  # all that came, until a message has started
        self._unread_size = 0
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
            raise _broken_off(message, self._watchdog) from None
        if not data:
            return self._end()
        self._left -= len(data)
        if self._left < 0:
            raise protocol_failure("the stream does not end")
        chunks = message.feed(self._parser.feed(data))
        if not message.started:
            self._keep(data)
        elif self._unread:
            self._unread.clear()
        if message.progress:
            self._watchdog.progress()
        return chunks

    def _keep(self, data: bytes) -> None:
        """Keeps the beginning of a response that may be no stream; one that becomes too long is none."""
        self._unread_size += len(data)
        if self._unread_size <= MAX_WHOLE:
            self._unread.append(data)
        else:
            self._unread.clear()

    def _end(self) -> list[Chunk]:
        """The chunks that the end of the response makes. A message that has told its stop reason is complete;
        and a last event that lacks nothing but its empty line counts."""
        message, response = self._message, self._response
        if self._watchdog.expired:
            raise _broken_off(message, self._watchdog)
        rest = self._parser.rest()
        chunks = message.feed([data for data in rest if type(data) is ErrorData or is_json(data)])
        if not message.finished and message.failure is None:
            chunks += message.feed([DONE])
        if message.finished or message.failure is not None:
            return chunks
        if not message.started and message.notice is None:
            body = decoded_body(b"".join(self._unread), response.charset)
            if isinstance(body, dict) and body.get("type") == "message":
                return message.feed_whole(body)
            if response.content_type not in STREAMS or not _looks_like_stream(body):
                message.failure = failure_of_body(response.status, response.content_type, body)
        message.failure = message.failure or _broken_off(message, self._watchdog)
        return chunks


def _looks_like_stream(body: object) -> bool:
    return isinstance(body, str) and (not body or _FIELD.search(body) is not None)


def _broken_off(message: MessageStream, watchdog: Watchdog) -> ModelError:
    if watchdog.expired:
        return timed_out("The model's endpoint fell silent before its answer was complete.")
    return message.notice or truncated()
