"""Events: they are stored once and in order, and readers are notified in time. The log is in
event_log.py, the bus in bus.py."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gateway.events.envelope import StoredEvent
from gateway.events.lifecycle import Outcome
from gateway.ids import OPERATION_PREFIX
from gateway.messages import Message, Usage


class Page(NamedTuple):
    """Events of a session, in order. `seen` is the seq up to which was looked for them."""

    events: list[StoredEvent]
    seen: int


@dataclass(frozen=True, slots=True)
class Closing:
    """How a turn ended; stored together with its `done` event. `prefix_hash` identifies the prompt before the
    messages that its last model call had. `unreported` counts the calls that began to answer and never
    reported what they used."""

    outcome: Outcome
    iterations: int
    usage: Usage | None
    cost: float | None
    at: int
    prefix_hash: str | None = None
    unreported: int = 0


FORMER_TURN = OPERATION_PREFIX + "of_"
"""What begins the `turn_id` of an entry about a turn that is over, before that turn's id: versions before
there was such take it for an operation."""


class OutboxEntry(NamedTuple):
    """Events that happened beside the session's open turn and wait to be written: `turn_id` is what they
    belong to, an operation, a turn that is over (see FORMER_TURN) or one that was cancelled while it waited;
    `events` are types and encoded data."""

    number: int
    turn_id: str
    events: Sequence[tuple[str, bytes]]

    @property
    def is_turn(self) -> bool:
        """Whether these are all events of a turn."""
        return not self.turn_id.startswith(OPERATION_PREFIX)

    def turn_in(self, open_turn: str | None) -> str:
        """The turn id of its events when they are written while that turn is open."""
        if self.turn_id.startswith(FORMER_TURN):
            return self.turn_id.removeprefix(FORMER_TURN)
        return self.turn_id if self.is_turn or open_turn is None else open_turn


class Append(NamedTuple):
    """Some events of one turn, and what must become true together with them.

    `events` continue the session from `head` without a gap. `message` is added to the history. `closing` ends
    the turn. `entry` is what of the outbox the events are: it leaves there. `sync` asks for a flush at once,
    and that the bytes reach the disk itself also where a setting leaves pieces of text to the operating
    system. `can_wait`: the flush need not be at once, as something follows soon that goes with it. `settled`
    is called on the event loop once the fate is known: None for durable, else the error.
    """

    session_id: str
    turn_id: str
    epoch: int
    head: int
    events: Sequence[StoredEvent]
    settled: Callable[[Exception | None], None]
    message: Message | None = None
    usage: Usage | None = None
    closing: Closing | None = None
    entry: OutboxEntry | None = None
    sync: bool = True
    can_wait: bool = False


class EventAppender(Protocol):
    """The writing end of the log. Appends of one session are stored in the order of the calls."""

    def append(self, batch: Append) -> None:
        """Queues `batch` for the next commit and returns at once; `batch.settled` has the outcome.

        It is refused with `errors.TurnLost` unless, in the committing transaction, the session's head is
        `batch.head`, its open turn that one and its epoch `batch.epoch`. A refusal touches no other batch.

        Raises:
            TypeError, ValueError: it cannot be encoded, or its events do not continue from the head. Nothing
                is queued then.
        """
        ...


OnEvents = Callable[[Sequence[StoredEvent]], None]
"""Is called with the events that are published, in order; without any when something else changed and the
reader should look again. It must be quick; its exceptions are logged only."""
