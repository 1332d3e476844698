"""Follow the log, encode, send: every stream is a resume from a cursor, the first one too."""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from time import monotonic
from typing import Any

import structlog
from sse_starlette.sse import AppStatus, EventSourceResponse
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from gateway.api.requests import gateway_of, settings_of, span_of, telemetry_of
from gateway.encoders import encode_frames, encode_open, encode_trouble
from gateway.errors import StorageError
from gateway.events.envelope import StoredEvent
from gateway.service.following import Following
from gateway.service.gateway import Gateway
from gateway.telemetry.http_spans import RequestSpan
from gateway.telemetry.streams import StreamKind, StreamMeter

HEADERS = {"Cache-Control": "no-store, no-transform"}

HEARTBEAT = b":\n"
"""A comment without a blank line behind it: common clients take a blank line for the end of an event that is
empty, and hand that to the application (@microsoft/fetch-event-source, httpx-sse, the OpenAI SDK)."""

# Streams end when the service says so, after running turns had their time; not at the first signal.
AppStatus.disable_automatic_graceful_drain()

log = structlog.get_logger(__name__)


def stream_response(
    request: Request,
    place: Following,
    *,
    kind: StreamKind,
    open_turn: str | None,
    accepted_at: int | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """The SSE response that follows `place`; 204 when nothing will ever come, which stops an EventSource.
    `accepted_at` is when the turn was accepted that this request asked for (Unix milliseconds)."""
    if place.exhausted:
        return Response(status_code=204, headers=HEADERS)
    gateway = gateway_of(request)
    meter = telemetry_of(request).meters.streams.opened(kind, head=place.head, accepted_at=accepted_at)
    turn_id = place.turn.id if place.turn is not None else None
    span = span_of(request)
    if (turn := turn_id or open_turn) is not None:
        span.follows(turn)
    return event_stream(
        request,
        gateway.follow(place),
        meter,
        opening=encode_open(place.session_id, place.after, place.head, turn_id, open_turn),
        session_id=place.session_id,
        from_seq=place.after,
        headers=headers,
    )


def event_stream(
    request: Request,
    events: AsyncGenerator[Sequence[StoredEvent]],
    meter: StreamMeter,
    *,
    opening: bytes,
    session_id: str,
    from_seq: int,
    headers: dict[str, str] | None = None,
) -> Response:
    """The SSE response that sends `opening` and then `events` as they come."""
    settings = settings_of(request)
    return EventStream(
        _frames(gateway_of(request), events, opening, meter, span_of(request)),
        meter,
        session_id=session_id,
        from_seq=from_seq,
        headers={**HEADERS, **(headers or {})},
        sep="\n",
        ping=settings.heartbeat,
        ping_message_factory=lambda: HEARTBEAT,
        send_timeout=settings.send_timeout,
    )


class EventStream(EventSourceResponse):
    """The response to one reader of a session, from the cursor `from_seq` on. A reader that takes nothing for
    `send_timeout` seconds is dropped, within twice that time; it resumes by its cursor."""

    def __init__(
        self,
        frames: AsyncGenerator[bytes],
        meter: StreamMeter,
        *,
        session_id: str,
        from_seq: int,
        send_timeout: float,
        **options: Any,
    ) -> None:
        super().__init__(frames, client_close_handler_callable=self._client_left, **options)
        self._meter = meter
        self._from_seq = from_seq
        self._log = log.bind(session_id=session_id, kind=meter.kind, from_seq=from_seq)
        self._patience = send_timeout
        self._sending_since: float | None = None
        self._is_stalled = False
        self._timer: asyncio.TimerHandle

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._watch(task)
        self._log.debug("stream_opened")
        try:
            await super().__call__(scope, receive, send)
        except asyncio.CancelledError:
            if not self._is_stalled:
                raise
            task.uncancel()
            self._meter.closed("slow")
            self._log.info("slow_reader_dropped", path=scope["path"], events=self._meter.events)
        finally:
            self._timer.cancel()
            self._meter.closed("client")
            self._tell_end(scope["request_span"])

    def _tell_end(self, span: RequestSpan) -> None:
        meter = self._meter
        reason = meter.close_reason or "client"
        span.streamed(meter.kind, self._from_seq, meter.events, reason)
        self._log.debug("stream_closed", reason=reason, events=meter.events)

    async def _send_with_timeout(self, send: Send, message: Message) -> None:
        # In place of a cancel scope around every send, which took a fifth of what a slow stream costs: the
        # time is noted, and one timer a stream looks at it.
        self._sending_since = monotonic()
        await send(message)
        self._sending_since = None

    def _watch(self, task: asyncio.Task[Any]) -> None:
        """Cancels `task` when a send has been waiting for too long, else looks again later."""
        since = self._sending_since
        if since is not None and monotonic() - since >= self._patience:
            self._is_stalled = True
            task.cancel()
        else:
            self._timer = asyncio.get_running_loop().call_later(self._patience, self._watch, task)

    async def _client_left(self, message: Message) -> None:
        self._meter.closed("client")


async def _frames(
    gateway: Gateway,
    events: AsyncGenerator[Sequence[StoredEvent]],
    opening: bytes,
    meter: StreamMeter,
    span: RequestSpan,
) -> AsyncGenerator[bytes]:
    yield opening
    try:
        async with aclosing(events):
            async for together in events:
                meter.sending(together)
                span.follows(together[-1].turn_id)
                yield encode_frames(together)
    except StorageError as error:
        meter.closed("error")
        yield encode_trouble(error)
    meter.closed("shutdown" if gateway.is_draining else "done")
