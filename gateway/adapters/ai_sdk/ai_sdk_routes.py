"""The routes of the AI SDK's `useChat`: send, resume, stop, and the messages that a page begins with."""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from typing import Any

import orjson
from starlette.responses import Response

from gateway.adapters.adapter import Adapter
from gateway.adapters.ai_sdk.ai_sdk_frames import UiMessageStream
from gateway.adapters.ai_sdk.ai_sdk_messages import USER, AssistantMessage, UiMessage, user_message
from gateway.adapters.ai_sdk.ai_sdk_requests import (
    AiSdkMessage,
    UiChatBody,
    content_of,
    decisions_of,
    read_message,
    results_of,
    seeds_of,
)
from gateway.adapters.conversation_turn import worked
from gateway.adapters.foreign_ids import id_of, session_of
from gateway.adapters.turn_fold import Fold
from gateway.adapters.turn_parts import TurnBegan
from gateway.adapters.turn_response import answer_stream, open_turn, stop_turn
from gateway.errors import Conflict, GatewayError, InvalidRequest, NotFound
from gateway.http.downloads import StreamedBody
from gateway.http.endpoint import STREAM, endpoint, endpoints_of
from gateway.http.requests import ApiRequest
from gateway.messages import ToolSpec
from gateway.service.follower import PAGE
from gateway.service.seeding import SeedMessage
from gateway.storage.turns import Accepted, TurnRow
from gateway.turn.request import TurnRequest

TEXT = "text/plain"
HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}


@endpoint(
    "POST",
    "/ai-sdk/chat",
    "turn.start",
    {200: (STREAM,)},
    UiChatBody,
    refusals=(404, 409, 413, 429, 503),
    problem=TEXT,
    headers={"x-ai-sdk": "The client's major version; 7 gets what 6 cannot read."},
    carries=("approval.decide", "tool_result.give", "turn.regenerate"),
)
async def chat(request: ApiRequest) -> Response:
    """Starts a turn with the newest message, or takes the decisions of a person, and streams the answer."""
    body = await request.read_body(UiChatBody, "adapter_body_size")
    given = body.messages if body.message is None else [body.message]
    if not given:
        raise InvalidRequest("messages must not be empty.")
    last = read_message(given[-1])
    if last.role == "assistant" and body.id:
        return await _go_on(request, await _session_of(request, body.id), last)
    if last.role != "user":
        raise InvalidRequest("The last message must be a user's, or have answers to approvals.")
    try:
        accepted = await _start(request, body, given)
    except NotFound as error:
        if error.code not in {"turn_not_found", "session_not_found"}:
            raise
        accepted = await _begin_with_history(request, body, given, is_new=error.code == "session_not_found")
    if not accepted.repeated:
        request.span.starts(accepted.turn.id)
    return answer_stream(
        request,
        request.gateway.streams.following_turn(accepted),
        UiMessageStream(_version(request)),
        accepted_at=None if accepted.repeated else accepted.turn.created_at,
        headers=_headers(accepted.turn.id),
    )


@endpoint("GET", "/ai-sdk/chat/{chat_id}/stream", "event.read", {200: (STREAM,), 204: (None,)}, problem=TEXT)
async def resume(request: ApiRequest) -> Response:
    """The running turn of a chat, from its first event on; 204 where none runs."""
    turn = await open_turn(request, await _session_of(request, request.path_text("chat_id")))
    if turn is None:
        return Response(status_code=204, headers={"cache-control": "no-store"})
    return await _follow(request, turn)


@endpoint("POST", "/ai-sdk/chat/{chat_id}/stop", "turn.cancel", {204: (None,)}, problem=TEXT)
async def stop(request: ApiRequest) -> Response:
    """Stops the running turn of a chat; closing the connection does not."""
    return await stop_turn(request, await _session_of(request, request.path_text("chat_id")))


@endpoint(
    "GET", "/ai-sdk/chat/{chat_id}/messages", "message.list", {200: ("application/json",)}, problem=TEXT
)
async def messages(request: ApiRequest) -> Response:
    """The messages of a chat, to begin a page with; of a turn that runs the user's alone, as `resume` brings
    the answer. An unknown chat has none."""
    session_id = await _session_of(request, request.path_text("chat_id"))
    try:
        await request.gateway.sessions.get(request.principal, session_id)
    except NotFound:
        return Response(b"[]", 200, {"cache-control": "no-store"}, "application/json")
    return StreamedBody(
        _encoded(_messages(request, session_id)),
        media_type="application/json",
        send_timeout=request.settings.send_timeout,
    )


async def _go_on(request: ApiRequest, session_id: str, message: AiSdkMessage) -> Response:
    """Carries out what was decided about calls of a turn, gives the results of the page's tools, and goes
    on."""
    gateway, who = request.gateway, request.principal
    decisions, results = decisions_of(message), [*results_of(message)]
    if not decisions and not results:
        raise InvalidRequest("The assistant's message has no answer to an approval, and no result of a tool.")
    turn = await gateway.turns.get(who, session_id, id_of(message.id, "t"))
    for each in decisions:
        request.allow("approval.decide")
        decision = "approved" if each.approved else "denied"
        await gateway.approvals.decide(who, session_id, turn.id, each.call_id, decision, reason=each.reason)
    for each in results:
        request.allow("tool_result.give")
        await gateway.client_results.give(
            who, session_id, turn.id, each.call_id, each.text, is_error=each.is_error
        )
    known = {each.call_id for each in results}
    return await _follow(request, turn, {each.call_id for each in decisions} | known, known)


