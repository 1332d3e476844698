"""The tool `chat` of the MCP server: a turn as one call, which ends with it, or where it waits for a
person."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson
from mcp.server.context import ServerRequestContext
from mcp_types import (
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    TextContent,
    Tool,
    ToolAnnotations,
)
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from gateway.adapters.client_conversation import MAX_RESULTS
from gateway.adapters.foreign_ids import id_of
from gateway.adapters.mcp.mcp_chat_answer import ChatAnswer
from gateway.adapters.mcp.mcp_memory_server import FORMS, idempotency_key
from gateway.adapters.mcp.mcp_operations import CHAT as NAME
from gateway.adapters.turn_answer import TurnAnswer
from gateway.adapters.turn_parts import ApprovalAsked, Waiting
from gateway.adapters.turn_response import decided_calls, follow_to_end
from gateway.adapters.user_content import checked_content
from gateway.errors import InvalidRequest, NotFound
from gateway.events.envelope import StoredEvent
from gateway.http.public_address import page_address
from gateway.http.requests import MAX_NAME_LENGTH, ApiRequest
from gateway.ids import is_id
from gateway.messages import cut_off
from gateway.service.abandoned_turns import GRACE
from gateway.service.follower import StreamRange
from gateway.storage.turns import TurnRow
from gateway.turn.request import TurnRequest

MAX_SHOWN = 2000
"""Characters of a call's arguments in a question about it."""

CHAT = Tool(
    name=NAME,
    title="Chat",
    description=(
        "Says something to the assistant behind this gateway, which searches its documents, uses its own "
        "tools and answers. Give the session_id of an earlier answer to go on with that conversation. "
        "Without a message it gives the newest answer, as once somebody has decided what that waited for."
    ),
    input_schema={
        "type": "object",
        "properties": {
            "message": {"type": "string", "description": "What to say."},
            "session_id": {"type": "string", "description": "The conversation; absent: a new one."},
        },
        "additionalProperties": False,
    },
    output_schema={
        "type": "object",
        "properties": {
            "text": {"type": "string"},
            "session_id": {"type": "string"},
            "turn_id": {"type": "string"},
            "status": {"type": "string", "description": "completed, awaiting_approval, failed, …"},
        },
        "required": ["text", "session_id", "turn_id", "status"],
    },
    annotations=ToolAnnotations(
        read_only_hint=False, destructive_hint=True, idempotent_hint=False, open_world_hint=True
    ),
)

_DECISION: dict[str, Any] = {
    "type": "object",
    "properties": {
        "approve": {"type": "boolean", "title": "Allow this call"},
        "reason": {"type": "string", "title": "Why not, for the assistant"},
    },
    "required": ["approve"],
}


class ChatTurn(NamedTuple):
    """The turn whose answer is returned, from its first event on, or from the calls that were `decided`.
    `asks`: the client's user may be asked about calls that wait."""

    place: StreamRange
    decided: frozenset[str] = frozenset()
    asks: bool = True


async def chat(
    request: ApiRequest, context: ServerRequestContext[Any], params: CallToolRequestParams
) -> CallToolResult | InputRequiredResult:
    """Begins the turn that the call asks for, or goes on with one, and waits for its answer.

    Raises:
        errors.GatewayError: nothing was begun; or the server ends before the turn does.
    """
    token = (context.meta or {}).get("progress_token", "")
    if len(str(token)) > MAX_NAME_LENGTH:
        raise InvalidRequest(f"progressToken, which every report has, is longer than {MAX_NAME_LENGTH}.")
    asked = await (_begun if params.request_state is None else _decided)(request, context, params)
    turn = asked.place.turn
    assert turn is not None
    request.span.follows(turn.id)
    answer = ChatAnswer()
    await _collect(request, context, asked, answer)
    approvals = [each for each in answer.waits_for if isinstance(each, ApprovalAsked)]
    if answer.status == "awaiting_approval" and asked.asks and _may_ask(context):
        page = _page(request, turn)
        questions = {each.call.id: ElicitRequest(params=_question(each, page)) for each in approvals}
        return InputRequiredResult(input_requests={**questions}, request_state=turn.id)
    return _result(request, turn, answer)


async def _begun(
    request: ApiRequest, context: ServerRequestContext[Any], params: CallToolRequestParams
) -> ChatTurn:
    gateway, who = request.gateway, request.principal
    given = params.arguments or {}
    if unknown := given.keys() - {"message", "session_id"}:
        raise InvalidRequest(f"{min(unknown)}: unknown name")
    message, session_id = (given.get(name) for name in ("message", "session_id"))
    if not isinstance(message, str | None) or not isinstance(session_id, str | None):
        raise InvalidRequest("message and session_id must be text.")
    if not message and not session_id:
        raise InvalidRequest("message is missing.")
    if session_id:
        if not is_id(session_id):  # a database may refuse it with an error of its own
            raise NotFound("There is no such session.", code="session_not_found")
        session_id = (await gateway.sessions.get(who, await gateway.sessions.id_of(who, session_id))).id
    if not message:
        assert session_id is not None
        turn = await gateway.turns.get(who, session_id, await _newest(request, session_id))
        decided = await decided_calls(request, turn)
        return ChatTurn(await gateway.streams.following(who, session_id, turn_id=turn.id), decided)
    text, _ = checked_content(message, ())
    key = idempotency_key(context)
    accepted = await gateway.turns.start(
        who,
        TurnRequest(
            text, session_id or None, client_message_id=id_of(key, "mcp") if key is not None else None
        ),
    )
    if not accepted.repeated:
        request.span.starts(accepted.turn.id)
    return ChatTurn(gateway.streams.following_turn(accepted))


