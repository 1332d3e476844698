"""How a conversation that is sent whole becomes a turn: a new one, the one that it asked for before, or the
one that waits for its results."""

import asyncio
import re
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import NamedTuple, TypeVar

from gateway.adapters.client_conversation import MAX_RESULTS, ClientConversation, refuse
from gateway.adapters.foreign_ids import session_of
from gateway.adapters.session_lookup import Naming, NextTurnPlace, SessionLookup, marks_of
from gateway.errors import Conflict, GatewayError, NotFound, TurnInProgress
from gateway.events.envelope import StoredEvent
from gateway.http.large_bodies import MAX_READ_INLINE, large_bodies
from gateway.http.requests import ApiRequest
from gateway.messages import UNCHANGED, Sampling, ToolSpec
from gateway.service.abandoned_turns import GRACE
from gateway.service.follower import StreamRange
from gateway.service.seeding import MAX_SEEDED
from gateway.storage.sessions import BESIDE
from gateway.storage.turns import OnConflict, TurnRow
from gateway.turn.request import TurnRequest

T = TypeVar("T")

CHATS = ("x-chat-id", "x-openwebui-chat-id")
"""Headers that name the chat of a frontend."""
HEADERS = {
    "X-Session-Id": "The session; absent: the one whose history the messages are, or a new one.",
    "X-Chat-Id": "The chat of a frontend that sends all of it each time.",
    "X-Task": "What a frontend asks for itself, such as a title: not a part of the chat.",
}
"""What names a session, for the description of a route."""
_CALL = re.compile(r"[A-Za-z0-9_-]{1,64}:[!-~]{1,256}")
"""The id of a turn, and what the model calls the call."""


class AskedTurn(NamedTuple):
    """The turn to tell, from `place` on, and of it not what came before the calls `decided`; when it was
    accepted, if it is new (Unix milliseconds)."""

    place: StreamRange
    decided: Collection[str] = ()
    accepted_at: int | None = None


async def ask(
    request: ApiRequest,
    conversation: ClientConversation,
    *,
    model: str | None,
    tools: Sequence[ToolSpec],
    naming: Naming | None = None,
    after: TurnRow | None = None,
    sampling: Sampling = UNCHANGED,
) -> AskedTurn:
    """The answer to the newest message: with results of the client's tools, what comes after them. The turn
    ends when nobody has read it for a while. `naming` goes before the headers; the message comes behind the
    turn `after`, where the client names it. `sampling` is how the client wants the model to write.

    Raises:
        errors.InvalidRequest: of what the client sends. GatewayError: what begins a turn, or gives a result.
    """
    asked = await worked(request, conversation.asked)
    if asked is None:
        return await _give_results(request, conversation)
    if conversation.results:
        with suppress(Conflict, NotFound):  # too late: the question counts
            await _until_recorded(request, await _give_results(request, conversation))
    is_beside = filled_in(request, "x-task") is not None
    naming = (
        Naming(is_beside=True) if is_beside else naming or await named(request, conversation.dialect.prefix)
    )
    places = SessionLookup(
        request.gateway,
        request.principal,
        naming,
        model or request.settings.model,
        conversation.instructions,
        is_retry=request.headers.get("x-stainless-retry-count", "0") != "0",
    )
    if after is not None:
        place = await places.after(after, asked.digest)
    else:
        marks = await worked(request, lambda: marks_of(request.principal, asked.before, asked.digest))
        place = await places.find(marks, asked.before[-1].answer if asked.before else "")
    if place.same is not None:
        turn, streams = place.same, request.gateway.streams
        following = await streams.following(request.principal, turn.session_id, turn_id=turn.id)
        return AskedTurn(replace(following, release_after=GRACE))
    session_id = place.session_id if place.is_known else await _seeded(request, conversation, place)
    whole = bool(asked.before) or naming.is_chat or session_id is None
    turn = TurnRequest(
        message=asked.text,
        session_id=session_id,
        create_session=place.parent is None,
        on_conflict="interrupt" if conversation.results else "reject",
        model=model,
        role_id=BESIDE if place.is_beside else None,
        attachments=asked.files,
        parent_turn_id=place.parent,
        instructions=conversation.instructions if conversation.instructions or whole else None,
        tools=tools,
        mark=place.mark,
        sampling=sampling,
    )
    return await _start(request, turn, made_session=None if place.is_known else session_id)


async def worked(request: ApiRequest, work: Callable[[], T]) -> T:
    """Its result; in a thread where the body is large, as others would have to wait."""
    size = request.headers.get("content-length", "")
    if size.isdigit() and int(size) <= MAX_READ_INLINE:
        return work()
    async with large_bodies().place():
        return await asyncio.to_thread(work)


