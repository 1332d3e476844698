"""A message in: start a turn, follow it, stop it."""

from starlette.responses import Response

from gateway.api.session_bodies import CURSOR, CursorQuery
from gateway.api.turn_bodies import (
    AcceptedTurn,
    ChatBody,
    FeedbackBody,
    LimitReply,
    ModelUsageReply,
    RegenerateBody,
    ReleaseBody,
    SideUsageReply,
    StoredSessions,
    Turn,
    TurnOptions,
    TurnPage,
    TurnsQuery,
    UsageQuery,
    UsageReply,
)
from gateway.http.cursors import decode_cursor, encode_cursor
from gateway.http.endpoint import STREAM, Cost, endpoint
from gateway.http.json_types import json_reply
from gateway.http.requests import ApiRequest
from gateway.http.stream import stream_response
from gateway.ids import DAY_MS, now_ms
from gateway.messages import ToolSpec
from gateway.service.abandoned_turns import GRACE
from gateway.storage.turns import Accepted
from gateway.turn.request import TurnRequest


@endpoint(
    "POST",
    "/api/chat",
    "turn.start",
    {200: (STREAM,), 204: (None,)},
    ChatBody,
    query=CursorQuery,
    refusals=(404, 409, 413, 429, 503),
    headers=CURSOR,
)
async def chat(request: ApiRequest) -> Response:
    """Starts a turn and streams it; makes the session if there is none. Repeated with the same
    client_message_id, it streams the same turn, from the cursor on."""
    cursor = await _read_cursor(request)
    body = await request.read_body(ChatBody)
    accepted = await _start(
        request, body, body.session_id, create_session=True, project_id=body.project_id, role_id=body.role_id
    )
    return _stream(request, accepted, cursor, body)


@endpoint(
    "POST",
    "/api/sessions/{session_id}/turns",
    "turn.start",
    {200: (STREAM, AcceptedTurn), 202: (AcceptedTurn,), 204: (None,)},
    TurnOptions,
    query=CursorQuery,
    refusals=(404, 409, 413, 429, 503),
    headers=CURSOR,
)
async def start(request: ApiRequest) -> Response:
    """Starts a turn in a session. `Accept: text/event-stream` streams it, otherwise 202 has its address.
    Repeated with the same client_message_id, it is the same turn, and streamed from the cursor on."""
    cursor = await _read_cursor(request)
    body = await request.read_body(TurnOptions)
    accepted = await _start(request, body, request.path_id("session_id"), create_session=False)
    return _reply(request, accepted, cursor, body)


@endpoint(
    "POST",
    "/api/sessions/{session_id}/turns/{turn_id}/regenerate",
    "turn.regenerate",
    {200: (STREAM, AcceptedTurn), 202: (AcceptedTurn,), 204: (None,)},
    RegenerateBody,
    query=CursorQuery,
    refusals=(404, 409, 413, 429, 503),
    headers=CURSOR,
)
async def regenerate(request: ApiRequest) -> Response:
    """Asks the message of a turn anew, with its files, in a branch of its own, which is active from then on;
    otherwise as `POST …/turns`."""
    cursor = await _read_cursor(request)
    body = await request.read_body(RegenerateBody)
    accepted = await request.gateway.turns.regenerate(
        request.principal,
        request.path_id("session_id"),
        request.path_id("turn_id"),
        client_message_id=body.client_message_id,
        on_conflict=body.on_conflict,
        model=body.model,
    )
    return _reply(request, _spanned(request, accepted), cursor, body)


@endpoint("GET", "/api/sessions/{session_id}/turns/{turn_id}", "turn.read", {200: (Turn,)}, refusals=(404,))
async def read(request: ApiRequest) -> Response:
    """One turn: its state, where its events are and, once it is done, what it used."""
    return json_reply(
        Turn.of(await request.gateway.turns.get(request.principal, *_path_ids(request)), request.principal)
    )


@endpoint("GET", "/api/turns/{turn_id}", "turn.read", {200: (Turn,)}, refusals=(404,))
async def read_any(request: ApiRequest) -> Response:
    """One turn by its id alone, as with its session."""
    return await read(request)


@endpoint("GET", "/api/turns", "turn.list", {200: (TurnPage,)}, query=TurnsQuery)
async def find(request: ApiRequest) -> Response:
    """Your turns of all sessions, the newest first."""
    query = await request.read_query(TurnsQuery)
    before = decode_cursor(query.before) if query.before is not None else None
    rows = await request.gateway.turns.list(
        request.principal, query.status, limit=query.limit + 1, before=before
    )
    page = rows[: query.limit]
    more = encode_cursor(page[-1].created_at, page[-1].id) if len(rows) > query.limit else None
    return json_reply(TurnPage(turns=[Turn.of(row, request.principal) for row in page], next=more))


@endpoint("GET", "/api/usage", "usage.read", {200: (UsageReply,)}, query=UsageQuery, cost=Cost("search"))
async def usage(request: ApiRequest) -> Response:
    """What your turns used, by model, what was done for you beside them, as a title or a memory, and how the
    limits stand that hold for you, in which both count. Turns are those of all sessions that are over."""
    since = now_ms() - (await request.read_query(UsageQuery)).days * DAY_MS
    gateway, who = request.gateway, request.principal
    models = await gateway.turns.usage(who, since)
    standings = await gateway.limits.standings(who)
    beside = await gateway.limits.side_usage(who, since)
    return json_reply(
        UsageReply(
            since=since,
            models=[ModelUsageReply.from_row(row) for row in models],
            beside=[SideUsageReply.of(row) for row in beside],
            sessions=StoredSessions(
                used=await gateway.sessions.size_of_all(who), quota=request.settings.session_quota
            ),
            limits=[LimitReply.of(standing) for standing in standings],
        )
    )


