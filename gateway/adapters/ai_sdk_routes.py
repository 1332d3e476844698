"""The routes of the AI SDK's `useChat`: send, resume, stop, and the messages that a page begins with."""

import base64
import binascii
import hashlib
import re
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import unquote_to_bytes

import orjson
from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel
from starlette.responses import Response

from gateway.adapters.adapter import Adapter
from gateway.adapters.ai_sdk_frames import UiMessageStream, call_of
from gateway.adapters.ai_sdk_messages import USER, AssistantMessage, UiMessage, user_message
from gateway.adapters.answering import answer_stream
from gateway.adapters.parts import Fold, TurnBegan
from gateway.artifacts.attached_files import MAX_FILES, Upload
from gateway.errors import Conflict, GatewayError, InvalidRequest, NotFound
from gateway.http.downloads import StreamedBody
from gateway.http.endpoint import STREAM, Endpoint
from gateway.http.requests import ApiRequest
from gateway.ids import ARTIFACT_PATTERN, is_id
from gateway.service.follower import PAGE
from gateway.storage.turns import Accepted, TurnRow
from gateway.turn.request import TurnRequest

TEXT = "text/plain"
HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}
_DATA_URL = re.compile(r"data:(?P<mime>[^;,]*)(?:;[^;,]*)*?(?P<base64>;base64)?,(?P<data>.*)", re.DOTALL)
_ARTIFACT = re.compile(rf"(?:https?://[^/]+)?/api/artifacts/({ARTIFACT_PATTERN})")


class Lenient(BaseModel):
    """What pages send: they add fields of their own."""

    model_config = ConfigDict(
        frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True, defer_build=True
    )


class MessageBody(Lenient):
    id: str = ""
    role: Literal["user", "assistant", "system"]
    parts: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])


class UiChatBody(Lenient):
    """What `useChat` sends. `message` alone is taken, too, in the place of `messages`."""

    id: str | None = Field(None, max_length=1000, description="The chat: a session of this or a derived id.")
    messages: list[dict[str, Any]] = Field(default_factory=list[dict[str, Any]])
    message: dict[str, Any] | None = None
    trigger: Literal["submit-message", "regenerate-message"] = "submit-message"
    message_id: str | None = Field(None, description="The message that is edited, or answered anew.")
    model: str | None = Field(None, description="One of the allowed models.")
    system: str | None = Field(None, description="Instructions of the page, as assistant-ui sends them.")


async def chat(request: ApiRequest) -> Response:
    """Starts a turn with the newest message, or takes the decisions of a person, and streams the answer."""
    body = await request.read_body(UiChatBody, "adapter_body_size")
    given = body.messages if body.message is None else [body.message]
    if not given:
        raise InvalidRequest("messages must not be empty.")
    last = _message(given[-1])
    if last.role == "assistant" and body.id:
        return await _decide(request, _session_of(request, body.id), last)
    if last.role != "user":
        raise InvalidRequest("The last message must be a user's, or have answers to approvals.")
    try:
        accepted = await _start(request, body, given)
    except NotFound as error:
        if error.code not in {"turn_not_found", "session_not_found"}:
            raise
        raise Conflict(
            "The messages are not those of this chat. Load it anew.", code="history_differs"
        ) from None
    if not accepted.repeated:
        request.span.starts(accepted.turn.id)
    return answer_stream(
        request,
        request.gateway.following_turn(accepted),
        UiMessageStream(_version(request)),
        accepted_at=None if accepted.repeated else accepted.turn.created_at,
        headers=_headers(accepted.turn.id),
    )


async def resume(request: ApiRequest) -> Response:
    """The running turn of a chat, from its first event on; 204 where none runs."""
    turn = await _open_turn(request)
    if turn is None:
        return Response(status_code=204, headers={"cache-control": "no-store"})
    return await _follow(request, turn)


async def stop(request: ApiRequest) -> Response:
    """Stops the running turn of a chat; closing the connection does not."""
    turn = await _open_turn(request)
    if turn is not None:
        await request.gateway.cancel(request.principal, turn.session_id, turn.id)
    return Response(status_code=204, headers={"cache-control": "no-store"})


