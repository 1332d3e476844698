"""What storage owes its callers. Every implementation passes tests/contracts/.

All methods raise `errors.StorageError` when the database cannot do its work (locked, full, gone), and nothing
half-done is left behind. Owners are user ids; a row of another owner is as absent as one that never was.
"""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol

from gateway.events.envelope import EventData, StoredEvent
from gateway.events.lifecycle import Outcome
from gateway.ids import OPERATION_PREFIX
from gateway.messages import Attached, Message, Usage
from gateway.storage.archives import CompressionRow

TurnStatus = Literal["accepted", "running", "awaiting_approval", "done"]
OnConflict = Literal["reject", "queue", "interrupt"]

GENERATION_OPEN = 2**53
"""Where a generation begins that has not begun yet: the view changed while a turn ran, which goes on with the
old one. The next turn fixes it at the last message it finds."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session. Times are Unix milliseconds; `head` is the seq of its last event, 0 before the first."""

    id: str
    owner: str
    title: str | None
    created_at: int
    updated_at: int
    head: int
    project_id: str | None = None
    role_id: str | None = None


@dataclass(frozen=True, slots=True)
class TurnRow:
    """A turn. `first_seq` and `last_seq` bound its events; 0 while it has none. Between them lie no others
    but those of a turn that was cancelled while it waited for this one. `epoch` is the number of its owner,
    who alone may append: it grows with each owner in the session, and is 0 of a turn that is not open.
    `recoveries` counts the owners that were lost. A turn that is awaiting_approval has no owner, and is its
    session's running one nevertheless. `project_id` and `role_id` are those of its session, `attachments`
    came with its message."""

    id: str
    session_id: str
    owner: str
    status: TurnStatus
    outcome: Outcome | None
    input: str
    model: str
    client_message_id: str | None
    epoch: int
    created_at: int
    first_seq: int
    last_seq: int
    cancel_requested: bool
    project_id: str | None = None
    role_id: str | None = None
    attachments: tuple[Attached, ...] = ()
    recoveries: int = 0


class OwnedTurn(NamedTuple):
    """A turn that runs, and the number of its owner."""

    session_id: str
    turn_id: str
    epoch: int


@dataclass(frozen=True, slots=True)
class NewTurn:
    """What is needed to accept a turn. `session_id` must be an id; `create_session` makes it if it is new, in
    that project and role. The session uses the artifacts of `attachments` from then on, and those that were
    made for this turn (their `turn_id`) belong to it."""

    id: str
    session_id: str
    owner: str
    input: str
    model: str
    client_message_id: str | None
    on_conflict: OnConflict
    create_session: bool
    at: int
    project_id: str | None = None
    role_id: str | None = None
    attachments: tuple[Attached, ...] = ()


@dataclass(frozen=True, slots=True)
class Accepted:
    """A turn was accepted, or (`repeated`) had been before under the same client_message_id. `head` is the
    session's last seq at that moment, `interrupts` the running turn that has to make way. `history` is the
    session's as of then, without the turn, where it was at hand."""

    turn: TurnRow
    head: int
    repeated: bool = False
    interrupts: str | None = None
    history: "History | None" = None


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message of a session's history. `position` is its order from 1, `turn_id` the turn it belongs to,
    `usage` what the endpoint reported for the call that wrote it."""

    position: int
    turn_id: str
    message: Message
    usage: Usage | None = None


@dataclass(frozen=True, slots=True)
class ToldMemories:
    """What stands in a session's prompt of the memories, from the message after `generation_from` on: `text`
    as the model reads it, `digests` by what was told, to see when it is no longer so; those in `named` were
    told by their summaries only. `forgotten` are memories that turns were told and that are no longer so,
    each with the position of the last message of which that holds."""

    text: str
    digests: Mapping[str, str]
    generation_from: int
    named: frozenset[str] = frozenset()
    forgotten: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class History:
    """What a session's view is made of. `messages` are those after what `compression` covers, and the one it
    keeps; all of them when it is None. Thinking up to position `generation_from` was signed for another
    prefix. `carried` is what the session was told of former ones, `prefix_hash` identifies the prompt before
    the messages as the last turn ended with it (None: unknown, or a generation began since). `memories` is
    what was told of them, also when that was in a former generation."""

    messages: Sequence[StoredMessage]
    compression: CompressionRow | None = None
    generation_from: int = 0
    carried: str | None = None
    failed_compressions: int = 0
    prefix_hash: str | None = None
    memories: ToldMemories | None = None


@dataclass(frozen=True, slots=True)
class Outline:
    """A session as of one moment, before its messages are read: `history` is without them, `last` the
    position of the last one."""

    session: SessionRow
    open_turn: TurnRow | None
    history: History
    last: int

    @property
    def ranges(self) -> Sequence[tuple[int, int]]:
        """Where the messages of the history lie: pairs of a position that comes before and the last one."""
        row = self.history.compression
        if row is None:
            return [(0, self.last)]
        kept = [(row.kept_position - 1, row.kept_position)] if row.kept_position is not None else []
        return [*kept, (row.to_position, self.last)]


@dataclass(frozen=True, slots=True)
class Closing:
    """How a turn ended; stored together with its `done` event. `prefix_hash` identifies the prompt before the
    messages that its last model call had."""

    outcome: Outcome
    iterations: int
    usage: Usage | None
    cost: float | None
    at: int
    prefix_hash: str | None = None


class OutboxEntry(NamedTuple):
    """Events that happened beside the session's open turn and wait to be written: `turn_id` is what they
    belong to, an operation or a turn that was cancelled while it waited; `events` are types and encoded
    data."""

    number: int
    turn_id: str
    events: Sequence[tuple[str, bytes]]

    @property
    def is_turn(self) -> bool:
        """Whether these are all events of a turn."""
        return not self.turn_id.startswith(OPERATION_PREFIX)

    def turn_in(self, open_turn: str | None) -> str:
        """The turn id of its events when they are written while that turn is open."""
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
        """Queues `batch` for the next commit and returns at once; `batch.settled` tells the fate.

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

    async def note(self, session_id: str, operation_id: str, data: EventData, at: int) -> OutboxEntry | None:
        """Stores one event that no turn emits. Its turn_id is `operation_id`, or that of the open turn. It is
        in the log when this returns None. While a turn of the session is being written it is in the outbox,
        and returned: that turn's emitter writes it (`Append.entry`), or `deliver` once it ended. Raises
        errors.NotFound (session_not_found)."""
        ...

    async def close_waiting(self, turn: TurnRow, data: Sequence[EventData], at: int) -> OutboxEntry | None:
        """Ends a turn that waits as cancelled, with `data` for its events, which are stored as by `note`.
        Raises errors.Conflict (turn_not_waiting)."""
        ...

    async def deliver(self, session_id: str, at: int) -> bool:
        """Moves what the outbox has of a session into its log. False, and nothing done, while a turn of the
        session is being written. Raises errors.NotFound (session_not_found)."""
        ...

    async def undelivered(self) -> Sequence[str]:
        """The sessions of which something is in the outbox."""
        ...

    async def outbox_of(self, session_id: str) -> Sequence[OutboxEntry]:
        """What is in the outbox of a session, in order."""
        ...


