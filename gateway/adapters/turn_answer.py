"""What reads a turn's events and makes an answer of them: the contract of a dialect's encoder, and the reader
that ends where the turn does, or waits."""

from collections.abc import Collection, Sequence
from typing import Protocol

from gateway.adapters.turn_fold import Fold
from gateway.adapters.turn_parts import CallAnswered, Part, TurnBegan, Waiting
from gateway.errors import GatewayError
from gateway.events.envelope import StoredEvent


class Encoder(Protocol):
    """Writes parts in a dialect, in the order in which they come; one for each answer."""

    def encode(self, parts: Sequence[Part]) -> bytes: ...

    def pause(self, waits_for: Sequence[Waiting]) -> bytes:
        """The end of an answer whose turn waits for these decisions and calls."""
        ...

    def trouble(self, error: GatewayError) -> bytes:
        """The end of an answer that breaks off; its turn may go on."""
        ...


class AnswerReader(Protocol):
    """Turns events into the bytes of a response."""

    is_finished: bool
    """The response is complete."""

    @property
    def turn_id(self) -> str:
        """The turn that may be waiting."""
        ...

    def read(self, events: Sequence[StoredEvent]) -> bool:
        """Takes the next events; whether the turn may be waiting since, which the caller has to find out."""
        ...

    def pause(self) -> None:
        """The turn waits for a person."""
        ...

    def unsent(self, _events: Sequence[StoredEvent] = ()) -> bytes:
        """What to send of the events that were taken."""
        ...


class EncodedAnswer:
    """An answer of one encoder and one fold, whose bytes are held until they are sent."""

    def __init__(self, encoder: Encoder) -> None:
        self.is_finished = False
        self._encoder = encoder
        self._fold = Fold()
        self._unsent = b""

    @property
    def turn_id(self) -> str:
        return self._fold.turn_id

    def pause(self) -> None:
        self.is_finished = True
        self._unsent += self._encoder.pause(self._fold.waits_for)

    def unsent(self, _events: Sequence[StoredEvent] = ()) -> bytes:
        unsent, self._unsent = self._unsent, b""
        return unsent


class TurnAnswer(EncodedAnswer):
    """The answer to one reader of a turn, made of the turn's events from the first on.

    Where the reader has `decided` about calls, or answered them, this begins where the turn waited for that:
    with the turn's first part, and then what came behind. A turn that waits is the end only where nothing
    came behind: so it is from `head` on, the session's last event when the answer began.
    """

    def __init__(self, encoder: Encoder, head: int, decided: Collection[str] = ()) -> None:
        super().__init__(encoder)
        self._head = head
        self._decided = set(decided)
        self._is_known = bool(decided)
        self._began: list[Part] = []

    def read(self, events: Sequence[StoredEvent]) -> bool:
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

    def _pass_over(self, events: Sequence[StoredEvent]) -> Sequence[StoredEvent]:
        """The events behind what the reader knows."""
        for number, event in enumerate(events, start=1):
            parts = self._fold.take([event])
            self._began += [part for part in parts if isinstance(part, TurnBegan)]
            self._encoder.encode(parts)
            self._decided -= {part.call.id for part in parts if isinstance(part, CallAnswered)}
            waits_for = self._fold.waits_for
            is_here = waits_for and self._decided <= {each.call.id for each in waits_for}
            if number < len(events) and events[number].type == "tool_call":
                continue  # of the same message
            if is_here or self._fold.is_over:
                self._is_known = False
                self._encoder.pause(waits_for)
                self._fold.decide(self._decided)
                self._unsent = self._encoder.encode(self._began)
                return events[number:]
        return ()