async def messages(request: ApiRequest) -> Response:
    """The messages of a chat, to begin a page with; of a turn that runs the user's alone, as `resume` brings
    the answer. An unknown chat has none."""
    session_id = _session_of(request, request.path_text("chat_id"))
    try:
        await request.gateway.session(request.principal, session_id)
    except NotFound:
        return Response(b"[]", 200, {"cache-control": "no-store"}, "application/json")
    return StreamedBody(
        _encoded(_messages(request, session_id)),
        media_type="application/json",
        send_timeout=request.settings.send_timeout,
    )


async def _decide(request: ApiRequest, session_id: str, message: MessageBody) -> Response:
    """Decides what the message has answers to, and goes on with its turn."""
    decided = {
        part["approval"]["id"]: part["approval"]
        for part in message.parts
        if part.get("state") == "approval-responded" and isinstance(part.get("approval"), Mapping)
    }
    if not decided:
        raise InvalidRequest("The assistant's message has no answer to an approval.")
    turn = await request.gateway.turn(request.principal, session_id, _id_of(message.id, "t"))
    for name, approval in decided.items():
        approved = approval.get("approved") is True
        await request.gateway.approvals.decide(
            request.principal,
            session_id,
            turn.id,
            call_of(name),
            "approved" if approved else "denied",
            reason=None if approved else approval.get("reason"),
        )
    return await _follow(request, turn, {call_of(name) for name in decided})


async def _follow(request: ApiRequest, turn: TurnRow, decided: set[str] | None = None) -> Response:
    place = await request.gateway.following(request.principal, turn.session_id, turn_id=turn.id)
    encoder = UiMessageStream(_version(request))
    return answer_stream(request, place, encoder, decided=decided or (), headers=_headers(turn.id))


async def _start(request: ApiRequest, body: UiChatBody, given: Sequence[Mapping[str, Any]]) -> Accepted:
    """The turn that the newest message asks for, where the messages before it say."""
    gateway, who, last = request.gateway, request.principal, _message(given[-1])
    session_id = _session_of(request, body.id) if body.id else None
    if session_id is not None and body.trigger == "regenerate-message":
        turn_id = await _answered(request, session_id, body.message_id)
        return await gateway.regenerate(who, session_id, turn_id, model=body.model)
    text, files = _content(last)
    name, parent = last.id, None
    if session_id is not None and body.message_id is not None:
        edited = await _answered(request, session_id, body.message_id)
        parent = await gateway.asked_after(who, session_id, edited)
        name = f"{body.message_id} {parent} {text}"  # the message keeps its id, and is another one
    elif session_id is not None and len(given) > 1 and (before := _message(given[-2])).role == "assistant":
        parent = _id_of(before.id, "t")
    asked = TurnRequest(
        message=text,
        session_id=session_id,
        create_session=parent is None,
        client_message_id=_id_of(name, "m") if last.id else None,
        model=body.model,
        attachments=files,
        parent_turn_id=parent,
        instructions=body.system,
    )
    return await gateway.start(who, asked)


async def _answered(request: ApiRequest, session_id: str, message_id: str | None) -> str:
    """The turn of a message, be it the user's or the answer; of none, the newest one."""
    gateway, who = request.gateway, request.principal
    if message_id is not None:
        sent = await gateway.sent(who, session_id, _id_of(message_id, "m"))
        return sent.id if sent is not None else _id_of(message_id, "t").removesuffix(USER)
    branches = await gateway.branches(who, session_id)
    newest = next((row.last_turn_id for row in branches.rows if row.branch == branches.active), None)
    if newest is None:
        raise Conflict("There is no answer to make anew.", code="history_differs")
    return newest


async def _open_turn(request: ApiRequest) -> TurnRow | None:
    session_id = _session_of(request, request.path_text("chat_id"))
    try:
        await request.gateway.session(request.principal, session_id)
    except NotFound:
        return None
    return await request.gateway.open_turn(session_id)


async def _messages(request: ApiRequest, session_id: str) -> AsyncGenerator[UiMessage]:
    gateway, who = request.gateway, request.principal
    place = await gateway.following(who, session_id, live=False)
    after: int | None = 0
    shown = await gateway.active_turns(who, session_id)
    open_turns: dict[str, tuple[Fold, AssistantMessage]] = {}
    while after is not None:
        place = await gateway.following(who, session_id, after=after, live=False)
        events, after = await gateway.page(place, PAGE)
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


