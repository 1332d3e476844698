"""Responses, as OpenAI's SDKs ask for them: made, read again or from a place on, and stopped."""

from contextlib import suppress
from dataclasses import replace

from pydantic import ValidationError
from starlette.responses import Response

from gateway.adapters.client_conversation import refuse
from gateway.adapters.conversation_turn import HEADERS, AskedTurn, ask, turn_of_results, worked
from gateway.adapters.foreign_ids import call_name, call_of, session_of
from gateway.adapters.models_routes import JSON, check_model
from gateway.adapters.openai.openai_frames import NO_RETRY, STATUSES, error_body
from gateway.adapters.openai.responses_frames import ResponseEvents
from gateway.adapters.openai.responses_reader import ResponseReader, places_waited, read_so_far
from gateway.adapters.openai.responses_requests import (
    RESPONSES,
    Input,
    ResponseBody,
    RetrieveQuery,
    check_possible,
    client_tools_of,
    conversation_id,
    input_of,
    read_response_id,
    wanted_sampling,
)
from gateway.adapters.session_lookup import Naming
from gateway.adapters.turn_response import read_whole, stream_response
from gateway.errors import InvalidRequest, NotFound
from gateway.http.endpoint import STREAM, endpoint
from gateway.http.requests import ApiRequest
from gateway.service.abandoned_turns import GRACE
from gateway.service.follower import StreamRange
from gateway.storage.turns import TurnRow


@endpoint(
    "POST",
    "/v1/responses",
    "turn.start",
    {200: (JSON, STREAM)},
    ResponseBody,
    refusals=(404, 409, 413, 429, 502, 503),
    problem=JSON,
    headers=HEADERS,
    carries=("approval.decide", "tool_result.give"),
)
async def create(request: ApiRequest) -> Response:
    """The response to the newest message; with results of the client's tools, or decisions, to what comes
    after them."""
    body = await request.read_body(ResponseBody, "adapter_body_size")
    check_possible(body)
    check_model(request, body.model)
    given = await worked(request, lambda: input_of(body))
    asking, behind = await _ask(request, body, given), None
    if asking is None:
        asking, behind = await _go_on(request, given)
    place = asking.place
    if body.background:
        place = replace(place, release_after=None)
        if not body.stream:
            return await _as_of_now(request, place, behind)
    if body.stream:
        return _stream(request, place, behind, accepted_at=asking.accepted_at)
    return await _whole(request, place, behind)


@endpoint(
    "GET",
    "/v1/responses/{response_id}",
    "turn.read",
    {200: (JSON, STREAM)},
    query=RetrieveQuery,
    refusals=(404,),
    problem=JSON,
)
async def retrieve(request: ApiRequest) -> Response:
    """A response as it is now, or its events."""
    try:
        query = RetrieveQuery.model_validate(dict(request.query_params))
    except ValidationError:
        raise InvalidRequest(
            "stream must be true or false, starting_after the sequence_number of an event."
        ) from None
    place, behind = await _place(request)
    if not query.stream:
        return await _as_of_now(request, place, behind)
    return _stream(request, place, behind, after=query.starting_after)


@endpoint(
    "POST",
    "/v1/responses/{response_id}/cancel",
    "turn.cancel",
    {200: (JSON,)},
    refusals=(404,),
    problem=JSON,
    carries=("turn.read",),
)
async def cancel(request: ApiRequest) -> Response:
    """Stops the turn of a response, and answers with what there is of it then."""
    place, behind = await _place(request)
    if _turn(place).status == "done":
        request.allow("turn.read")  # nothing of it is stopped any more
    await request.gateway.turns.cancel(request.principal, place.session_id, _turn(place).id)
    events = _events(place, behind)
    await read_whole(request, place, ResponseReader(events, place.head, behind))
    return _json(place, events)


async def _ask(request: ApiRequest, body: ResponseBody, given: Input) -> AskedTurn | None:
    """None where there is nothing new to be asked."""
    if given.conversation.question is None:
        return None
    after = await _named(request, body.previous_response_id)
    if given.after is not None and after is None:
        with suppress(NotFound):
            after = await request.gateway.turns.get(request.principal, None, given.after)
    conversation = conversation_id(body)
    naming = Naming(await session_of(request, conversation, RESPONSES.prefix)) if conversation else None
    tools = client_tools_of(body)
    return await ask(
        request,
        given.conversation,
        model=body.model,
        tools=tools,
        naming=naming,
        after=after,
        sampling=wanted_sampling(body),
    )


