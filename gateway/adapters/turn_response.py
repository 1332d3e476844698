"""A turn as the answer to one request of another dialect: it ends with the turn, or where the turn waits for
a person, who decides with another request."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import takewhile

from starlette.responses import Response

from gateway.adapters.turn_answer import AnswerReader, Encoder, TurnAnswer
from gateway.errors import ClientLeft, Draining, GatewayError, NotFound
from gateway.events.envelope import StoredEvent
from gateway.http.requests import ApiRequest
from gateway.http.stream import EventStream
from gateway.service.follower import PAGE, StreamRange, Take
from gateway.storage.turns import TurnRow

_OF_APPROVALS = frozenset({"approval_request", "approval_response", "tool_result"})


def answer_stream(
    request: ApiRequest,
    place: StreamRange,
    encoder: Encoder,
    *,
    decided: Collection[str] = (),
    accepted_at: int | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """The response that tells a turn, the one that `place` is scoped to, from its first event on.
    `accepted_at` is when it was accepted, where this request asked for it (Unix milliseconds)."""
    turn = place.turn
    assert turn is not None
    request.span.follows(turn.id)
    return stream_response(
        request,
        place,
        TurnAnswer(encoder, place.head, decided),
        encoder.trouble,
        accepted_at=accepted_at,
        headers={"x-turn-id": turn.id, **(headers or {})},
    )


def stream_response(
    request: ApiRequest,
    place: StreamRange,
    reader: AnswerReader,
    trouble: Callable[[GatewayError], bytes],
    *,
    accepted_at: int | None = None,
    headers: dict[str, str] | None = None,
) -> Response:
    """The response with what `reader` makes of the events from `place` on, until it has finished. `trouble`
    words the end of one that breaks off."""

    async def feed(take: Take) -> None:
        await follow_to_end(request, place, reader, take)

    kind = "resume" if accepted_at is None else "live"
    return EventStream(
        request,
        feed,
        request.telemetry.metrics.streams.opened(
            kind, head=place.head, accepted_at=accepted_at, dialect=request.dialect
        ),
        opening=b"",
        session_id=place.session_id,
        from_seq=place.after,
        encode=reader.unsent,
        trouble=trouble,
        headers={"x-session-id": place.session_id, **(headers or {})},
    )


async def whole_answer(
    request: ApiRequest, place: StreamRange, encoder: Encoder, *, decided: Collection[str] = ()
) -> None:
    """Waits for what `answer_stream` would tell, and hands it to `encoder`. Raises as `read_whole`."""
    await read_whole(request, place, TurnAnswer(encoder, place.head, decided))


async def read_whole(request: ApiRequest, place: StreamRange, reader: AnswerReader) -> None:
    """Waits until `reader` has finished with the turn that `place` is scoped to.

    Raises:
        errors.ClientLeft: the client has closed the connection; `place` says what becomes of the turn.
        errors.Draining: the server ends before the turn does. errors.StorageError: it cannot be read.
    """
    turn = place.turn
    assert turn is not None

    async def take(events: Sequence[StoredEvent]) -> None:
        request.span.follows(events[-1].turn_id)
        reader.unsent()

    request.span.follows(turn.id)
    following = asyncio.create_task(follow_to_end(request, place, reader, take))
    leaving = asyncio.create_task(_left(request))
    try:
        await asyncio.wait((following, leaving), return_when=asyncio.FIRST_COMPLETED)
        if not following.done():
            raise ClientLeft("The connection was closed before the answer was whole.")
        following.result()
    finally:
        following.cancel()
        leaving.cancel()
        await asyncio.wait((following, leaving))


async def _left(request: ApiRequest) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def follow_to_end(request: ApiRequest, place: StreamRange, reader: AnswerReader, take: Take) -> None:
    """Hands on what comes until the reader has finished. Raises errors.StorageError, and errors.Draining
    where the server ends before."""
    gateway, sent = request.gateway, 0

    async def take_until_finished(found: Sequence[StoredEvent]) -> None:
        nonlocal sent
        events = [event for event in found if event.seq > sent]
        if not events:
            return
        await _complete(request, place, events)
        sent = events[-1].seq
        if reader.read(events):
            now = await gateway.turns.get(request.principal, place.session_id, reader.turn_id)
            if now.status.startswith("awaiting_") and not await _behind(request, place, sent):
                reader.pause()
        await take(events)
        if reader.is_finished and not (place.turn is not None and events[-1].type == "done"):
            raise _Finished  # else the place ends here by itself

    with suppress(_Finished):
        await gateway.streams.follow(place, take_until_finished)
    if not reader.is_finished:
        raise Draining("The connection is closed while the answer goes on. Read it again in a moment.")


async def _complete(request: ApiRequest, place: StreamRange, events: list[StoredEvent]) -> None:
    """Adds the rest of the calls that the client shall run where `events` end between those of a message, as
    a page of the log may: it would look as if the turn waited for the first ones alone. All calls of a
    message come in one commit, so the others are there."""
    while events[-1].type == "tool_call" and events[-1].load()["data"].get("runs_on") == "client":
        behind = await _behind(request, place, events[-1].seq)
        calls = [*takewhile(lambda event: event.type == "tool_call", behind)]
        if not calls:
            return
        events += calls


async def _behind(request: ApiRequest, place: StreamRange, seq: int) -> Sequence[StoredEvent]:
    """What of the place stands in the log by now behind that event, at most a page."""
    found, _ = await request.gateway.streams.page(replace(place, after=seq, head=seq + PAGE), PAGE)
    return found


async def decided_calls(request: ApiRequest, turn: TurnRow) -> frozenset[str]:
    """The calls of a turn that are decided while its log does not have the decision yet: to a reader that
    begins now the turn shall not look as if it waited."""
    gateway, who = request.gateway, request.principal
    asked = set[str]()
    after: int | None = 0 if turn.status != "done" else None
    while after is not None:
        place = await gateway.streams.following(
            who, turn.session_id, after=after, turn_id=turn.id, types=_OF_APPROVALS, live=False
        )
        events, after = await gateway.streams.page(place, PAGE)
        for event in events:
            (asked.add if event.type == "approval_request" else asked.discard)(event.load()["tool_call_id"])
    rows = [await gateway.approvals.read(who, turn.session_id, turn.id, call_id) for call_id in asked]
    return frozenset(row.tool_call_id for row in rows if row.verdict is not None)


async def open_turn(request: ApiRequest, session_id: str) -> TurnRow | None:
    """The running turn of a session of the caller's; None where none runs, or there is no such session."""
    try:
        await request.gateway.sessions.get(request.principal, session_id)
    except NotFound:
        return None
    return await request.gateway.turns.open_turn(session_id)


async def stop_turn(request: ApiRequest, session_id: str) -> Response:
    """Stops the running turn of a session, if there is one; 204 anyhow."""
    turn = await open_turn(request, session_id)
    if turn is not None:
        await request.gateway.turns.cancel(request.principal, session_id, turn.id)
    return Response(status_code=204, headers={"cache-control": "no-store"})


class _Finished(Exception):
    """The response is complete."""
