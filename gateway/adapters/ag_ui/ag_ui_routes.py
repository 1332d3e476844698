"""The routes of AG-UI: run, take up a thread, stop."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace

from starlette.responses import Response

from gateway.adapters.adapter import Adapter
from gateway.adapters.ag_ui.ag_ui_frames import RunStream, failed_frame
from gateway.adapters.ag_ui.ag_ui_messages import Message
from gateway.adapters.ag_ui.ag_ui_requests import (
    RunBody,
    StopBody,
    decisions_of,
    results_of,
    seeds_of,
    user_content,
)
from gateway.adapters.ag_ui.ag_ui_thread import AgUiThread, run_of
from gateway.adapters.conversation_turn import worked
from gateway.adapters.foreign_ids import id_of, session_of, turn_of
from gateway.adapters.turn_response import answer_stream, open_turn, stop_turn, stream_response
from gateway.errors import Conflict, InvalidRequest, NotFound
from gateway.http.endpoint import STREAM, endpoint, endpoints_of
from gateway.http.requests import ApiRequest
from gateway.service.seeding import SeedMessage
from gateway.storage.turns import Accepted, OnConflict, TurnRow
from gateway.turn.request import TurnRequest

LOOKED_AT = 50
"""How many of a client's messages are looked up to find where in the session it stands."""


@endpoint(
    "POST",
    "/ag-ui",
    "turn.start",
    {200: (STREAM,)},
    RunBody,
    refusals=(404, 409, 413, 429, 503),
    carries=("approval.decide", "tool_result.give", "turn.read"),
)
async def run(request: ApiRequest) -> Response:
    """Starts a turn with the newest message, or carries out what the client says of a turn that waits, and
    streams the answer. Where it asks for nothing new, it gets its last turn from the beginning."""
    body = await request.read_body(RunBody, "adapter_body_size")
    session_id = await _session_of(request, body.thread_id)
    is_question = bool(body.messages) and body.messages[-1]["role"] == "user"
    sent = await _sent(request, session_id, body.messages[-1]) if is_question else None
    answered, known = await _carry_out(request, session_id, body, goes_on=not is_question)
    if answered is not None and (sent is not None or not is_question):
        turn = await request.gateway.turns.get(request.principal, session_id, answered)
        return await _follow(request, body, turn, known)
    if is_question and (sent is None or sent.status == "done"):
        accepted = await _ask(request, session_id, body, sent)
        if not accepted.repeated:
            request.span.starts(accepted.turn.id)
        return answer_stream(
            request,
            request.gateway.streams.following_turn(accepted),
            RunStream(run_of(body)),
            accepted_at=None if accepted.repeated else accepted.turn.created_at,
        )
    if sent is None:
        request.allow("turn.read")
    turn = sent or await _last_turn(request, session_id, body)
    if turn is None:
        raise InvalidRequest("The last message must be a user's, or answer what a turn waits for.")
    return await _follow(request, body, turn)


@endpoint("POST", "/ag-ui/connect", "event.read", {200: (STREAM,)}, RunBody, refusals=(413, 503))
async def connect(request: ApiRequest) -> Response:
    """Tells a thread from its beginning, each turn as a run, and follows the one that runs. An unknown
    thread has none."""
    body = await request.read_body(RunBody, "adapter_body_size")
    gateway, who = request.gateway, request.principal
    session_id = await _session_of(request, body.thread_id)
    running = await open_turn(request, session_id)
    try:
        shown = await gateway.sessions.active_turns(who, session_id)
        place = await gateway.streams.following(who, session_id)
    except NotFound:
        shown, place = frozenset[str](), None
    if place is None or (place.head == 0 and running is None):
        return Response(b"", 200, {"cache-control": "no-store"}, STREAM)
    return stream_response(request, place, AgUiThread(body, shown, place.head, running), failed_frame)


@endpoint("POST", "/ag-ui/stop", "turn.cancel", {204: (None,)}, StopBody)
async def stop(request: ApiRequest) -> Response:
    """Stops the running turn of a thread; closing the connection does not."""
    body = await request.read_body(StopBody)
    return await stop_turn(request, await _session_of(request, body.thread_id))


async def _carry_out(
    request: ApiRequest, session_id: str, body: RunBody, *, goes_on: bool
) -> tuple[str | None, set[str]]:
    """Decides and answers what the client says of calls; the turn that goes on with it, and the calls whose
    results the client has. A result that comes too late is an error only where the client goes on with it."""
    gateway, who, turn_id = request.gateway, request.principal, None
    known = set[str]()
    for each in [*decisions_of(body.resume)]:
        request.allow("approval.decide")
        turn_id, decision = each.turn_id, "approved" if each.approved else "denied"
        try:
            await gateway.approvals.decide(
                who,
                session_id,
                turn_id,
                each.call_id,
                decision,
                reason=each.reason,
                arguments=each.arguments,
            )
        except Conflict:
            if not each.is_given_up:
                raise  # else it was decided otherwise meanwhile, or its time is over
    too_late: Conflict | None = None
    for each in results_of(body.messages):
        request.allow("tool_result.give")
        try:
            await gateway.client_results.give(
                who, session_id, each.turn_id, each.call_id, each.text, is_error=each.is_error
            )
        except NotFound:
            continue  # the gateway's own, under an id of the client's
        except Conflict as error:
            too_late = error
            continue
        turn_id = each.turn_id
        known.add(each.call_id)
    if too_late is not None and goes_on and turn_id is None:
        raise too_late
    return turn_id, known


