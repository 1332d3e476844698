"""Sessions, what was said in them, and what happened in them."""

from collections.abc import Mapping
from types import MappingProxyType

from starlette.responses import Response

from gateway.api.long_replies import messages_reply
from gateway.api.session_bodies import (
    CURSOR,
    BranchQuery,
    EventPage,
    EventsQuery,
    FoundReply,
    ListedSession,
    Messages,
    Session,
    SessionBody,
    SessionChanges,
    SessionDetails,
    SessionPage,
    SessionsQuery,
    SnapshotReply,
)
from gateway.api.turn_bodies import Turn
from gateway.errors import InvalidRequest
from gateway.events.contract import event_types
from gateway.history.summaries.summary import render
from gateway.http.conditional_requests import unless_known
from gateway.http.cursors import decode_cursor, encode_cursor
from gateway.http.endpoint import STREAM, Cost, endpoint
from gateway.http.json_types import json_body, json_reply
from gateway.http.requests import ApiRequest
from gateway.http.stream import stream_response
from gateway.service.follower import StreamRange
from gateway.storage.retention import SessionDays
from gateway.storage.sessions import MatchedText

KNOWN = MappingProxyType({"If-None-Match": "ETags that are known: 304 when the answer has one of them."})
ARCHIVED = {"false": False, "true": True, "all": None}
TYPES = frozenset(event_types())


@endpoint(
    "POST", "/api/sessions", "session.create", {201: (Session,)}, SessionBody, refusals=(404, 409, 413, 503)
)
async def create(request: ApiRequest) -> Response:
    """Makes a session, under a name of yours if you like, and with a history that you bring along."""
    body = await request.read_body(SessionBody)
    place = {"project_id": body.project_id, "role_id": body.role_id, "instructions": body.instructions}
    if body.messages:
        messages = [each.message() for each in body.messages]
        row = await request.gateway.sessions.seed(request.principal, body.id, body.title, messages, **place)
    else:
        row = await request.gateway.sessions.create(
            request.principal, body.id, body.title, is_temporary=body.temporary, **place
        )
    made = Session.seen_by(request.principal, row)
    return json_reply(made, 201, headers={"location": f"/api/sessions/{row.id}"})


@endpoint(
    "GET",
    "/api/sessions",
    "session.list",
    {200: (SessionPage,), 304: (None,)},
    query=SessionsQuery,
    headers=KNOWN,
    cost=Cost("search", only_with=("q",)),
)
async def find(request: ApiRequest) -> Response:
    """Your sessions, the last used first, without the archived ones; `q` searches what was said, in English
    and Chinese, and tells where. To see what changes, ask again with the ETag: 304 when nothing has."""
    query = await request.read_query(SessionsQuery)
    before = decode_cursor(query.before) if query.before is not None else None
    rows = await request.gateway.sessions.list(
        request.principal,
        limit=query.limit + 1,
        before=before,
        query=query.q,
        pinned=query.pinned,
        archived=ARCHIVED[query.archived],
        order=query.order,
        project_id=query.project_id,
        whose=query.whose,
        found_in=query.found_in,
        used=(query.used_after, query.used_before),
    )
    page = rows[: query.limit]
    more = None
    if len(rows) > query.limit:
        last = page[-1]
        more = encode_cursor(last.created_at if query.order == "created" else last.updated_at, last.id)
    found: Mapping[str, MatchedText] = {}
    if query.q is not None:
        found = await request.gateway.sessions.where_found(query.q, page)
    standing = await request.gateway.sessions.standing(request.principal, page)
    listed = [
        ListedSession.seen_by(
            request.principal,
            row,
            standing.get(row.id),
            found=FoundReply.of(found[row.id]) if row.id in found else None,
        )
        for row in page
    ]
    reply = SessionPage(sessions=listed, next=more)
    return unless_known(request.headers, json_body(reply))


@endpoint("GET", "/api/sessions/{session_id}", "session.read", {200: (SessionDetails,)}, refusals=(404,))
async def read(request: ApiRequest) -> Response:
    """One session, and what became of its history."""
    gateway, who = request.gateway, request.principal
    row = await gateway.sessions.get(who, request.path_id("session_id"))
    versions = await gateway.history.versions(who, row.id)
    chain = versions.chain
    return json_reply(
        SessionDetails.seen_by(
            who,
            row,
            (await gateway.sessions.standing(who, [row])).get(row.id),
            compressed_context=render(chain[-1].summary, chain[-1]) if chain else None,
            compressed_rounds=len(chain),
            instructions=await gateway.history.instructions(who, row.id),
            carried_context=await gateway.history.carried(who, row.id),
            last_compressed_at=versions.rows[-1].created_at if versions.rows else None,
            versions=[version.version for version in versions.rows],
        )
    )