async def _named(request: ApiRequest, name: str | None) -> TurnRow | None:
    if name is None:
        return None
    if (found := await _found(request, name)) is not None:
        return found[0]
    raise InvalidRequest(
        f"Previous response with id {name[:100]!r} not found.",
        code="previous_response_not_found",
        details={"param": "previous_response_id"},
    )


async def _go_on(request: ApiRequest, given: Input) -> tuple[AskedTurn, int]:
    """Hands results and decisions to the turn that waits for all of them. Returns it with the event after
    which the answer begins."""
    gateway, who = request.gateway, request.principal
    turn = await turn_of_results(request, given.conversation)
    results = {call_of(each.call_id): each for each in given.conversation.results}
    place = await gateway.streams.following(who, turn.session_id, turn_id=turn.id)
    waited = await places_waited(request, place)
    behind = next((seq for seq in reversed(waited) if not waited[seq].isdisjoint(results)), None)
    if behind is None:
        refuse("input", "None of these calls was waited for.")
    if missing := waited[behind] - results.keys():
        names = ", ".join(call_name(turn.id, each) for each in sorted(missing))
        refuse("input", f"What a response asks for has to come together. There is nothing for {names}.")
    for call_id in waited[behind]:
        result = results[call_id]
        decision = given.decisions.get(result.call_id)
        request.allow("tool_result.give" if decision is None else "approval.decide")
        if decision is None:
            await gateway.client_results.give(who, turn.session_id, turn.id, call_id, result.text)
            continue
        verdict = "approved" if decision.is_approved else "denied"
        reason = None if decision.is_approved else decision.reason
        await gateway.approvals.decide(who, turn.session_id, turn.id, call_id, verdict, reason=reason)
    return AskedTurn(replace(place, release_after=GRACE)), behind


async def _place(request: ApiRequest) -> tuple[StreamRange, int | None]:
    """The turn of the response that the path names, and the event after which the response begins. Raises
    errors.NotFound."""
    name = request.path_text("response_id")
    unknown = NotFound(f"Response with id {name[:100]!r} not found.", code="response_not_found")
    if (found := await _found(request, name)) is None:
        raise unknown
    turn, behind = found
    place = await request.gateway.streams.following(request.principal, turn.session_id, turn_id=turn.id)
    if behind is not None and behind not in await places_waited(request, place):
        raise unknown
    return place, behind


async def _found(request: ApiRequest, name: str) -> tuple[TurnRow, int | None] | None:
    """The turn of a response, and the event after which it begins; None for an unknown one."""
    found = read_response_id(name)
    with suppress(NotFound):
        if found is not None:
            return await request.gateway.turns.get(request.principal, None, found[0]), found[1]
    return None


def _stream(
    request: ApiRequest,
    place: StreamRange,
    behind: int | None,
    *,
    after: int = -1,
    accepted_at: int | None = None,
) -> Response:
    events = _events(place, behind, after)
    request.span.follows(_turn(place).id)
    reader = ResponseReader(events, place.head, behind)
    named = {"x-turn-id": _turn(place).id}
    return stream_response(request, place, reader, events.trouble, accepted_at=accepted_at, headers=named)


async def _whole(request: ApiRequest, place: StreamRange, behind: int | None) -> Response:
    events = _events(place, behind)
    await read_whole(request, place, ResponseReader(events, place.head, behind))
    if events.failure is None:
        return _json(place, events)
    code, message = events.failure
    return Response(error_body(code, message), STATUSES.get(code, 502), _headers(place) | NO_RETRY, JSON)


async def _as_of_now(request: ApiRequest, place: StreamRange, behind: int | None) -> Response:
    events = _events(place, behind)
    await read_so_far(request, place, ResponseReader(events, place.head, behind))
    return _json(place, events)


def _events(place: StreamRange, behind: int | None, after: int = -1) -> ResponseEvents:
    turn = _turn(place)
    created = turn.created_at // 1000
    return ResponseEvents(turn.id, turn.model, created, turn.session_id, behind=behind, after=after)


def _turn(place: StreamRange) -> TurnRow:
    assert place.turn is not None
    return place.turn


def _json(place: StreamRange, events: ResponseEvents) -> Response:
    return Response(events.body(), 200, _headers(place), JSON)


def _headers(place: StreamRange) -> dict[str, str]:
    return {"x-session-id": place.session_id, "x-turn-id": _turn(place).id, "cache-control": "no-store"}