async def _follow(request: ApiRequest, body: RunBody, turn: TurnRow, known: Collection[str] = ()) -> Response:
    """The turn from its beginning, or from where it waited for the client."""
    decided = {*known, *(each.call_id for each in decisions_of(body.resume))}
    place = await request.gateway.streams.following(request.principal, turn.session_id, turn_id=turn.id)
    return answer_stream(request, place, RunStream(run_of(body, known)), decided=decided)


async def _ask(request: ApiRequest, session_id: str, body: RunBody, sent: TurnRow | None) -> Accepted:
    """The turn that the newest message asks for, where the messages before it say. `sent` is the turn that
    the same message began before: it is asked once more, in a branch."""
    gateway, who, last = request.gateway, request.principal, body.messages[-1]
    text, files = await worked(request, lambda: user_content(last))
    name: str = last["id"]
    parent = await _place(request, session_id, body.messages[:-1])
    if sent is not None:
        name = f"{name} {body.run_id}"
        with suppress(Conflict):  # of a turn that never began
            parent = await gateway.turns.asked_after(who, session_id, sent.id)
    history: Sequence[SeedMessage] = ()
    waiting: TurnRow | None = None
    try:
        await gateway.sessions.get(who, session_id)
    except NotFound:
        if parent is not None:
            raise _differs() from None
        history = await worked(request, lambda: seeds_of(body.messages[:-1]))
    else:
        waiting = await gateway.turns.open_turn(session_id)
    asked = TurnRequest(
        message=text,
        session_id=session_id,
        create_session=parent is None,
        client_message_id=id_of(name, "m") if name else None,
        on_conflict=_on_conflict(waiting, body),
        model=body.model,
        attachments=files,
        parent_turn_id=parent,
        instructions=body.instructions,
        tools=body.tool_specs,
    )
    if history:
        await gateway.sessions.seed(who, session_id, None, history)
    try:
        return await gateway.turns.start(who, asked)
    except NotFound as error:
        if error.code not in {"turn_not_found", "session_not_found"}:
            raise
        raise _differs() from None
    except Conflict as error:
        if error.code != "no_branch_point":
            raise
        return await gateway.turns.start(
            who, replace(asked, parent_turn_id=None)
        )  # the one before never began


def _on_conflict(waiting: TurnRow | None, body: RunBody) -> OnConflict:
    """A turn that waits for the client makes way when that goes on to something else; one that was answered
    in the same breath comes to its end first."""
    if waiting is not None and waiting.status.startswith("awaiting_"):
        return "interrupt"
    return "queue" if body.resume or results_of(body.messages) else "reject"


async def _place(request: ApiRequest, session_id: str, before: Sequence[Message]) -> str | None:
    """The turn of the newest message that is of this gateway; None where there is none. Where clients give
    answers ids of their own, the text of the user's message counts; what they show is the active branch,
    then."""
    for message in reversed(before[-LOOKED_AT:]):
        for name in (message["id"], str(message.get("toolCallId"))):
            if (turn_id := turn_of(name)) is not None:
                return turn_id
        if message["role"] == "user" and (sent := await _sent(request, session_id, message)) is not None:
            active = await request.gateway.sessions.active_turns(request.principal, session_id)
            return sent.id if sent.id in active else None
    return None


async def _sent(request: ApiRequest, session_id: str, message: Message) -> TurnRow | None:
    name = message["id"]
    return await request.gateway.turns.sent(request.principal, session_id, id_of(name, "m")) if name else None


async def _last_turn(request: ApiRequest, session_id: str, body: RunBody) -> TurnRow | None:
    """The turn that the client has a part of, else the one that runs."""
    turn_id = await _place(request, session_id, body.messages)
    if turn_id is None:
        return await open_turn(request, session_id)
    try:
        return await request.gateway.turns.get(request.principal, session_id, turn_id)
    except NotFound:
        raise _differs() from None


async def _session_of(request: ApiRequest, thread_id: str) -> str:
    return await session_of(request, thread_id, "ag")


def _differs() -> Conflict:
    return Conflict("The messages are not those of this thread. Load it anew.", code="history_differs")


ADAPTER = Adapter("/ag-ui", endpoints_of(__name__))