class Sessions(Protocol):
    """Conversations and what was said in them."""

    async def create(
        self,
        session_id: str,
        owner: str,
        title: str | None,
        at: int,
        *,
        project_id: str | None = None,
        role_id: str | None = None,
    ) -> SessionRow:
        """Raises errors.Conflict when the id is taken, by whomever."""
        ...

    async def get(self, session_id: str, owner: str) -> SessionRow:
        """Raises errors.NotFound (code session_not_found)."""
        ...

    async def list(
        self, owner: str, *, limit: int, before: tuple[int, str] | None = None, query: str | None = None
    ) -> list[SessionRow]:
        """Newest first by (updated_at, id), strictly before that pair. With `query` only sessions that have
        all its words in one turn or in the title: English and Chinese, whatever the inflection or script. One
        without words finds nothing; a turn is found a moment after its end (see `Search`)."""
        ...

    async def rename(self, session_id: str, owner: str, title: str) -> SessionRow:
        """Raises errors.NotFound."""
        ...

    async def delete(self, session_id: str, owner: str) -> Sequence[str]:
        """Removes the session with all that belongs to it, also the artifacts that were made in it and that
        no other session uses. Nobody finds any of it from then on; the rows of a long one go in slices
        (see `Purges`), and its id may be created again after the last: until then that is refused with
        errors.Conflict (session_being_removed). Returns blobs that may be orphans since (see
        `Orphans`): of its archives all, of artifacts those of the first slice.

        Raises:
            errors.NotFound; errors.TurnInProgress while a turn is running or waiting.
        """
        ...

    async def messages(
        self, session_id: str, *, after: int = 0, until: int | None = None
    ) -> Sequence[StoredMessage]:
        """Everything that was said, in order: the messages with position > `after` (and <= `until`), archived
        ones too. Nothing ever changes or removes one while the session is there.

        Raises:
            errors.ArchiveDamaged: an archive that holds some of them is missing or not what was written.
        """
        ...

    async def history(self, session_id: str, *, whole: bool = False) -> History:
        """What the model's view of the session is made of; with `whole`, as if nothing were compressed.
        Raises errors.ArchiveDamaged."""
        ...

    async def outline(self, session_id: str, owner: str, *, whole: bool = False) -> Outline:
        """The session, its running turn and what its history is made of, all as of one moment. Raises
        errors.NotFound."""
        ...

    def pages(self, outline: Outline) -> AsyncGenerator[Sequence[StoredMessage]]:
        """The messages of its history, in order, a few at a time: however long it is, a page is about as
        large as the largest message.

        Raises:
            errors.NotFound: the session was deleted meanwhile.
            errors.ArchiveDamaged.
        """
        ...

    async def begin_generation(self, session_id: str, after: int, *, instead_of: int) -> None:
        """The prompt before the messages has changed: thinking up to position `after` is sent no more, and
        the prefix hash is forgotten. Nothing happens when the generation is no longer `instead_of`: a newer
        one began meanwhile."""
        ...

    async def carried(self, session_id: str) -> str | None:
        """What the session was told of former ones, if anything."""
        ...

    async def tell_memories(self, session_id: str, told: ToldMemories) -> None:
        """Fixes what a session is told of the memories, until another is given."""
        ...

    async def forget_memory(self, owner: str, memory_id: str) -> None:
        """Leaves nothing of what a memory said in what the owner's sessions were told: no text in those that
        have it in their prompt, where its digest is void, and none in the messages that record its recall.
        Events and archives stay as they are."""
        ...

    async def carry(self, session_id: str, text: str) -> None:
        """Fixes what a session is told of former ones, for as long as it lives."""
        ...


