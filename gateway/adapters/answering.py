"""A turn as the answer to one request of another dialect: it ends with the turn, or where the turn waits for
a person, who decides with another request."""

from collections.abc import Collection, Sequence
from typing import Protocol

from starlette.responses import Response

from gateway.adapters.parts import CallAnswered, Fold, Part, TurnBegan, Waiting
from gateway.errors import Draining, GatewayError
from gateway.events.envelope import StoredEvent
from gateway.http.requests import ApiRequest
from gateway.http.stream import EventStream
from gateway.service.follower import Following, Take


class Encoder(Protocol):
    """Writes parts in a dialect, in the order in which they come; one for each answer."""

    def encode(self, parts: Sequence[Part]) -> bytes: ...

    def pause(self, waits_for: Sequence[Waiting]) -> bytes:
        """The end of an answer whose turn waits for these decisions and calls."""
        ...

    def trouble(self, error: GatewayError) -> bytes:
        """The end of an answer that breaks off; its turn may go on."""
        ...


class Answer:
    """What one reader is told of a turn, whose events it is handed from the first on.

    Where the reader has `decided` about calls, or answered them, this begins where the turn waited for that:
    with the turn's first part, and then what came behind. A turn that waits is the end only where nothing
    came behind: so it is from `head` on, the session's last event when the answer began.
    """

    def __init__(self, encoder: Encoder, head: int, decided: Collection[str] = ()) -> None:
        self.is_finished = False
        self._encoder = encoder
        self._head = head
        self._decided = set(decided)
        self._is_known = bool(decided)
        self._fold = Fold()
        self._began: list[Part] = []
        self._unsent = b""

    def read(self, events: Sequence[StoredEvent]) -> bool:
        """Takes the next events; whether the turn may be waiting since, which the caller has to find out."""
        if self._is_known:
            events = self._pass_over(events)
        self._unsent += self._encoder.encode(self._fold.take(events))
        self.is_finished = self._fold.is_over
        if self._is_known or not events or not self._fold.waits_for:
            return False
        if events[-1].seq < self._head:
            return True
        self.pause()
        return False

    def pause(self) -> None:
        """The turn waits for a person."""
        self.is_finished = True
        self._unsent += self._encoder.pause(self._fold.waits_for)

    def unsent(self, _events: Sequence[StoredEvent] = ()) -> bytes:
        """What to send of the events that were taken."""
        unsent, self._unsent = self._unsent, b""
        return unsent

    def _pass_over(self, events: Sequence[StoredEvent]) -> Sequence[StoredEvent]:
        """The events behind what the reader knows."""
        for number, event in enumerate(events, start=1):
            parts = self._fold.take([event])
            self._began += [part for part in parts if isinstance(part, TurnBegan)]
            self._encoder.encode(parts)
            self._decided -= {part.call.id for part in parts if isinstance(part, CallAnswered)}
            waits_for = self._fold.waits_for
            is_here = waits_for and self._decided <= {each.call.id for each in waits_for}
            if is_here or self._fold.is_over:
                self._is_known = False
                self._encoder.pause(waits_for)
                self._fold.decide(self._decided)
                self._unsent = self._encoder.encode(self._began)
                return events[number:]
        return ()


def answer_stream(
    request: ApiRequest,
    place: Following,
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
    answer = Answer(encoder, place.head, decided)
    gateway = request.gateway

    async def feed(take: Take) -> None:
        async def take_until_finished(events: Sequence[StoredEvent]) -> None:
            if answer.read(events):
                now = await gateway.turn(request.principal, place.session_id, turn.id)
                if now.status.startswith("awaiting_"):
                    answer.pause()
            await take(events)
            if answer.is_finished:
                raise _Finished

        try:
            await gateway.follow(place, take_until_finished)
        except _Finished:
            return
        raise Draining("The connection is closed while the answer goes on. Read it again in a moment.")

    request.span.follows(turn.id)
    kind = "resume" if accepted_at is None else "live"
    return EventStream(
        request,
        feed,
        request.telemetry.metrics.streams.opened(kind, head=place.head, accepted_at=accepted_at),
        opening=b"",
        session_id=place.session_id,
        from_seq=place.after,
        encode=answer.unsent,
        trouble=encoder.trouble,
        headers={"x-session-id": place.session_id, "x-turn-id": turn.id, **(headers or {})},
    )


class _Finished(Exception):
    """Nothing more is to be told."""
