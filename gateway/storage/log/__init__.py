"""The storage contract of events: they are stored once and in order, and readers are notified in time."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gateway.events.envelope import EventData, StoredEvent
from gateway.events.lifecycle import Outcome
from gateway.events.session_changes import Feedback
from gateway.ids import OPERATION_PREFIX
from gateway.messages import Message, Usage
from gateway.storage.turns import TurnRow


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


class EventLog(EventAppender, Protocol):
    """The record of everything that happened."""

    async def read(
        self, session_id: str, *, after: int, limit: int, until: int | None = None, types: Sequence[str] = ()
    ) -> list[StoredEvent]:
        """Events with seq > `after` (and <= `until`), in order, at most `limit`, only of `types` if given;
        archived ones too. Empty only when there are no more.

        Raises:
            errors.ArchiveDamaged: the archive that holds the next ones is missing or not what was written.
        """
        ...

    async def note(
        self, session_id: str, operation_id: str, data: EventData, at: int, *, owner: str | None = None
    ) -> OutboxEntry | None:
        """Stores one event that no turn emits. Its turn_id is `operation_id`, or that of the open turn. It is
        in the log when this returns None. While a turn of the session is being written it is in the outbox,
        and returned: that turn's emitter writes it (`Append.entry`), or `deliver` once it ended. Raises
        errors.NotFound (session_not_found), also where the id has come to a session of another than `owner`
        (None: of any owner)."""
        ...

    async def close_waiting(self, turn: TurnRow, data: Sequence[EventData], at: int) -> OutboxEntry | None:
        """Ends a turn that waits as cancelled, with `data` for its events, which are stored as by `note`.
        Raises errors.Conflict (turn_not_waiting)."""
        ...

    async def rate(self, turn: TurnRow, data: Feedback, at: int) -> OutboxEntry | None:
        """Stores what its owner thinks of a turn that is over, as by `note` but with the turn's id; nothing
        when that is what they thought last. Raises errors.NotFound (session_not_found, turn_not_found)."""
        ...

    async def deliver(self, session_id: str, at: int) -> bool:
        """Moves what the outbox has of a session into its log. False, and nothing done, while a turn of the
        session is being written. Raises errors.NotFound (session_not_found)."""
        ...

    async def outbox_of(self, session_id: str) -> Sequence[OutboxEntry]:
        """The outbox entries of a session, in order."""
        ...


OnEvents = Callable[[Sequence[StoredEvent]], None]
"""Is called with the events that are published, in order; without any when something else changed and the
reader should look again. It must be quick; its exceptions are logged only."""


class Subscription(Protocol):
    """A place in a session's live stream."""

    gone: bool
    """Whether the session was deleted since: nothing that is read under its id belongs to this reader."""

    def since(self, seq: int) -> Sequence[StoredEvent] | None:
        """Events after `seq` that are still in memory. Empty: there are none yet, wait for the next
        (with no other await in between). None: read the log from there, then ask again, also when it had
        nothing."""
        ...


class Publisher(Protocol):
    """The bus for the writers of sessions in this process."""

    def publish(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        """Hands durable events, in order, to the followers of the session; without any it only has them look
        again. Never waits for a reader, nor raises what one of them does."""
        ...

    def expect(self, session_id: str, head: int, made_at: int = 0) -> None:
        """A turn is about to be written in this process, from `head` on, and no other process writes the
        session before `release`: a reader that has seen `head` need not read the log. `made_at` as for
        `shown`."""
        ...

    def release(self, session_id: str) -> None:
        """The turn is not written here any more: others may write the session."""
        ...

    def newest(self, session_id: str) -> tuple[int, int]:
        """When the session was made, and its highest published number; 0: not known, as it had no
        follower."""
        ...

    def life(self, session_id: str) -> int:
        """Another number after each `forget`: events that were on their way before are dropped."""
        ...

    def forget(self, session_id: str) -> None:
        """The session was deleted and its id may be used again, by anybody: its readers are woken, find it
        gone, and get nothing that is published under that id later."""
        ...


class Subscriptions(Protocol):
    """The bus for readers."""

    def subscribe(
        self, session_id: str, on_events: OnEvents | None = None, made_at: int = 0
    ) -> AbstractContextManager[Subscription]:
        """A place in the session's stream until the context is left; each publication calls `on_events`.
        `made_at` as for `shown`."""
        ...

    def shown(self, session_id: str, made_at: int = 0) -> int:
        """The highest number of the session that is known to have been published; 0 when nothing is known.
        One that was made at another time had the same id before: it is forgotten. 0: it is that of before."""
        ...

    @property
    def readers(self) -> int:
        """Subscriptions that are open now."""
        ...

    def watch(self, observer: Callable[[str, Sequence[StoredEvent]], None]) -> None:
        """Calls `observer(session_id, events)` for every publication; it must be quick and must not raise."""
        ...


class ReplicaFeed(Protocol):
    """The bus for what other processes have committed."""

    def hear(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        """Hands on events that another process has committed: readers get them, observers do not."""
        ...

    def missing(self, heads: Mapping[str, int]) -> Mapping[str, int]:
        """Others have committed: `heads` are the newest events of sessions now. Returns of which the events
        are to be read, for `hear`, and behind which one."""
        ...

    @property
    def followed(self) -> Sequence[str]:
        """The sessions with a follower here that other processes may write."""
        ...

    def on_followed(self, observer: Callable[[str], None]) -> None:
        """Calls `observer(session_id)`, which must be quick, when a session comes to be one of `followed`."""
        ...


class Bus(Publisher, Subscriptions, ReplicaFeed, Protocol):
    """Notifies readers that the log has grown. The record is the log; a bus may forget, never invent."""
