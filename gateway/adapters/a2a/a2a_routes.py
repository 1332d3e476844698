"""The routes of the Agent2Agent protocol: the agent's card, and the calls of JSON-RPC."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import orjson
from starlette.responses import Response

from gateway import __version__
from gateway.adapters.a2a.a2a_frames import (
    SUBMITTED,
    WORKING,
    TaskStream,
    TaskSubscription,
    error_of,
)
from gateway.adapters.a2a.a2a_requests import (
    A2aCall,
    A2aMessage,
    SendBody,
    TaskBody,
    content_of,
    decisions_of,
    params_of,
)
from gateway.adapters.adapter import Adapter
from gateway.adapters.conversation_turn import worked
from gateway.adapters.foreign_ids import id_of
from gateway.adapters.turn_fold import Fold
from gateway.adapters.turn_response import (
    answer_stream,
    decided_calls,
    open_turn,
    stream_response,
    whole_answer,
)
from gateway.auth.authentication import Authentication
from gateway.errors import (
    Conflict,
    Draining,
    Forbidden,
    GatewayError,
    InvalidRequest,
    NotFound,
    QueueFull,
    TooLarge,
)
from gateway.http.endpoint import STREAM, endpoint, endpoints_of
from gateway.http.public_address import page_address
from gateway.http.requests import ApiRequest
from gateway.ids import is_id
from gateway.service.follower import PAGE
from gateway.storage.turns import TurnRow
from gateway.turn.request import TurnRequest

PATH = "/a2a"
JSON = "application/json"
WORDS = (
    'Words are no decision: answer with a data part {"approvals": [{"id", "approved", "reason"?}]}, with the '
    "ids of the calls that the task waits for."
)
NO_PUSH, NO_CARD, NO_VERSION = -32003, -32007, -32009


@endpoint("GET", "/.well-known/agent-card.json", "a2a.read_card", {200: (JSON,)})
async def card(request: ApiRequest) -> Response:
    """What the agent is, where it is called, and how one shows who asks."""
    agent_card: dict[str, Any] = {
        "name": "Chat gateway",
        "description": "An assistant that searches its documents, calls its tools and answers.",
        "version": __version__,
        "supportedInterfaces": [
            {"url": f"{page_address(request)}a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
        ],
        "capabilities": {"streaming": True, "pushNotifications": False},
        "defaultInputModes": ["text/plain", "application/json", "*/*"],
        "defaultOutputModes": ["text/plain", "application/json"],
        "skills": [
            {
                "id": "chat",
                "name": "Chat",
                "description": "Answers a message of a conversation; a context is one.",
                "tags": ["chat"],
            }
        ],
    }
    if schemes := _ways_in(request):
        agent_card["securitySchemes"] = schemes
        agent_card["securityRequirements"] = [{"schemes": {name: {"list": []}}} for name in schemes]
    return Response(orjson.dumps(agent_card), 200, {"cache-control": "no-cache"}, JSON)


def _ways_in(request: ApiRequest) -> dict[str, Any]:
    """The credentials of which a client needs one: a key, of the settings or a stored one, or a token of the
    identity provider."""
    authentication: Authentication = request.app.state.authentication
    if not authentication.is_required:
        return {}
    schemes: dict[str, Any] = {"key": {"httpAuthSecurityScheme": {"scheme": "bearer"}}}
    settings = request.settings
    if settings.oidc_issuer and settings.oidc_audience:
        url = settings.oidc_issuer.rstrip("/") + "/.well-known/openid-configuration"
        schemes["token"] = {"openIdConnectSecurityScheme": {"openIdConnectUrl": url}}
    return schemes


@endpoint(
    "POST",
    PATH,
    "a2a.call",
    {200: (JSON, STREAM)},
    A2aCall,
    refusals=(403, 413, 429, 503),
    problem=JSON,
    headers={"A2A-Version": "The version that the client speaks: 1.0."},
    carries=("turn.start", "approval.decide", "turn.read", "turn.cancel", "event.read"),
)
async def call(request: ApiRequest) -> Response:
    """Carries out a call. A call that is refused has an error as its answer, with status 200."""
    asked = await request.read_body(A2aCall, "adapter_body_size")
    version = request.headers.get("a2a-version", "").strip()
    if version and version.partition(".")[0] != "1":
        return _refused(asked, NO_VERSION, f"Version {version[:20]!r} of A2A is not spoken here, but 1.0.")
    if "PushNotification" in asked.method:
        return _refused(asked, NO_PUSH, "There are no push notifications: subscribe to the task.")
    if asked.method == "GetExtendedAgentCard":
        return _refused(asked, NO_CARD, "There is no other card.")
    try:
        if (carry_out := METHODS.get(asked.method)) is None:
            known = ", ".join(METHODS)
            raise NotFound(f"There is no method {asked.method!r}, but {known}.", code="method_not_found")
        return await carry_out(request, asked)
    except (Forbidden, TooLarge, QueueFull, Draining):  # their status is for proxies, too
        raise
    except GatewayError as error:
        request.scope["refused"] = error.code  # for the audit
        return _answered(asked, {"error": error_of(error)})


async def _send(request: ApiRequest, asked: A2aCall) -> Response:
    """The task that a message begins or goes on with: at its end, or where it waits, or at once."""
    body = params_of(asked, SendBody)
    turn, decided, _ = await _begun(request, body)
    stream = _stream(request, asked, turn)
    if body.configuration.return_immediately:
        task = await _task(request, asked, turn, body.configuration.history_length)
        return _answered(asked, {"result": {"task": task}})
    place = await request.gateway.streams.following(request.principal, turn.session_id, turn_id=turn.id)
    await whole_answer(request, place, stream, decided=decided)
    task = stream.task(with_history=body.configuration.history_length != 0)
    return _answered(asked, {"result": {"task": task}})


async def _send_streaming(request: ApiRequest, asked: A2aCall) -> Response:
    """The same as it comes."""
    turn, decided, accepted_at = await _begun(request, params_of(asked, SendBody))
    place = await request.gateway.streams.following(request.principal, turn.session_id, turn_id=turn.id)
    stream = _stream(request, asked, turn)
    return answer_stream(request, place, stream, decided=decided, accepted_at=accepted_at)


async def _get(request: ApiRequest, asked: A2aCall) -> Response:
    request.allow("turn.read")
    body = params_of(asked, TaskBody)
    turn = await _turn(request, body.id)
    return _answered(asked, {"result": await _task(request, asked, turn, body.history_length)})


async def _cancel(request: ApiRequest, asked: A2aCall) -> Response:
    """Stops a task, and answers when it has stopped."""
    request.allow("turn.cancel")
    gateway, who = request.gateway, request.principal
    turn = await _turn(request, params_of(asked, TaskBody).id)
    if turn.status == "done":
        raise Conflict("The task is over.", code="task_over")
    decided = await decided_calls(request, turn)
    place = await gateway.streams.following(who, turn.session_id, turn_id=turn.id)
    await gateway.turns.cancel(who, turn.session_id, turn.id)
    stream = _stream(request, asked, turn)
    await whole_answer(request, place, stream, decided=decided)
    return _answered(asked, {"result": stream.task()})


async def _subscribe(request: ApiRequest, asked: A2aCall) -> Response:
    """A task as it is, and what becomes of it."""
    request.allow("event.read")
    gateway, who = request.gateway, request.principal
    turn = await _turn(request, params_of(asked, TaskBody).id)
    if turn.status == "done":
        raise Conflict("The task is over: get it.", code="task_ended")
    decided = await decided_calls(request, turn)
    place = await gateway.streams.following(who, turn.session_id, turn_id=turn.id)
    stream = _stream(request, asked, turn)
    request.span.follows(turn.id)
    reader = TaskSubscription(stream, place.head, decided)
    return stream_response(request, place, reader, stream.trouble, headers={"x-turn-id": turn.id})


async def _begun(request: ApiRequest, body: SendBody) -> tuple[TurnRow, frozenset[str], int | None]:
    """The turn of a message, the calls that it decided about, and when it was accepted, if it is new."""
    gateway, who, message = request.gateway, request.principal, body.message
    if message.task_id:
        request.allow("approval.decide")
        return await _decided(request, message)
    request.allow("turn.start")
    session_id = message.context_id or None
    if session_id is not None and not is_id(session_id):
        raise InvalidRequest("contextId must be 1 to 64 letters, digits, '_' or '-', such as a UUID.")
    if session_id is not None:
        session_id = await gateway.sessions.id_of(who, session_id)
    text, files = await worked(request, lambda: content_of(message))
    model = body.metadata.get("model")
    accepted = await gateway.turns.start(
        who,
        TurnRequest(
            message=text,
            session_id=session_id,
            create_session=True,
            client_message_id=id_of(message.message_id, "m"),
            on_conflict="reject" if await _waits(request, session_id) else "queue",
            model=model if isinstance(model, str) else None,
            attachments=files,
        ),
    )
    turn = accepted.turn
    if accepted.repeated:
        return turn, await decided_calls(request, turn), None
    request.span.starts(turn.id)
    return turn, frozenset(), turn.created_at


async def _decided(request: ApiRequest, message: A2aMessage) -> tuple[TurnRow, frozenset[str], int | None]:
    gateway, who = request.gateway, request.principal
    turn = await _turn(request, message.task_id)
    context_id = message.context_id
    if context_id and await gateway.sessions.id_of(who, context_id) != turn.session_id:
        raise InvalidRequest("The task is of another context.")
    decisions = decisions_of(message)
    if turn.status == "done" and not decisions:
        raise Conflict("The task is over. Send the message without its taskId.", code="task_ended")
    if not decisions:
        raise InvalidRequest(WORDS)
    for each in decisions:
        decision = "approved" if each.approved else "denied"
        await gateway.approvals.decide(
            who, turn.session_id, turn.id, each.call_id, decision, reason=each.reason
        )
    return turn, frozenset(each.call_id for each in decisions), None


async def _turn(request: ApiRequest, task_id: str) -> TurnRow:
    if not is_id(task_id):  # a database may refuse it with an error of its own
        raise NotFound("There is no such task.", code="turn_not_found")
    return await request.gateway.turns.get(request.principal, None, task_id)


async def _waits(request: ApiRequest, session_id: str | None) -> bool:
    """Whether a turn of the session waits for a person or a client: another one behind it would, too."""
    running = await open_turn(request, session_id) if session_id is not None else None
    if running is None or running.status.startswith("awaiting_"):
        return running is not None
    asked = await request.gateway.approvals.waiting(request.principal)  # it may be about to wait
    return any(each.turn_id == running.id for each in asked)


async def _task(
    request: ApiRequest, asked: A2aCall, turn: TurnRow, history_length: int | None
) -> dict[str, Any]:
    """The task as it is now."""
    gateway, stream, fold = request.gateway, _stream(request, asked, turn), Fold()
    after: int | None = 0
    while after is not None:
        place = await gateway.streams.following(
            request.principal, turn.session_id, after=after, turn_id=turn.id, live=False
        )
        events, after = await gateway.streams.page(place, PAGE)
        stream.encode(fold.take(events))
    if fold.waits_for:
        fold.decide(await decided_calls(request, turn))
    if fold.waits_for:
        stream.pause(fold.waits_for)
    elif not fold.is_over:
        stream.begin(SUBMITTED if turn.status == "accepted" else WORKING)
    return stream.task(with_history=history_length != 0)


def _stream(request: ApiRequest, asked: A2aCall, turn: TurnRow) -> TaskStream:
    return TaskStream(turn.id, turn.session_id, asked.id, f"{page_address(request)}#s={turn.session_id}")


def _answered(asked: A2aCall, members: Mapping[str, Any]) -> Response:
    body = orjson.dumps({"jsonrpc": "2.0", "id": asked.id, **members})
    return Response(body, 200, {"cache-control": "no-store"}, JSON)


def _refused(asked: A2aCall, code: int, message: str) -> Response:
    return _answered(asked, {"error": {"code": code, "message": message}})


def _problem(error: GatewayError, _status: int, _request_id: str) -> tuple[bytes, str]:
    return orjson.dumps({"jsonrpc": "2.0", "id": None, "error": error_of(error)}), JSON


METHODS: Mapping[str, Callable[[ApiRequest, A2aCall], Awaitable[Response]]] = {
    "SendMessage": _send,
    "SendStreamingMessage": _send_streaming,
    "GetTask": _get,
    "CancelTask": _cancel,
    "SubscribeToTask": _subscribe,
}
ADAPTER = Adapter(PATH, endpoints_of(__name__), _problem)
