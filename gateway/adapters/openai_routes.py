"""Chat completions and the list of models, as OpenAI's SDKs and the frontends made for them ask for them."""

import asyncio
import re
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TypeVar

import orjson
from starlette.responses import Response

from gateway.adapters.adapter import Adapter
from gateway.adapters.answering import answer_stream, whole_answer
from gateway.adapters.foreign_ids import session_of
from gateway.adapters.history_places import Naming, Place, Places
from gateway.adapters.openai_frames import STATUSES, Completion, CompletionChunks, error_body
from gateway.adapters.openai_requests import (
    Asked,
    ChatCompletionBody,
    Conversation,
    asked_of,
    check_possible,
    conversation_of,
    refuse,
    tools_of,
)
from gateway.errors import GatewayError, InvalidRequest, NotFound
from gateway.http.endpoint import STREAM, Endpoint
from gateway.http.requests import MAX_READ_AT_ONCE, ApiRequest
from gateway.service.follower import Following
from gateway.service.releases import GRACE
from gateway.service.seeding import MAX_SEEDED
from gateway.storage.sessions import BESIDE
from gateway.storage.turns import TurnRow
from gateway.turn.request import TurnRequest

T = TypeVar("T")

_CALL = re.compile(r"[A-Za-z0-9_-]{1,64}:[!-~]{1,256}")
"""The id of a turn, and what the model calls the call."""
CHATS = ("x-chat-id", "x-openwebui-chat-id")
"""Headers that name the chat of a frontend."""
JSON = "application/json"
NO_RETRY = {"x-should-retry": "false"}
"""The SDKs would begin the turn anew: the gateway itself has repeated what may be."""
KINDS: Mapping[int, str] = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}


async def complete(request: ApiRequest) -> Response:
    """The answer to the newest message, in chunks or whole: with results of the client's tools, what comes
    after them."""
    body = await request.read_body(ChatCompletionBody, "adapter_body_size")
    check_possible(body)
    if body.model is not None and body.model not in request.settings.models:
        raise _no_model(body.model)
    said = await _worked(request, lambda: conversation_of(body.messages))
    asked = await _worked(request, lambda: asked_of(said))
    if asked is None:
        turn, known = await _give_results(request, said)
        place = await request.gateway.following(request.principal, turn.session_id, turn_id=turn.id)
        return await _answer(request, body, replace(place, release_after=GRACE), known)
    place, accepted_at = await _ask(request, body, said, asked)
    return await _answer(request, body, place, accepted_at=accepted_at)


async def models(request: ApiRequest) -> Response:
    """The models that a request may choose, in a form that the SDKs of OpenAI and of Anthropic read."""
    found = [_model(name) for name in request.settings.models]
    about = {"has_more": False, "first_id": found[0]["id"], "last_id": found[-1]["id"]}
    return _json({"object": "list", "data": found, **about})


async def model(request: ApiRequest) -> Response:
    """One of them."""
    name = request.path_text("model")
    if name not in request.settings.models:
        raise _no_model(name)
    return _json(_model(name))


async def _ask(
    request: ApiRequest, body: ChatCompletionBody, said: Conversation, new: Asked
) -> tuple[Following, int | None]:
    """The turn of the newest message, from its first event on; and when it was accepted, if it is new."""
    gateway, who = request.gateway, request.principal
    tools = tools_of(body)
    is_retry = request.headers.get("x-stainless-retry-count", "0") != "0"
    naming = _named(request)
    is_beside = bool(_header(request, "x-task"))
    places = Places(
        gateway,
        who,
        Naming() if is_beside else naming,
        body.model or request.settings.model,
        is_retry=is_retry,
    )
    place = await places.find(new.before, new.digest)
    if place.same is not None:
        turn = place.same
        following = await gateway.following(who, turn.session_id, turn_id=turn.id)
        return replace(following, release_after=GRACE), None
    session_id = place.session_id if place.is_known else await _seeded(request, said, place)
    is_beside = is_beside or place.is_beside
    whole = bool(new.before) or naming.is_chat or session_id is None
    running = await gateway.open_turn(session_id) if session_id is not None else None
    gives_way = running is not None and (
        running.status.startswith("awaiting_") or gateway.releases.is_left(running)
    )
    asked = TurnRequest(
        message=new.text,
        session_id=session_id,
        create_session=place.parent is None,
        on_conflict="interrupt" if gives_way else "queue",
        model=body.model,
        role_id=BESIDE if is_beside and session_id is None else None,
        attachments=new.files,
        parent_turn_id=place.parent,
        instructions=said.instructions if said.instructions or whole else None,
        tools=tools,
        mark=place.mark,
    )
    try:
        accepted = await gateway.start(who, asked)
    except GatewayError:
        if session_id is not None and not place.is_known:  # it was made for this alone
            with suppress(GatewayError):
                await gateway.delete_session(who, session_id)
        raise
    request.span.starts(accepted.turn.id)
    return gateway.following_turn(accepted, release_after=GRACE), accepted.turn.created_at