def _content(message: MessageBody) -> tuple[str, list[str | Upload]]:
    """The text of a user's message, and the files that come with it."""
    text = "\n\n".join(part["text"] for part in message.parts if _is(part, "text", "text"))
    files = [_file(part) for part in message.parts if _is(part, "file", "url")]
    if len(files) > MAX_FILES:
        raise InvalidRequest(f"A message may have {MAX_FILES} files.")
    if not text.strip():
        text = " ".join(f"[{each if isinstance(each, str) else each.name}]" for each in files)
    if not text or "\x00" in text:
        raise InvalidRequest("The message must have text, or a file.")
    return text, files


def _is(part: Mapping[str, Any], kind: str, content: str) -> bool:
    return part.get("type") == kind and isinstance(part.get(content), str)


def _file(part: Mapping[str, Any]) -> str | Upload:
    url: str = part["url"]
    if known := _ARTIFACT.fullmatch(url):
        return known[1]
    if (inside := _DATA_URL.fullmatch(url)) is None:
        raise InvalidRequest("A file must be a data: URL, or the address of an artifact of yours.")
    mime = part.get("mediaType") or inside["mime"] or None
    try:
        data = unquote_to_bytes(inside["data"])
        data = base64.b64decode(data, validate=True) if inside["base64"] else data
    except (binascii.Error, ValueError):
        raise InvalidRequest("The data: URL of a file is no base64.") from None
    if not data:
        raise InvalidRequest("A file must not be empty.")
    name = part.get("filename")
    return Upload(data, name if isinstance(name, str) and name else f"file.{_suffix(mime)}", mime)


def _suffix(mime: object) -> str:
    return re.sub(r"[^a-z0-9]", "", str(mime).rpartition("/")[2].lower())[:10] or "bin"


def _message(given: Mapping[str, Any]) -> MessageBody:
    try:
        return MessageBody.model_validate(given)
    except ValueError:
        raise InvalidRequest("A message must have a role and parts.") from None


def _session_of(request: ApiRequest, chat_id: str) -> str:
    """The session of a chat: the same id, or one that is derived for the user where it cannot be one."""
    return chat_id if is_id(chat_id) else _id_of(f"{request.principal.user_id}:{chat_id}", "ai")


def _id_of(name: str, prefix: str) -> str:
    return name if is_id(name) else f"{prefix}_{hashlib.sha256(name.encode()).hexdigest()[:40]}"


def _version(request: ApiRequest) -> int:
    """Of the client: nothing else in its request tells it, and what only 7 knows is fatal for 6."""
    return 7 if request.headers.get("x-ai-sdk", "") == "7" else 6


def _headers(turn_id: str) -> dict[str, str]:
    return {**HEADERS, "x-resumable-stream-id": turn_id}


def _problem(error: GatewayError, _status: int, _request_id: str) -> tuple[bytes, str]:
    """The body becomes the message of the page's error."""
    return error.message.encode(), f"{TEXT}; charset=utf-8"


def _endpoints() -> Iterator[Endpoint]:
    chat_path = "/ai-sdk/chat/{chat_id}"
    yield Endpoint(
        "POST",
        "/ai-sdk/chat",
        chat,
        {200: (STREAM,)},
        UiChatBody,
        refusals=(404, 409, 413, 429, 503),
        problem=TEXT,
        headers={"x-ai-sdk": "The client's major version; 7 gets what 6 cannot read."},
    )
    yield Endpoint("GET", f"{chat_path}/stream", resume, {200: (STREAM,), 204: (None,)}, problem=TEXT)
    yield Endpoint("POST", f"{chat_path}/stop", stop, {204: (None,)}, problem=TEXT)
    yield Endpoint("GET", f"{chat_path}/messages", messages, {200: ("application/json",)}, problem=TEXT)


ADAPTER = Adapter(
    "/ai-sdk",
    tuple(_endpoints()),
    _problem,
    exposed_headers=("x-vercel-ai-ui-message-stream", "x-resumable-stream-id"),
)