async def named(request: ApiRequest, prefix: str) -> Naming:
    """How the headers name the session."""
    if session := filled_in(request, "x-session-id"):
        return Naming(await session_of(request, session, prefix))
    chat = next(filter(None, (filled_in(request, name) for name in CHATS)), None)
    return Naming(await session_of(request, chat, prefix), is_chat=True) if chat else Naming()


def filled_in(request: ApiRequest, name: str) -> str | None:
    """A header; None as well where the frontend did not fill in its template."""
    value = request.headers.get(name, "").strip()
    return None if value.casefold() in {"", "null", "none", "undefined"} or "{{" in value else value


async def _on_conflict(request: ApiRequest, session_id: str) -> OnConflict:
    """A turn makes way that waits for a person or a client, or whose client has gone."""
    running = await request.gateway.turns.open_turn(session_id)
    gives_way = running is not None and (
        running.status.startswith("awaiting_") or request.gateway.turns.releases.is_left(running)
    )
    return "interrupt" if gives_way else "queue"


async def _start(request: ApiRequest, turn: TurnRequest, *, made_session: str | None) -> AskedTurn:
    """Only where a turn runs already it is looked at. `made_session` was made for this turn alone."""
    gateway, who = request.gateway, request.principal
    try:
        try:
            accepted = await gateway.turns.start(who, turn)
        except TurnInProgress:
            if turn.session_id is None:
                raise
            on_conflict = await _on_conflict(request, turn.session_id)
            accepted = await gateway.turns.start(who, replace(turn, on_conflict=on_conflict))
    except GatewayError:
        if made_session is not None:
            with suppress(GatewayError):
                await gateway.sessions.delete(who, made_session)
        raise
    request.span.starts(accepted.turn.id)
    place = gateway.streams.following_turn(accepted, release_after=GRACE)
    return AskedTurn(place, accepted_at=accepted.turn.created_at)


async def _seeded(request: ApiRequest, conversation: ClientConversation, place: NextTurnPlace) -> str:
    """A session that begins with a conversation from elsewhere: the one that is named, if it is not there
    yet."""
    history = await worked(request, lambda: [*conversation.seeds()])
    if len(history) > MAX_SEEDED:
        field = conversation.dialect.field
        refuse(field, f"A history that is not known here may have {MAX_SEEDED} messages.")
    session_id = place.session_id
    if session_id is not None:
        with suppress(NotFound):
            await request.gateway.sessions.get(request.principal, session_id)
            session_id = None
    role_id = BESIDE if place.is_beside else None
    return (
        await request.gateway.sessions.seed(request.principal, session_id, None, history, role_id=role_id)
    ).id


async def turn_of_results(request: ApiRequest, conversation: ClientConversation) -> TurnRow:
    """The turn that the results are for. Raises errors.InvalidRequest, errors.NotFound."""
    if len(conversation.results) > MAX_RESULTS:
        refuse(conversation.dialect.field, f"There may be {MAX_RESULTS} results of tools.")
    turn_ids = {each.call_id.partition(":")[0] for each in conversation.results}
    if len(turn_ids) != 1 or any(_CALL.fullmatch(each.call_id) is None for each in conversation.results):
        refuse(
            conversation.dialect.field, "The results must be of calls of one answer, by the ids that it has."
        )
    return await request.gateway.turns.get(request.principal, None, turn_ids.pop())


async def _until_recorded(request: ApiRequest, given: AskedTurn) -> None:
    """Returns when the results are in the log, or their turn is over: one that has to make way before has
    none of them."""
    left = set(given.decided)

    async def take(events: Sequence[StoredEvent]) -> None:
        left.difference_update(
            event.load()["tool_call_id"] for event in events if event.type == "tool_result"
        )
        if not left:
            raise _Recorded

    with suppress(_Recorded):
        await request.gateway.streams.follow(replace(given.place, release_after=None), take)


class _Recorded(Exception):
    """All results are in the log."""


async def _give_results(request: ApiRequest, conversation: ClientConversation) -> AskedTurn:
    """Hands the results of the client's tools to their turn."""
    gateway, who = request.gateway, request.principal
    request.allow("tool_result.give")
    turn = await turn_of_results(request, conversation)
    decided: list[str] = []
    for each in conversation.results:
        call_id = each.call_id.partition(":")[2]
        await gateway.client_results.give(
            who, turn.session_id, turn.id, call_id, each.text, is_error=each.is_error, files=each.files
        )
        decided.append(call_id)
    place = await gateway.streams.following(who, turn.session_id, turn_id=turn.id)
    return AskedTurn(replace(place, release_after=GRACE), decided)