async def _seeded(request: ApiRequest, said: Conversation, place: Place) -> str:
    """A session that begins with what was said elsewhere: the one that is named, if it is not there yet."""
    history = await _worked(request, lambda: [*said.seeds()])
    if len(history) > MAX_SEEDED:
        refuse("messages", f"A history that is not known here may have {MAX_SEEDED} messages.")
    session_id = place.session_id
    if session_id is not None:
        with suppress(NotFound):
            await request.gateway.session(request.principal, session_id)
            session_id = None
    return (await request.gateway.seed(request.principal, session_id, None, history)).id


async def _give_results(request: ApiRequest, said: Conversation) -> tuple[TurnRow, Collection[str]]:
    """Hands the results of the client's tools to their turn."""
    gateway, who = request.gateway, request.principal
    turn_ids = {each.call_id.partition(":")[0] for each in said.results}
    if len(turn_ids) != 1 or any(_CALL.fullmatch(each.call_id) is None for each in said.results):
        refuse("messages", "The results must be of calls of one answer, by the tool_call_id that it has.")
    turn = await gateway.turn(who, None, turn_ids.pop())
    known: list[str] = []
    for each in said.results:
        call_id = each.call_id.partition(":")[2]
        await gateway.client_results.give(who, turn.session_id, turn.id, call_id, each.text)
        known.append(call_id)
    return turn, known


async def _answer(
    request: ApiRequest,
    body: ChatCompletionBody,
    place: Following,
    known: Collection[str] = (),
    *,
    accepted_at: int | None = None,
) -> Response:
    turn = place.turn
    assert turn is not None
    about = turn.id, turn.model, turn.created_at // 1000, f"{request.base_url}#s={turn.session_id}"
    if body.stream:
        with_usage = body.stream_options is not None and body.stream_options.include_usage is True
        chunks = CompletionChunks(*about, with_usage=with_usage)
        return answer_stream(request, place, chunks, decided=known, accepted_at=accepted_at)
    completion = Completion(*about)
    await whole_answer(request, place, completion, decided=known)
    named = {"x-session-id": turn.session_id, "x-turn-id": turn.id, "cache-control": "no-store"}
    if completion.failure is not None:
        code, message = completion.failure
        return Response(error_body(code, message), STATUSES.get(code, 502), named | NO_RETRY, JSON)
    return Response(completion.body(), 200, named, JSON)


async def _worked(request: ApiRequest, work: Callable[[], T]) -> T:
    """Its result; in a thread where the body is large, as others would have to wait."""
    size = request.headers.get("content-length", "")
    is_small = size.isdigit() and int(size) <= MAX_READ_AT_ONCE
    return work() if is_small else await asyncio.to_thread(work)


def _named(request: ApiRequest) -> Naming:
    if session := _header(request, "x-session-id"):
        return Naming(session_of(request.principal, session, "oa"))
    chat = next(filter(None, (_header(request, name) for name in CHATS)), None)
    return Naming(session_of(request.principal, chat, "oa"), is_chat=True) if chat else Naming()


def _header(request: ApiRequest, name: str) -> str | None:
    """None as well where the frontend did not fill in its template."""
    value = request.headers.get(name, "").strip()
    return None if value.casefold() in {"", "null", "none", "undefined"} or "{{" in value else value


def _model(name: str) -> dict[str, object]:
    return {
        "id": name,
        "object": "model",
        "created": 0,
        "owned_by": "gateway",
        "type": "model",
        "display_name": name,
        "created_at": "1970-01-01T00:00:00Z",
    }


def _no_model(name: str) -> GatewayError:
    return NotFound(
        f"The model {name[:100]!r} is not one of this gateway's: see /v1/models.",
        code="model_not_found",
        details={"param": "model"},
    )


def _json(value: object) -> Response:
    return Response(orjson.dumps(value), 200, {"cache-control": "no-store"}, JSON)


def _problem(error: GatewayError, status: int, _request_id: str) -> tuple[bytes, str]:
    kind = KINDS.get(status, "server_error" if status >= 500 else "invalid_request_error")
    param = (error.details or {}).get("param")
    if isinstance(error, InvalidRequest) and param is None and error.message.startswith("tools: "):
        param = "tools"
    code = "invalid_api_key" if status == 401 else error.code
    return error_body(code, error.message, param, kind), JSON


ADAPTER = Adapter(
    "/v1",
    (
        Endpoint(
            "POST",
            "/v1/chat/completions",
            complete,
            {200: (JSON, STREAM)},
            ChatCompletionBody,
            refusals=(404, 409, 413, 429, 502, 503),
            problem=JSON,
            headers={
                "X-Session-Id": "The session; absent: the one whose history the messages are, or a new one.",
                "X-Chat-Id": "The chat of a frontend that sends all of it each time.",
                "X-Task": "What a frontend asks for itself, such as a title: not a part of the chat.",
            },
        ),
        Endpoint("GET", "/v1/models", models, {200: (JSON,)}, problem=JSON),
        Endpoint("GET", "/v1/models/{model:path}", model, {200: (JSON,)}, refusals=(404,), problem=JSON),
    ),
    _problem,
)
