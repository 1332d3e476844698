"""Sessions as Durable Streams, for reading: catch-up, long-poll, server-sent events."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import Response

from gateway.adapters.adapter import Adapter
from gateway.adapters.durable_streams.durable_streams_frames import (
    BEGINNING,
    Frames,
    encode_messages,
    next_cursor,
    offset_of,
    read_offset,
)
from gateway.auth.authentication import Authentication
from gateway.auth.static_keys import given_keys
from gateway.errors import InvalidRequest
from gateway.events.envelope import StoredEvent
from gateway.http.conditional_requests import is_known
from gateway.http.endpoint import STREAM, endpoint, endpoints_of
from gateway.http.requests import ApiRequest
from gateway.http.stream import EventStream
from gateway.service.follower import StreamRange, Take

CHUNK = 500
"""Events of one answer."""
POLL_SECONDS = 20.0
"""A long-poll waits so long: one interval of cursors."""
SSE_SECONDS = 60.0
"""A stream of server-sent events ends then, so that caches get to collapse readers (PROTOCOL.md, 10.2)."""
TICK = 0.1
"""Waiting long-polls are answered together, at multiples of so many seconds: readers that share a cache then
go on with the same request, and a thousand readers of one turn cost ten requests a second."""
CACHED = "private, max-age=60, stale-while-revalidate=300"


class StreamQuery(BaseModel):
    """What a reader asks for."""

    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    offset: str | None = Field(
        None, description="-1 (the beginning), now, or the Stream-Next-Offset of an answer."
    )
    live: Literal["long-poll", "sse"] | None = Field(
        None, description="Wait for what comes; absent: what is there already."
    )
    cursor: str | None = Field(None, description="The Stream-Cursor of the last answer.")


@endpoint(
    "GET",
    "/streams/sessions/{session_id}",
    "event.read",
    {200: ("application/json", STREAM), 204: (None,), 304: (None,)},
    query=StreamQuery,
    refusals=(404,),
    headers={"If-None-Match": "The ETag of an answer that is known: 304 when it is still that."},
)
async def read(request: ApiRequest) -> Response:
    """The events of a session from an offset on, as a JSON array or as server-sent events."""
    gateway, session_id = request.gateway, request.path_id("session_id")
    query = await request.read_query(StreamQuery)
    if query.offset is None and query.live is not None:
        raise InvalidRequest("offset must be given with live.")
    after = read_offset(BEGINNING if query.offset is None else query.offset)
    session = await gateway.sessions.get(request.principal, session_id)
    if request.method == "HEAD":
        return _answer(200, session.head)
    is_tail = after is None
    after = session.head if after is None else after
    if query.live == "sse":
        place = await gateway.streams.following(request.principal, session_id, after=after)
        return _stream(request, place, next_cursor(query.cursor, time.time()))
    if is_tail and query.live is None:
        return _answer(200, after, b"[]", {"stream-up-to-date": "true"})
    reader = DurableStreamReader(request, session_id, after)
    events, is_whole = await (reader.page() if query.live is None else reader.poll())
    headers: dict[str, str] = {"stream-up-to-date": "true"} if is_whole else {}
    if query.live is not None:
        headers["stream-cursor"] = next_cursor(query.cursor, time.time())
        if not events:
            return _answer(204, after, None, headers)
    end = events[-1].seq if events else after
    headers["etag"] = f'"{session_id}.{session.created_at}:{after}:{end}"'
    if (query.live is not None or not is_whole) and _may_be_kept(request):
        headers["cache-control"] = CACHED
    if is_known(request.headers, headers["etag"]):
        return _answer(304, end, None, headers)
    return _answer(200, end, encode_messages(events), headers)


class DurableStreamReader(NamedTuple):
    """A reader that has the events up to `after`."""

    request: ApiRequest
    session_id: str
    after: int

    async def page(self) -> tuple[Sequence[StoredEvent], bool]:
        """The next events that are there, and whether they are all. Raises errors.NotFound,
        errors.CursorAhead, errors.ArchiveDamaged."""
        gateway = self.request.gateway
        events, more = await gateway.streams.page(await self._place(live=False), CHUNK)
        return events, more is None

    async def poll(self) -> tuple[Sequence[StoredEvent], bool]:
        """As `page`; where nothing is there, it waits for it, and for what comes right behind."""
        with suppress(TimeoutError, _Enough):
            async with asyncio.timeout(POLL_SECONDS):
                await self.request.gateway.streams.follow(await self._place(live=True), _enough)
        events, is_whole = await self.page()
        if events and is_whole and (now := time.time()) - events[-1].ts / 1000 < TICK:
            await asyncio.sleep(TICK - now % TICK)
            events, is_whole = await self.page()
        return events, is_whole

    async def _place(self, *, live: bool) -> StreamRange:
        who = self.request.principal
        return await self.request.gateway.streams.following(who, self.session_id, after=self.after, live=live)


class _Enough(Exception):
    """There is something to read."""


async def _enough(_events: Sequence[StoredEvent]) -> None:
    raise _Enough


def _stream(request: ApiRequest, place: StreamRange, cursor: str) -> Response:
    frames = Frames(place.head, cursor)

    async def feed(take: Take) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(SSE_SECONDS):
                await request.gateway.streams.follow(place, take)

    return EventStream(
        request,
        feed,
        request.telemetry.metrics.streams.opened("resume", head=place.head, dialect=request.dialect),
        opening=frames.control(place.after) if place.after == place.head else b"",
        session_id=place.session_id,
        from_seq=place.after,
        encode=frames.encode,
        trouble=lambda _: b"",
    )


def _may_be_kept(request: ApiRequest) -> bool:
    """Whether a cache can tell the caller from others: by their key, or as there is nobody else. A browser's
    does not tell by cookies, nor by what a proxy adds."""
    authentication: Authentication = request.app.state.authentication
    return bool(given_keys(request.headers)) or not authentication.is_required


def _answer(
    status: int, seq: int, body: bytes | None = None, headers: Mapping[str, str] | None = None
) -> Response:
    headers = {"cache-control": "no-store", "stream-next-offset": offset_of(seq), **(headers or {})}
    return Response(body, status, headers, "application/json" if status == 200 else None)


ADAPTER = Adapter(
    "/streams",
    endpoints_of(__name__),
    exposed_headers=("stream-next-offset", "stream-cursor", "stream-up-to-date"),
)
