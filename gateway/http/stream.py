"""Follow the log, encode, send: every stream is a resume from a cursor, the first one too."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from time import monotonic
from typing import Any, Literal

import structlog
from sse_starlette.sse import AppStatus, EventSourceResponse
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gateway.errors import AccessEnded, Draining, GatewayError, StorageError
from gateway.events.envelope import StoredEvent
from gateway.http.open_requests import RESTING
from gateway.http.requests import ApiRequest
from gateway.http.timer_wheel import Wheel
from gateway.service.follower import StreamRange, Take
from gateway.service.open_access import Resting
from gateway.sse_frames import encode_frames, encode_open, encode_trouble
from gateway.telemetry.metrics.stream_metrics import StreamKind, StreamMetrics
from gateway.telemetry.spans.http_spans import RequestSpan

HEADERS = {"Cache-Control": "no-store, no-transform"}

HEARTBEAT = b":\n"
"""A comment without a blank line behind it: common clients take a blank line for the end of an event that is
empty, and hand that to the application (@microsoft/fetch-event-source, httpx-sse, the OpenAI SDK)."""

Encode = Callable[[Sequence[StoredEvent]], bytes]
"""The bytes of the events that come next."""
Feed = Callable[[Take], Coroutine[Any, Any, None]]
"""Hands the events of a stream to its consumer, in order, until its end. Raises errors.StorageError, or
errors.Draining and errors.AccessEnded where the client has to be told that the end came too early."""

# Streams end when the service says so, after running turns had their time; not at the first signal.
AppStatus.disable_automatic_graceful_drain()

log = structlog.get_logger(__name__)
debug_log = logging.getLogger(__name__)


def stream_response(
    request: ApiRequest,
    place: StreamRange,
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
    meter = request.telemetry.metrics.streams.opened(kind, head=place.head, accepted_at=accepted_at)
    turn_id = place.turn.id if place.turn is not None else None
    span = request.span
    if (turn := turn_id or open_turn) is not None:
        span.follows(turn)
    return EventStream(
        request,
        partial(request.gateway.streams.follow, place),
        meter,
        opening=encode_open(place.session_id, place.after, place.head, turn_id, open_turn),
        session_id=place.session_id,
        from_seq=place.after,
        headers=headers,
    )


class EventStream(EventSourceResponse):
    """The SSE response to one reader of a session: `opening`, and then what `feed` hands on, from the cursor
    `from_seq` on, as `encode` writes it; `trouble` writes why the stream breaks off.

    All is sent by the request's own task or by whoever hands events on; there is no other task but one that
    hears when the client leaves. Heartbeats come from the wheel, as does the end of a reader that takes
    nothing for `send_timeout` seconds: it is dropped, within twice that time, and resumes by its cursor.
    """

    def __init__(
        self,
        request: ApiRequest,
        feed: Feed,
        meter: StreamMetrics,
        *,
        opening: bytes,
        session_id: str,
        from_seq: int,
        encode: Encode = encode_frames,
        trouble: Callable[[GatewayError], bytes] = encode_trouble,
        headers: dict[str, str] | None = None,
    ) -> None:
        settings = request.settings
        # No content to pull: it is handed on to `_take`.
        super().__init__(
            iter(()),
            headers={**HEADERS, **(headers or {})},
            sep="\n",
            ping=settings.heartbeat,
            send_timeout=settings.send_timeout,
        )
        del self.headers["connection"]  # how long it is kept is the server's to say, which may add `close`
        self._gateway = request.gateway
        self._resting: Resting | None = request.scope.get(RESTING)
        self._span: RequestSpan = request.span
        self._wheel: Wheel = request.app.state.wheel
        self._feed = feed
        self._encode = encode
        self._trouble = trouble
        self._opening = opening
        self._meter = meter
        self._from_seq = from_seq
        self._session_id = session_id
        self._patience = settings.send_timeout
        self._sent_at = 0.0
        self._waits_since: float | None = None
        self._is_dropped = False
        self._send_body: Send
        self._task: asyncio.Task[Any]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._task, self._send_body = task, scope["send_body"]
        self._debug("stream_opened")
        try:
            if scope["method"] == "HEAD":
                await super().__call__(scope, receive, send)
            else:
                await self._stream(scope, receive, send)
        except asyncio.CancelledError:
            if not self._is_dropped or task.uncancel():
                raise
            if self._meter.close_reason == "slow":
                log.info("slow_reader_dropped", **self._about, path=scope["path"], events=self._meter.events)
        finally:
            self._meter.closed("client")
            self._debug_end()

    async def _stream(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        scope["heartbeat"] = self._show_life  # for our own server: see cli/half_closed
        listening = asyncio.create_task(self._listen(receive))
        slot = self._wheel.add(self)
        try:
            try:
                await self._write(self._opening)
                await self._feed(self._take)
            except (StorageError, Draining, AccessEnded) as error:
                await self._break_off(error)
            except asyncio.CancelledError:
                ended = self._resting.taken() if self._resting is not None else None
                if ended is None:
                    raise
                await self._break_off(ended)
            self._meter.closed("shutdown" if self._gateway.is_draining else "done")
            await self._write(b"", more=False)
        finally:
            self.active = False
            del scope["heartbeat"]
            slot.discard(self)
            listening.cancel()

    async def _break_off(self, error: GatewayError) -> None:
        if isinstance(error, StorageError):
            self._meter.closed("error")
            log.warning("stream_broken_off", **self._about, code=error.code, error=str(error))
        elif isinstance(error, AccessEnded):
            self._meter.closed("access_ended")
        await self._write(self._trouble(error))

    async def _take(self, events: Sequence[StoredEvent]) -> None:
        self._meter.sending(events)
        self._span.follows(events[-1].turn_id)
        if body := self._encode(events):
            await self._write(body)

    async def _write(self, body: bytes, *, more: bool = True) -> None:
        self._sent_at = self._waits_since = monotonic()
        await self._put(body, more=more)
        self._waits_since = None

    async def _put(self, body: bytes, *, more: bool = True) -> None:
        await self._send_body({"type": "http.response.body", "body": body, "more_body": more})

    async def _listen(self, receive: Receive) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        self._drop("client")

    def look(self, now: float) -> None:
        """Sends a heartbeat when nothing was sent for so long that the next look would be too late for one;
        drops the reader when it takes nothing for too long."""
        since = self._waits_since
        if since is not None and now - since >= self._patience:
            self._drop("slow")
        elif since is not None or now - self._sent_at + self._wheel.period > self.ping_interval:
            self._beat(now)

    def _show_life(self) -> None:
        """Sends a heartbeat now, unless something is on its way."""
        if self.active and self._waits_since is None:
            self._beat(monotonic())

    def _beat(self, now: float) -> None:
        beat = self._put(HEARTBEAT)
        try:
            beat.send(None)
        except StopIteration:
            self._sent_at, self._waits_since = now, None
        else:
            # The reader takes nothing now: the next look tries again.
            beat.close()
            if self._waits_since is None:
                self._waits_since = now

    def _drop(self, reason: Literal["client", "slow"]) -> None:
        if self.active:
            self.active = False
            self._is_dropped = True
            self._meter.closed(reason)
            self._task.cancel()

    def _debug_end(self) -> None:
        meter = self._meter
        reason = meter.close_reason or "client"
        self._span.streamed(meter.kind, self._from_seq, meter.events, reason)
        self._debug("stream_closed", reason=reason, events=meter.events)

    def _debug(self, what: str, **more: object) -> None:
        # Asked first: what is filtered out would cost more than all else that a stream does at its ends.
        if debug_log.isEnabledFor(logging.DEBUG):
            log.debug(what, **self._about, **more)

    @property
    def _about(self) -> dict[str, object]:
        return {"session_id": self._session_id, "kind": self._meter.kind, "from_seq": self._from_seq}