async def _newest(request: ApiRequest, session_id: str) -> str:
    branches = await request.gateway.sessions.branches(request.principal, session_id)
    newest = next((row.last_turn_id for row in branches.rows if row.branch == branches.active), None)
    if newest is None:
        raise InvalidRequest("Nothing was said in that session yet: message is missing.")
    return newest


async def _decided(
    request: ApiRequest, _context: ServerRequestContext[Any], params: CallToolRequestParams
) -> ChatTurn:
    """Takes the user's answers from the client. The state that comes back is the turn's id alone: its owner
    is looked up. A form that was closed is no decision."""
    gateway, who = request.gateway, request.principal
    given, state = params.input_responses or {}, params.request_state or ""
    if not is_id(state) or len(given) > MAX_RESULTS:
        raise InvalidRequest("The state of the request is none of this server's.")
    turn = await gateway.turns.get(who, None, state)
    decisions = {
        call_id: answer.action == "accept" and (answer.content or {}).get("approve") is True
        for call_id, answer in given.items()
        if isinstance(answer, ElicitResult) and answer.action != "cancel" and call_id.isprintable()
    }
    for call_id, is_allowed in decisions.items():
        answer = given[call_id]
        why = answer.content.get("reason") if isinstance(answer, ElicitResult) and answer.content else None
        await gateway.approvals.decide(
            who,
            turn.session_id,
            turn.id,
            call_id,
            "approved" if is_allowed else "denied",
            reason=why if isinstance(why, str) and why and not is_allowed else None,
        )
    place = await gateway.streams.following(who, turn.session_id, turn_id=turn.id)
    return ChatTurn(place, frozenset(decisions), asks=len(decisions) == len(given))


async def _collect(
    request: ApiRequest, context: ServerRequestContext[Any], asked: ChatTurn, collected: ChatAnswer
) -> None:
    """Collects the answer, and reports what comes of it. A call that is cancelled releases the turn: at once
    where closing the connection says so (2026-07-28), else as for a client that may have lost it."""
    answer = TurnAnswer(collected, asked.place.head, asked.decided)
    changed = asyncio.Event()

    async def take(_: Sequence[StoredEvent]) -> None:
        changed.set()

    def ended(task: asyncio.Task[None]) -> None:
        if not task.cancelled():
            task.exception()
        changed.set()

    following = asyncio.create_task(follow_to_end(request, asked.place, answer, take))
    following.add_done_callback(ended)
    count = 0
    try:
        while not following.done():
            await changed.wait()
            changed.clear()
            # What came meanwhile is one report, so that a slow client holds little.
            if text := "".join(collected.progress):
                collected.progress.clear()
                count += 1
                await context.session.report_progress(count, None, text)
        await following
    except asyncio.CancelledError:
        following.cancel()
        if asked.place.turn is not None:
            is_old = context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
            request.gateway.turns.releases.release(asked.place.turn, GRACE if is_old else 0)
        raise
    finally:
        following.cancel()


def _may_ask(context: ServerRequestContext[Any]) -> bool:
    """Whether the client takes questions as the result of a call, and shows forms."""
    is_old = context.protocol_version in HANDSHAKE_PROTOCOL_VERSIONS
    return not is_old and context.session.check_client_capability(FORMS)


def _question(asked: ApprovalAsked, page: str) -> ElicitRequestFormParams:
    reason = f" ({asked.data['reason']})" if "reason" in asked.data else ""
    return ElicitRequestFormParams(
        message=f"May {_shown(asked, page)} be called?{reason}", requested_schema=_DECISION
    )


def _shown(waiting: Waiting, page: str) -> str:
    arguments = orjson.dumps(waiting.call.arguments).decode()
    return f"{waiting.call.name} {cut_off(arguments, MAX_SHOWN, page)}"


def _page(request: ApiRequest, turn: TurnRow) -> str:
    """The address at which a person sees the turn."""
    return f"{page_address(request)}#s={turn.session_id}"


def _result(request: ApiRequest, turn: TurnRow, answer: ChatAnswer) -> CallToolResult:
    page = _page(request, turn)
    texts = [answer.text]
    if answer.status == "awaiting_approval":
        calls = "; ".join(_shown(each, page) for each in answer.waits_for if isinstance(each, ApprovalAsked))
        texts.append(
            f"[This waits for a person's approval of {calls}. They decide at {page}. Then call {NAME} with "
            f"session_id {turn.session_id} and no message.]"
        )
    elif answer.status == "awaiting_result":
        names = ", ".join(each.call.name for each in answer.waits_for)
        texts.append(f"[This waits for the result of {names}, which another client has to give.]")
    elif answer.failure is not None:
        texts.append(": ".join(answer.failure))
    elif answer.status != "completed":
        texts.append(f"[The turn ended: {answer.status}.]")
    text = "\n\n".join(filter(None, texts))
    collected: Mapping[str, str] = {
        "text": text,
        "session_id": turn.session_id,
        "turn_id": turn.id,
        "status": answer.status,
    }
    return CallToolResult(
        content=[TextContent(text=text)],
        structured_content=collected,
        is_error=answer.failure is not None,
    )