class Turns(Protocol):
    """Turns and who owns them. At most one turn of a session is running at any time."""

    async def accept(self, new: NewTurn, *, max_queued: int) -> Accepted:
        """Stores the turn as running, or as accepted (waiting) when another runs and on_conflict is queue or
        interrupt.

        Raises:
            errors.NotFound: no such session (or another owner's) and create_session is false.
            errors.TurnInProgress: another turn runs and on_conflict is reject; details: turn_id, seq.
            errors.QueueFull: `max_queued` turns wait already.
            errors.Conflict: the client_message_id was used with another message or other attachments (by
                their names and sizes); the session is in another project or role than is given; or
                create_session and the id belongs to somebody else.
        """
        ...

    async def sent(self, session_id: str, client_message_id: str, owner: str) -> TurnRow | None:
        """The turn that this message of the owner's started; None before it did."""
        ...

    async def get(self, session_id: str, turn_id: str, owner: str) -> TurnRow:
        """Raises errors.NotFound (code turn_not_found)."""
        ...

    async def open_turn(self, session_id: str) -> TurnRow | None:
        """The running turn of a session, also one that awaits an approval."""
        ...

    async def model(self, session_id: str) -> str | None:
        """The model of the session's newest turn; None before the first."""
        ...

    async def claim_next(self, session_id: str) -> Accepted | None:
        """Makes the longest-waiting turn of an idle session the running one; a turn that interrupts goes
        first. None when nothing waits or one runs."""
        ...

    async def request_cancel(self, turn_id: str) -> None:
        """Records that the turn shall stop. One that waits is handed out by claim_next all the same, so that
        it gets its end: `EventLog.close_waiting` ends it at once."""
        ...

    async def count_waiting(self) -> int:
        """How many turns, of all sessions, wait for those before them."""
        ...

    async def cancelled_waiting(self) -> Sequence[TurnRow]:
        """The turns that wait though they shall stop: a former version left them so."""
        ...

    async def owned(self) -> Sequence[OwnedTurn]:
        """The turns that run and are not parked: each must have an owner that is alive."""
        ...

    async def take_over(self, turn_id: str, *, recovered: bool) -> Accepted | None:
        """Makes the caller the owner of a running turn: appends by the former one are refused from then on.
        `recovered`: that one was lost, which is counted. None when the turn is over or parked."""
        ...

    async def recover(self) -> list[Accepted]:
        """Start-up: takes over every running turn that a former process left. Sessions in which turns only
        wait are included by claiming. Turns that await an approval stay as they are."""
        ...


Told = Callable[[Sequence[StoredEvent]], None]
"""What a reader is told: the events that are published now, in order; none of them: something else changed,
look again. It must be quick; what it raises is logged and reaches nobody."""


class Subscription(Protocol):
    """A place in a session's live stream."""

    gone: bool
    """Whether the session was deleted since: nothing that is read under its id belongs to this reader."""

    def since(self, seq: int) -> Sequence[StoredEvent] | None:
        """Events after `seq` that are still in memory. Empty: there are none yet, wait to be told (with no
        other await in between). None: read the log from there, then ask again, also when it had nothing."""
        ...


class Bus(Protocol):
    """Tells readers in time that the log has grown. The record is the log; a bus may forget, never invent."""

    def publish(self, session_id: str, events: Sequence[StoredEvent]) -> None:
        """Hands durable events, in order, to whoever follows the session; without any it only has them look
        again. Never waits for a reader, nor raises what one of them does."""
        ...

    def expect(self, session_id: str, head: int) -> None:
        """A turn is about to be written, from `head` on: who has seen `head` need not read the log."""
        ...

    def subscribe(self, session_id: str, told: Told | None = None) -> AbstractContextManager[Subscription]:
        """A place in the session's stream until the context is left; `told` is called at each publication."""
        ...

    @property
    def readers(self) -> int:
        """Subscriptions that are open now."""
        ...

    def watch(self, observer: Callable[[str, Sequence[StoredEvent]], None]) -> None:
        """Calls `observer(session_id, events)` for every publication; it must be quick and must not raise."""
        ...

    def forget(self, session_id: str) -> None:
        """The session was deleted and its id may be used again, by anybody: its readers are woken, find it
        gone, and get nothing that is published under that id later."""
        ...
