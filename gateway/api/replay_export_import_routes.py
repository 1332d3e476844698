"""Whole sessions: replayed, exported, imported, archived."""

import asyncio
from contextlib import aclosing
from dataclasses import asdict
from functools import partial
from typing import Literal

from pydantic import Field
from starlette.responses import Response

from gateway.api import shared_sessions
from gateway.api.session_bodies import CURSOR, Session
from gateway.errors import GatewayError
from gateway.history.replay import MAX_PAUSE, SPEED, read_speed
from gateway.http.downloads import Download, with_trouble
from gateway.http.endpoint import STREAM, Cost, endpoint
from gateway.http.json_types import Query, Reply, json_reply
from gateway.http.requests import NDJSON, ApiRequest
from gateway.http.stream import HEADERS, EventStream
from gateway.session_pages.reader_page import ReaderPage, load_reader
from gateway.sse_frames import encode_open
from gateway.storage.archives import ArchiveRow
from gateway.storage.branches import MAX_BRANCHES

MAX_REASONS = 100


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
    branch: int | None = Field(
        None, ge=0, lt=MAX_BRANCHES, description="Only the turns of that branch; absent: all."
    )
    pause: float = Field(MAX_PAUSE, ge=0, le=3600, description="Longest wait between two events, in seconds.")


class ExportQuery(Query):
    format: Literal["jsonl", "markdown", "html"] = Field(
        "jsonl", description="jsonl: all of it, to be imported. The others: to be read by people."
    )
    language: Literal["en", "zh-Hans", "zh-Hant"] | None = Field(
        None,
        description="Of the words around what was said; absent: that of the reader's browser.",
    )


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


class RefusedSession(Reply):
    number: int = Field(description="Its place in the file, from 1.")
    code: str
    message: str


class ImportedSessions(Reply):
    imported: int
    refused: int
    reasons: list[RefusedSession] = Field(description="Why: of the first 100 that were refused.")


@endpoint(
    "GET",
    "/api/sessions/{session_id}/replay",
    "event.replay",
    {200: (STREAM,), 204: (None,)},
    query=ReplayQuery,
    refusals=(404,),
    headers=CURSOR,
)
async def replay(request: ApiRequest) -> Response:
    """The session's events as SSE once more, at their own pace or another: the frames are those that were
    streamed live, also when the session was archived since."""
    query = await request.read_query(ReplayQuery)
    gateway = request.gateway
    place = await gateway.replays.replaying(
        request.principal,
        request.path_id("session_id"),
        speed=read_speed(query.speed),
        max_pause=query.pause,
        first=query.from_,
        last=query.to,
        cursor=request.read_cursor(0),
        branch=query.branch,
    )
    if place.exhausted:
        return Response(status_code=204, headers=HEADERS)
    return EventStream(
        request,
        partial(gateway.replays.replay, place),
        request.telemetry.metrics.streams.opened("replay", head=place.until),
        opening=encode_open(place.session_id, place.after, place.until, None, None),
        session_id=place.session_id,
        from_seq=place.after,
    )


@endpoint(
    "GET",
    "/api/sessions/{session_id}/export",
    "session.export",
    {200: (NDJSON, "text/markdown", "text/html")},
    query=ExportQuery,
    refusals=(404, 409),
    cost=Cost("copy"),
)
async def export(request: ApiRequest) -> Response:
    """The whole session as a file, one JSON object a line, that can be imported; 409 while a turn runs. As
    `markdown` or `html` it is a page to share, of the active branch: what was said, with tools and sources
    folded, and nothing that is remembered of you. `html` is 404 where the page is not built."""
    gateway, session_id = request.gateway, request.path_id("session_id")
    query = await request.read_query(ExportQuery)
    if query.format != "jsonl":
        session, turns = await gateway.replays.shared_turns(request.principal, session_id)
        request.reads_of(session.owner, session_id)
        about = asdict(session)
        if query.format == "html":
            page = ReaderPage(await asyncio.to_thread(load_reader), about, language=query.language)
            content = shared_sessions.web_page(page, turns, gateway.artifacts, request.principal)
        else:
            content = shared_sessions.markdown(about, turns)
        name, kind = ("html", "text/html") if query.format == "html" else ("md", "text/markdown")
        return Download(
            content,
            name=f"{session_id}.{name}",
            media_type=f"{kind}; charset=utf-8",
            send_timeout=request.settings.send_timeout,
        )
    exporting = await gateway.records.exporting(request.principal, session_id)
    request.reads_of(exporting.owner, session_id)
    return Download(
        with_trouble(gateway.records.export(exporting), "export_failed", session_id=session_id),
        name=f"{session_id}.jsonl",
        media_type=NDJSON,
        send_timeout=request.settings.send_timeout,
    )


@endpoint(
    "POST",
    "/api/sessions/import",
    "session.import",
    {201: (Session,)},
    upload=NDJSON,
    refusals=(409, 413, 429, 503),
    cost=Cost("import"),
)
async def import_(request: ApiRequest) -> Response:
    """Makes a session of an exported file, which is found by the id in the file too. A file that is damaged
    is refused with the line and the reason, and nothing of it is kept."""
    row = await request.gateway.records.import_(request.principal, request.read_import())
    request.app.state.indexer.nudge(row.id)
    return json_reply(Session.from_row(row), 201, headers={"location": f"/api/sessions/{row.id}"})


@endpoint("GET", "/api/export", "session.export_all", {200: (NDJSON,)}, cost=Cost("copy"))
async def export_all(request: ApiRequest) -> Response:
    """All your sessions in one file, archived ones too: the export of each, one after another, between a
    line of kind `sessions` and one of kind `sessions_end`, whose `left_out` names those in which a turn runs
    or waits."""
    return Download(
        with_trouble(request.gateway.records.export_all(request.principal), "export_failed"),
        name="sessions.jsonl",
        media_type=NDJSON,
        send_timeout=request.settings.send_timeout,
    )


@endpoint(
    "POST",
    "/api/import",
    "session.import_all",
    {200: (ImportedSessions,)},
    upload=NDJSON,
    refusals=(413, 503),
    cost=Cost("import"),
)
async def import_all(request: ApiRequest) -> Response:
    """Makes the sessions of a file with all of them, each found by the id that it has there. One that is
    damaged, or there already, is refused with the reason; the others come in."""
    imported, refused, reasons = 0, 0, list[RefusedSession]()
    async with aclosing(
        request.gateway.records.import_all(request.principal, request.read_import())
    ) as outcomes:
        async for each in outcomes:
            if not isinstance(each, GatewayError):
                imported += 1
                request.app.state.indexer.nudge(each.id)
                continue
            refused += 1
            if refused <= MAX_REASONS:
                number = imported + refused
                reasons.append(RefusedSession(number=number, code=each.code, message=each.message))
    return json_reply(ImportedSessions(imported=imported, refused=refused, reasons=reasons))


@endpoint(
    "POST",
    "/api/sessions/{session_id}/archive",
    "session.archive",
    {200: (Archived,)},
    refusals=(404, 409, 503),
    cost=Cost("copy"),
)
async def archive(request: ApiRequest) -> Response:
    """Moves the session's events and messages to its archive. All routes answer as before; `moved` is
    false where there was nothing to move. 409 while a turn runs."""
    session_id = request.path_id("session_id")
    row = await request.gateway.records.archive(request.principal, session_id)
    return json_reply(_archived(row) if row is not None else Archived(session_id=session_id, moved=False))


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