@endpoint(
    "PATCH",
    "/api/sessions/{session_id}",
    "session.change",
    {200: (Session,)},
    SessionChanges,
    refusals=(404, 409, 413),
)
async def change(request: ApiRequest) -> Response:
    """Gives a session another title or retention, pins or archives it, moves it into a project, shares it
    with the members, or takes that back."""
    body = await request.read_body(SessionChanges)
    given = body.retention
    row = await request.gateway.sessions.change(
        request.principal,
        request.path_id("session_id"),
        title=body.title,
        pinned=body.pinned,
        archived=body.archived,
        project_id=body.project_id,
        shared=body.shared,
        retention=SessionDays(given.archive_days, given.delete_days) if given is not None else None,
        instructions=body.instructions,
    )
    standing = await request.gateway.sessions.standing(request.principal, [row])
    return json_reply(Session.seen_by(request.principal, row, standing.get(row.id)))


@endpoint("DELETE", "/api/sessions/{session_id}", "session.delete", {204: (None,)}, refusals=(404, 409))
async def delete(request: ApiRequest) -> Response:
    """Removes a session with all that belongs to it; 409 while a turn runs. Nobody finds any of it from then
    on; its id is free again at once, or of a long session some seconds later."""
    await request.gateway.sessions.delete(request.principal, request.path_id("session_id"))
    return Response(status_code=204)


@endpoint(
    "GET",
    "/api/sessions/{session_id}/messages",
    "message.list",
    {200: (Messages,)},
    query=BranchQuery,
    refusals=(404,),
)
async def messages(request: ApiRequest) -> Response:
    """What the model sees of the session now, or would in another branch. A long answer comes in pieces, as
    it is read: one that breaks off is not whole."""
    history, principal = request.gateway.history, request.principal
    branch = (await request.read_query(BranchQuery)).branch
    stored = await history.messages(principal, request.path_id("session_id"), branch)
    return await messages_reply(request, Messages(messages=[]), stored)


@endpoint(
    "GET",
    "/api/sessions/{session_id}/snapshot",
    "session.read_snapshot",
    {200: (SnapshotReply,)},
    refusals=(404,),
)
async def snapshot(request: ApiRequest) -> Response:
    """Messages, the open turn, and the cursor from which to follow so that nothing is missed or seen twice. A
    long answer comes in pieces, as it is read: one that breaks off is not whole."""
    shot = await request.gateway.sessions.snapshot(request.principal, request.path_id("session_id"))
    open_turn = Turn.of(shot.open_turn, request.principal) if shot.open_turn is not None else None
    reply = SnapshotReply(messages=[], open_turn=open_turn, as_of_seq=shot.as_of_seq)
    return await messages_reply(request, reply, shot.messages)


@endpoint(
    "GET",
    "/api/sessions/{session_id}/events",
    "event.read",
    {200: (STREAM, EventPage), 204: (None,)},
    query=EventsQuery,
    refusals=(404,),
    headers=CURSOR,
)
async def events(request: ApiRequest) -> Response:
    """The session's events after a cursor, as SSE, then live. With `Accept: application/json` a page of
    them."""
    query = await request.read_query(EventsQuery)
    gateway, who = request.gateway, request.principal
    session_id = request.path_id("session_id")
    cursor = request.read_cursor(query.after)
    is_page = request.wants("application/json")
    if query.before is not None and not is_page:
        raise InvalidRequest("before: goes with Accept: application/json.")
    if query.branch is not None and not is_page and query.follow == "1":
        raise InvalidRequest("branch: goes with Accept: application/json, or with follow=0.")
    place = await gateway.streams.following(
        who,
        session_id,
        after=cursor,
        turn_id=query.turn_id,
        types=_read_types(query.types),
        live=query.follow == "1" and not is_page,
        branch=query.branch,
    )
    if is_page:
        return await _page(request, place, query.limit, query.before)
    running = await gateway.turns.open_turn(session_id)
    kind = "replay" if not place.live else "resume" if cursor else "live"
    return stream_response(request, place, kind=kind, open_turn=running.id if running is not None else None)


async def _page(request: ApiRequest, place: StreamRange, limit: int, before: int | None) -> Response:
    following, previous = None, None
    if before is None:
        page, following = await request.gateway.streams.page(place, limit)
    else:
        page, previous = await request.gateway.streams.page_before(place, before, limit)
    events = [event.load() for event in page]
    return json_reply(EventPage(events=events, head=place.head, next=following, previous=previous))


def _read_types(text: str | None) -> frozenset[str]:
    if text is None:
        return frozenset()
    types = frozenset(part.strip() for part in text.split(","))
    if unknown := types - TYPES:
        raise InvalidRequest(
            f"Unknown event types: {', '.join(sorted(unknown))[:200]}.", details={"types": sorted(TYPES)}
        )
    return types
