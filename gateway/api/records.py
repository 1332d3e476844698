"""Whole sessions: replayed, exported, imported, archived."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from functools import partial

import structlog
from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from gateway.api.bodies import Query, Reply, Session
from gateway.api.downloads import Download
from gateway.api.replies import json_reply
from gateway.api.requests import (
    gateway_of,
    path_id,
    principal_of,
    read_cursor,
    read_query,
    settings_of,
    telemetry_of,
)
from gateway.api.stream import HEADERS, EventStream
from gateway.api.uploads import NDJSON, upload
from gateway.errors import GatewayError
from gateway.history.copies.export import Export, trouble_line
from gateway.history.replay import MAX_PAUSE, SPEED, read_speed
from gateway.service.gateway import Gateway
from gateway.sse_frames import encode_open
from gateway.storage.archives import ArchiveRow

log = structlog.get_logger(__name__)


class ReplayQuery(Query):
    speed: str = Field(
        "1",
        json_schema_extra={"pattern": SPEED},
        description="1 is the original timing, 10 ten times as fast, max without waiting.",
    )
    from_: int = Field(1, ge=1, le=10**12, alias="from", description="seq of the first event.")
    to: int | None = Field(
        None, ge=1, le=10**12, description="seq of the last event; absent: the session's last one now."
    )
    pause: float = Field(MAX_PAUSE, ge=0, le=3600, description="Longest wait between two events, in seconds.")


class Moved(Reply):
    """A range, by seq or position; absent when nothing of the kind was moved."""

    first: int
    last: int


class Archived(Reply):
    session_id: str
    moved: bool = Field(description="Whether anything was: false when all was in the archive already.")
    number: int | None = Field(
        default=None, description="Of the archive; absent when there was nothing to move."
    )
    events: Moved | None = None
    messages: Moved | None = None
    created_at: int | None = None


async def replay(request: Request) -> Response:
    """The session's events as SSE once more, at their own pace or another: the frames are those that were
    streamed live, also when the session was archived since."""
    query = read_query(request, ReplayQuery)
    gateway = gateway_of(request)
    place = await gateway.records.replaying(
        principal_of(request),
        path_id(request, "session_id"),
        speed=read_speed(query.speed),
        longest_pause=query.pause,
        first=query.from_,
        last=query.to,
        cursor=read_cursor(request, 0),
    )
    if place.exhausted:
        return Response(status_code=204, headers=HEADERS)
    return EventStream(
        request,
        partial(gateway.records.replay, place),
        telemetry_of(request).metrics.streams.opened("replay", head=place.until),
        opening=encode_open(place.session_id, place.after, place.until, None, None),
        session_id=place.session_id,
        from_seq=place.after,
    )


async def export(request: Request) -> Response:
    """The whole session as a file, one JSON object a line, that can be imported; 409 while a turn runs."""
    gateway, session_id = gateway_of(request), path_id(request, "session_id")
    exporting = await gateway.records.exporting(principal_of(request), session_id)
    return Download(
        _lines(gateway, exporting),
        name=f"{session_id}.jsonl",
        media_type=NDJSON,
        send_timeout=settings_of(request).send_timeout,
    )


async def import_(request: Request) -> Response:
    """Makes a session of an exported file, with its own id. A file that is damaged is refused with the line
    and the reason, and nothing of it is kept."""
    row = await gateway_of(request).records.import_(principal_of(request), upload(request))
    request.app.state.indexer.nudge(row.id)
    return json_reply(Session.of(row), 201, headers={"location": f"/api/sessions/{row.id}"})


async def archive(request: Request) -> Response:
    """Moves the session's events and messages to its archive. All routes answer as before; `moved` is
    false where there was nothing to move. 409 while a turn runs."""
    session_id = path_id(request, "session_id")
    row = await gateway_of(request).records.archive(principal_of(request), session_id)
    return json_reply(_archived(row) if row is not None else Archived(session_id=session_id, moved=False))


async def _lines(gateway: Gateway, exporting: Export) -> AsyncGenerator[bytes]:
    try:
        async with aclosing(gateway.records.export(exporting)) as chunks:
            async for chunk in chunks:
                yield chunk
    except GatewayError as error:
        log.warning("export_failed", session_id=exporting.moment.session.id, reason=error.message)
        yield trouble_line(error)


def _archived(row: ArchiveRow) -> Archived:
    return Archived(
        session_id=row.session_id,
        moved=True,
        number=row.number,
        events=_moved(row.from_seq, row.to_seq),
        messages=_moved(row.from_position, row.to_position),
        created_at=row.created_at,
    )


def _moved(first: int, last: int) -> Moved | None:
    return Moved(first=first, last=last) if first <= last else None
