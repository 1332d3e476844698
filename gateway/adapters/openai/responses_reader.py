"""Where a turn waits for its client, which cuts it into responses; and the reader of one of them."""

from collections.abc import Sequence
from dataclasses import replace

from gateway.adapters.openai.responses_frames import ResponseEvents
from gateway.adapters.turn_fold import Fold
from gateway.adapters.turn_parts import Part, TurnBegan, Waiting
from gateway.events.envelope import StoredEvent
from gateway.http.requests import ApiRequest
from gateway.service.follower import PAGE, StreamRange

_MAY_WAIT = frozenset({"tool_call", "tool_result", "approval_request", "approval_response"})


class Waits:
    """Follows a turn from its first event on to where it waits, by the log alone, so that it is cut in the
    same way whenever it is read. All that it waits for at one place is decided together."""

    def __init__(self) -> None:
        self.fold = Fold()
        self.on: Sequence[Waiting] = ()
        """What the turn waits for since the event `since`, unless another call of the message follows."""
        self.since = 0

    def take(self, event: StoredEvent) -> Sequence[Part]:
        """Its parts."""
        parts = self.fold.take((event,))
        if event.type in _MAY_WAIT:
            self.on, self.since = self.fold.waits_for, event.seq
        return parts

    def is_end(self, following: StoredEvent) -> bool:
        """Whether a response ends before that event: calls of one message come together."""
        return bool(self.on) and following.type != "tool_call"

    def go_on(self) -> frozenset[str]:
        """It waits no longer; the calls that were waited for."""
        calls = frozenset(each.call.id for each in self.on)
        self.fold.decide(calls)
        self.on = ()
        return calls


class ResponseReader:
    """Hands `encoder` the parts of one response, the turn's first or that behind the event `behind`; as of
    the session's event `head` a turn that waits has ended its response."""

    def __init__(self, encoder: ResponseEvents, head: int, behind: int | None) -> None:
        self.is_finished = False
        self._encoder = encoder
        self._head = head
        self._behind = behind
        self._waits = Waits()
        self._began: Sequence[Part] = ()
        self._unsent: list[bytes] = []

    @property
    def turn_id(self) -> str:
        return self._waits.fold.turn_id

    @property
    def waits(self) -> bool:
        """Whether the turn waits, as of the last event."""
        return bool(self._waits.on)

    def read(self, events: Sequence[StoredEvent]) -> bool:
        waits = self._waits
        for event in events:
            if waits.is_end(event):
                if self._behind is None:
                    self.pause()
                    return False
                self._go_on()
            parts = waits.take(event)
            if self._behind is None:
                self._unsent.append(self._encoder.encode(parts))
            elif parts and isinstance(parts[0], TurnBegan):
                self._began = parts
        if self.waits and self._behind == waits.since:
            self._go_on()
        self.is_finished = waits.fold.is_over
        if not self.waits or self._behind is not None:
            return False
        if events[-1].seq < self._head:
            return True
        self.pause()
        return False

    def pause(self) -> None:
        self.is_finished = True
        self._unsent.append(self._encoder.pause(self._waits.on))

    def unsent(self, _events: Sequence[StoredEvent] = ()) -> bytes:
        unsent, self._unsent = self._unsent, []
        return b"".join(unsent)

    def _go_on(self) -> None:
        if self._waits.since == self._behind:
            self._behind = None
            self._unsent.append(self._encoder.encode(self._began))
        self._waits.go_on()


async def read_so_far(request: ApiRequest, place: StreamRange, reader: ResponseReader) -> None:
    """Hands `reader` what the log has."""
    after: int | None = place.after
    while after is not None and not reader.is_finished:
        events, after = await request.gateway.streams.page(replace(place, after=after), PAGE)
        if events:
            reader.read(events)
            reader.unsent()
    if reader.waits and not reader.is_finished:
        reader.pause()


async def places_waited(request: ApiRequest, place: StreamRange) -> dict[int, frozenset[str]]:
    """The events with which a turn began to wait for its client, and the calls that it waited for."""
    waits, found = Waits(), dict[int, frozenset[str]]()
    after: int | None = place.after
    while after is not None:
        events, after = await request.gateway.streams.page(replace(place, after=after), PAGE)
        for event in events:
            if waits.is_end(event):
                found[waits.since] = waits.go_on()
            waits.take(event)
    if waits.on:
        found[waits.since] = waits.go_on()
    return found