@endpoint(
    "POST",
    "/api/sessions/{session_id}/turns/{turn_id}/cancel",
    "turn.cancel",
    {200: (Turn,), 202: (Turn,)},
    refusals=(404,),
)
async def cancel(request: ApiRequest) -> Response:
    """Stops a turn: its model call and its tools are cancelled, what was written is kept, and `done`
    follows with status cancelled. Stopping a turn that is over changes nothing."""
    turn = await request.gateway.turns.cancel(request.principal, *_path_ids(request))
    return json_reply(Turn.of(turn, request.principal), 200 if turn.status == "done" else 202)


@endpoint("POST", "/api/turns/{turn_id}/cancel", "turn.cancel", {200: (Turn,), 202: (Turn,)}, refusals=(404,))
async def cancel_any(request: ApiRequest) -> Response:
    """Stops a turn by its id alone, as with its session."""
    return await cancel(request)


@endpoint(
    "POST",
    "/api/sessions/{session_id}/turns/{turn_id}/release",
    "turn.release",
    {200: (Turn,), 202: (Turn,)},
    ReleaseBody,
    refusals=(404, 413),
)
async def release(request: ApiRequest) -> Response:
    """Stops a turn when nobody reads it for a while: for clients whose Stop is only a closed connection. A
    turn that is read, or waits for a decision then, goes on."""
    body = await request.read_body(ReleaseBody)
    turn = await request.gateway.turns.release(request.principal, *_path_ids(request), body.grace_seconds)
    return json_reply(Turn.of(turn, request.principal), 200 if turn.status == "done" else 202)


@endpoint(
    "POST",
    "/api/sessions/{session_id}/turns/{turn_id}/feedback",
    "turn.rate",
    {200: (Turn,)},
    FeedbackBody,
    refusals=(404, 409, 413),
)
async def rate(request: ApiRequest) -> Response:
    """Says what you think of a turn that is over; the last word holds. The same again changes nothing."""
    body = await request.read_body(FeedbackBody)
    session_id, turn_id = request.path_id("session_id"), request.path_id("turn_id")
    request.span.follows(turn_id)
    turn = await request.gateway.turns.rate(
        request.principal, session_id, turn_id, body.rating, reason=body.reason, of=body.of
    )
    return json_reply(Turn.of(turn, request.principal))


async def _start(
    request: ApiRequest,
    body: TurnOptions,
    session_id: str | None,
    *,
    create_session: bool,
    project_id: str | None = None,
    role_id: str | None = None,
) -> Accepted:
    asked = TurnRequest(
        message=body.message,
        session_id=session_id,
        create_session=create_session,
        client_message_id=body.client_message_id,
        on_conflict=body.on_conflict,
        model=body.model,
        project_id=project_id,
        role_id=role_id,
        attachments=[each.given() for each in body.attachments],
        parent_turn_id=body.parent_turn_id,
        instructions=body.instructions,
        tools=[ToolSpec(each.name, each.description, each.input_schema) for each in body.tools],
    )
    return _spanned(request, await request.gateway.turns.start(request.principal, asked))


def _spanned(request: ApiRequest, accepted: Accepted) -> Accepted:
    span = request.span
    if accepted.repeated:
        span.follows(accepted.turn.id)
    else:
        span.starts(accepted.turn.id)
    return accepted


def _reply(request: ApiRequest, accepted: Accepted, cursor: int, body: RegenerateBody) -> Response:
    if request.wants("text/event-stream"):
        return _stream(request, accepted, cursor, body)
    turn = accepted.turn
    seq = turn.first_seq - 1 if turn.first_seq else accepted.head
    reply = AcceptedTurn(turn_id=turn.id, session_id=turn.session_id, status=turn.status, seq=seq)
    return json_reply(reply, 200 if accepted.repeated else 202, headers={"location": _location(accepted)})


def _path_ids(request: ApiRequest) -> tuple[str | None, str]:
    """The session of the path, None where a turn is named by its id alone, and the turn."""
    session_id = request.path_id("session_id") if "session_id" in request.path_params else None
    return session_id, request.path_id("turn_id")


async def _read_cursor(request: ApiRequest) -> int:
    return request.read_cursor((await request.read_query(CursorQuery)).after)


def _stream(request: ApiRequest, accepted: Accepted, cursor: int, body: RegenerateBody) -> Response:
    turn = accepted.turn
    release_after = GRACE if body.on_disconnect == "release" else None
    place = request.gateway.streams.following_turn(accepted, after=cursor, release_after=release_after)
    headers = {"location": _location(accepted), "x-session-id": turn.session_id, "x-turn-id": turn.id}
    return stream_response(
        request,
        place,
        kind="resume" if accepted.repeated else "live",
        open_turn=turn.id if turn.status != "done" else None,
        accepted_at=None if accepted.repeated else turn.created_at,
        headers=headers,
    )


def _location(accepted: Accepted) -> str:
    turn = accepted.turn
    return f"/api/sessions/{turn.session_id}/turns/{turn.id}"
