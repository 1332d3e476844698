"""Sessions, what was said in them, and what happened in them."""

from starlette.responses import Response

from gateway.api.long_replies import messages_reply
from gateway.api.session_bodies import (
    BranchQuery,
    EventPage,
    EventsQuery,
    Messages,
    RenameBody,
    Session,
    SessionBody,
    SessionDetails,
    SessionPage,
    SessionsQuery,
    SnapshotReply,
    Turn,
)
from gateway.errors import InvalidRequest
from gateway.events.contract import event_types
from gateway.history.summaries.summary import render
from gateway.http.cursors import decode_cursor, encode_cursor
from gateway.http.json_types import json_reply
from gateway.http.requests import ApiRequest
from gateway.http.stream import stream_response
from gateway.service.follower import Following

TYPES = frozenset(event_types())


async def create(request: ApiRequest) -> Response:
    """Makes a session, under your own id if you like, and with a history that you bring along."""
    body = await request.read_body(SessionBody)
    place = {"project_id": body.project_id, "role_id": body.role_id}
    if body.messages:
        messages = [each.message() for each in body.messages]
        row = await request.gateway.seed(request.principal, body.id, body.title, messages, **place)
    else:
        row = await request.gateway.create_session(request.principal, body.id, body.title, **place)
    return json_reply(Session.from_row(row), 201, headers={"location": f"/api/sessions/{row.id}"})


async def find(request: ApiRequest) -> Response:
    """Your sessions, the last used first; `q` searches what was said, in English and Chinese."""
    query = request.read_query(SessionsQuery)
    before = decode_cursor(query.before) if query.before is not None else None
    rows = await request.gateway.sessions(
        request.principal, limit=query.limit + 1, before=before, query=query.q
    )
    page = rows[: query.limit]
    more = encode_cursor(page[-1].updated_at, page[-1].id) if len(rows) > query.limit else None
    return json_reply(SessionPage(sessions=[Session.from_row(row) for row in page], next=more))


async def read(request: ApiRequest) -> Response:
    """One session, and what became of its history."""
    gateway, who = request.gateway, request.principal
    row = await gateway.session(who, request.path_id("session_id"))
    versions = await gateway.history.versions(who, row.id)
    chain = versions.chain
    return json_reply(
        SessionDetails.from_row(
            row,
            compressed_context=render(chain[-1].summary, chain[-1]) if chain else None,
            compressed_rounds=len(chain),
            instructions=await gateway.history.instructions(who, row.id),
            carried_context=await gateway.history.carried(who, row.id),
            last_compressed_at=versions.rows[-1].created_at if versions.rows else None,
            versions=[version.version for version in versions.rows],
        )
    )


async def rename(request: ApiRequest) -> Response:
    """Gives a session another title."""
    body = await request.read_body(RenameBody)
    row = await request.gateway.rename_session(request.principal, request.path_id("session_id"), body.title)
    return json_reply(Session.from_row(row))


async def delete(request: ApiRequest) -> Response:
    """Removes a session with all that belongs to it; 409 while a turn runs. Nobody finds any of it from then
    on; its id is free again at once, or of a long session some seconds later."""
    await request.gateway.delete_session(request.principal, request.path_id("session_id"))
    return Response(status_code=204)


async def messages(request: ApiRequest) -> Response:
    """What the model sees of the session now, or would in another branch. A long answer comes in pieces, as
    it is read: one that breaks off is not whole."""
    history, principal = request.gateway.history, request.principal
    branch = request.read_query(BranchQuery).branch
    stored = await history.messages(principal, request.path_id("session_id"), branch)
    return await messages_reply(request, Messages(messages=[]), stored)


async def snapshot(request: ApiRequest) -> Response:
    """Messages, the open turn, and the cursor from which to follow so that nothing is missed or seen twice. A
    long answer comes in pieces, as it is read: one that breaks off is not whole."""
    shot = await request.gateway.snapshot(request.principal, request.path_id("session_id"))
    open_turn = Turn.of(shot.open_turn) if shot.open_turn is not None else None
    reply = SnapshotReply(messages=[], open_turn=open_turn, as_of_seq=shot.as_of_seq)
    return await messages_reply(request, reply, shot.messages)


async def events(request: ApiRequest) -> Response:
    """The session's events after a cursor, as SSE, then live. With `Accept: application/json` a page of
    them."""
    query = request.read_query(EventsQuery)
    gateway, who = request.gateway, request.principal
    session_id = request.path_id("session_id")
    cursor = request.read_cursor(query.after)
    place = await gateway.following(
        who,
        session_id,
        after=cursor,
        turn_id=query.turn_id,
        types=_read_types(query.types),
        live=query.follow == "1" and not request.wants("application/json"),
    )
    if request.wants("application/json"):
        return await _page(request, place, query.limit)
    running = await gateway.open_turn(session_id)
    kind = "replay" if not place.live else "resume" if cursor else "live"
    return stream_response(request, place, kind=kind, open_turn=running.id if running is not None else None)


async def _page(request: ApiRequest, place: Following, limit: int) -> Response:
    page, following = await request.gateway.page(place, limit)
    return json_reply(EventPage(events=[event.load() for event in page], head=place.head, next=following))


def _read_types(text: str | None) -> frozenset[str]:
    if text is None:
        return frozenset()
    types = frozenset(part.strip() for part in text.split(","))
    if unknown := types - TYPES:
        raise InvalidRequest(
            f"Unknown event types: {', '.join(sorted(unknown))[:200]}.", details={"types": sorted(TYPES)}
        )
    return types