async def _follow(
    request: ApiRequest, turn: TurnRow, decided: Collection[str] = (), known: Collection[str] = ()
) -> Response:
    place = await request.gateway.streams.following(request.principal, turn.session_id, turn_id=turn.id)
    encoder = UiMessageStream(_version(request), known)
    return answer_stream(request, place, encoder, decided=decided, headers=_headers(turn.id))


async def _start(request: ApiRequest, body: UiChatBody, given: Sequence[Mapping[str, Any]]) -> Accepted:
    """The turn that the newest message asks for, where the messages before it say."""
    gateway, who, last = request.gateway, request.principal, read_message(given[-1])
    session_id = await _session_of(request, body.id) if body.id else None
    if session_id is not None and body.trigger == "regenerate-message":
        request.allow("turn.regenerate")
        turn_id = await _answered(request, session_id, body.message_id)
        return await gateway.turns.regenerate(who, session_id, turn_id, model=body.model)
    text, files = await worked(request, lambda: content_of(last))
    name, parent = last.id, None
    if session_id is not None and body.message_id is not None:
        edited = await _answered(request, session_id, body.message_id)
        parent = await gateway.turns.asked_after(who, session_id, edited)
        name = f"{body.message_id} {parent} {text}"  # the message keeps its id, and is another one
    elif (
        session_id is not None and len(given) > 1 and (before := read_message(given[-2])).role == "assistant"
    ):
        parent = id_of(before.id, "t")
    asked = TurnRequest(
        message=text,
        session_id=session_id,
        create_session=parent is None,
        client_message_id=id_of(name, "m") if last.id else None,
        model=body.model,
        attachments=files,
        parent_turn_id=parent,
        instructions=body.system,
        tools=[ToolSpec(name, tool.description, tool.parameters) for name, tool in body.tools.items()],
    )
    return await gateway.turns.start(who, asked)


async def _begin_with_history(
    request: ApiRequest, body: UiChatBody, given: Sequence[Mapping[str, Any]], *, is_new: bool
) -> Accepted:
    """The first turn of a chat that was begun elsewhere. Raises errors.Conflict where it was begun here."""
    history: list[SeedMessage] = []
    if is_new and body.id and body.message_id is None:
        history = await worked(request, lambda: seeds_of(given[:-1]))
    if not history:
        raise Conflict("The messages are not those of this chat. Load it anew.", code="history_differs")
    await request.gateway.sessions.seed(
        request.principal, await _session_of(request, body.id or ""), None, history
    )
    return await _start(request, body, given[-1:])


async def _answered(request: ApiRequest, session_id: str, message_id: str | None) -> str:
    """The turn of a message, be it the user's or the answer; of none, the newest one."""
    gateway, who = request.gateway, request.principal
    if message_id is not None:
        sent = await gateway.turns.sent(who, session_id, id_of(message_id, "m"))
        return sent.id if sent is not None else id_of(message_id, "t").removesuffix(USER)
    branches = await gateway.sessions.branches(who, session_id)
    newest = next((row.last_turn_id for row in branches.rows if row.branch == branches.active), None)
    if newest is None:
        raise Conflict("There is no answer to make anew.", code="history_differs")
    return newest


async def _messages(request: ApiRequest, session_id: str) -> AsyncGenerator[UiMessage]:
    gateway, who = request.gateway, request.principal
    after: int | None = 0
    shown = await gateway.sessions.active_turns(who, session_id)
    open_turns: dict[str, tuple[Fold, AssistantMessage]] = {}
    while after is not None:
        place = await gateway.streams.following(who, session_id, after=after, live=False)
        events, after = await gateway.streams.page(place, PAGE)
        for event in events:
            if event.type == "turn_start" and event.turn_id in shown:
                open_turns[event.turn_id] = Fold(), AssistantMessage()
            if (turn := open_turns.get(event.turn_id)) is None:
                continue  # beside all turns, or in another branch
            fold, message = turn
            parts = fold.take([event])
            message.take(parts)
            for part in parts:
                if isinstance(part, TurnBegan):
                    yield user_message(part)
            if fold.is_over:
                del open_turns[event.turn_id]
                yield message.value


async def _encoded(found: AsyncGenerator[UiMessage]) -> AsyncGenerator[bytes]:
    before = b"["
    async for message in found:
        yield before + orjson.dumps(message)
        before = b","
    yield b"[]" if before == b"[" else b"]"


async def _session_of(request: ApiRequest, chat_id: str) -> str:
    return await session_of(request, chat_id, "ai")


def _version(request: ApiRequest) -> int:
    """Of the client: nothing else in its request tells it, and what only 7 knows is fatal for 6."""
    return 7 if request.headers.get("x-ai-sdk", "") == "7" else 6


def _headers(turn_id: str) -> dict[str, str]:
    return {**HEADERS, "x-resumable-stream-id": turn_id}


def _problem(error: GatewayError, _status: int, _request_id: str) -> tuple[bytes, str]:
    """The body becomes the message of the page's error."""
    return error.message.encode(), f"{TEXT}; charset=utf-8"


ADAPTER = Adapter(
    "/ai-sdk",
    endpoints_of(__name__),
    _problem,
    exposed_headers=("x-vercel-ai-ui-message-stream", "x-resumable-stream-id"),
)
