"""Events that happen beside the turns: written to the log at once when no emitter writes the session, else
kept here until that emitter, or a delivery after its end, writes them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, bindparam, delete, insert, literal_column, select, true, update

from gateway.errors import Conflict
from gateway.events.envelope import EventData, StoredEvent, encode, encode_data, encode_scope
from gateway.events.lifecycle import EVENTS_LOST, TurnWarning
from gateway.ids import new_operation_id
from gateway.storage.database import Prepared, send
from gateway.storage.log import OutboxEntry
from gateway.storage.log.packs import ADD_LOOSE
from gateway.storage.refusals import no_session
from gateway.storage.replica_signals import Signal
from gateway.storage.schema import outbox, turns
from gateway.storage.turns.heads import HEAD, MOVE
from gateway.storage.webhooks.enqueue import enqueue_turn

_SESSION = outbox.c.session_id == bindparam("session_id")

ENTRIES = Prepared(
    select(outbox.c.number, outbox.c.turn_id, outbox.c.events).where(_SESSION).order_by(outbox.c.number)
)
ADD = Prepared(
    insert(outbox)
    .values(session_id=bindparam("session_id"), turn_id=bindparam("turn_id"), events=bindparam("events"))
    .returning(outbox.c.number)
)
REMOVE = Prepared(delete(outbox).where(outbox.c.number == bindparam("number")))
CLOSE_WAITING = Prepared(
    update(turns)
    .where(turns.c.id == bindparam("turn_id"), turns.c.status == literal_column("'accepted'"))
    .values(status="done", outcome="cancelled", cancel_requested=true(), ended_at=bindparam("at"))
)
# A turn that ended in the outbox: its events follow each other.
BOUND = Prepared(
    update(turns)
    .where(turns.c.id == bindparam("turn_id"))
    .values(first_seq=bindparam("first"), last_seq=bindparam("last"))
)


LOST = "{} events that were shown are gone with a server that failed. Their numbers are not used again."


class Outcome(NamedTuple):
    """What became of some events: `stored` are in the log now, or, as a turn is being written, `entry` is in
    the outbox. `is_free`: no turn is being written."""

    stored: Sequence[StoredEvent] = ()
    entry: OutboxEntry | None = None
    is_free: bool = True


def add_lost(connection: Connection, session_id: str, first: int, last: int) -> None:
    """The warning that the numbers from `first` to `last` are left out, in the outbox, so that it is written
    in any case."""
    warning = TurnWarning(code=EVENTS_LOST, message=LOST.format(last - first + 1), first=first, last=last)
    operation = new_operation_id()
    entry = OutboxEntry(0, operation, [(warning.event_type, encode_data(warning))])
    ADD.value(connection, session_id=session_id, turn_id=operation, events=_packed(entry))


def append_beside(
    connection: Connection,
    session_id: str,
    turn_id: str,
    data: Sequence[EventData],
    at: int,
    *,
    owner: str | None = None,
) -> Outcome:
    """Events that no owner of the session's head emits. Raises errors.NotFound (session_not_found), also
    where the session is not that `owner`'s."""
    entry = OutboxEntry(0, turn_id, [(each.event_type, encode_data(each)) for each in data])
    head = HEAD.one(connection, session_id=session_id)
    if head is None or owner not in {None, head[4]}:
        raise no_session(session_id)
    if _is_free(head):
        return Outcome(_append(connection, session_id, head, [entry], at))
    if (replica := head[3]) is not None:  # else its next one looks for what is here
        send(connection, Signal("outbox", session_id, to=replica))
    number = ADD.value(connection, session_id=session_id, turn_id=turn_id, events=_packed(entry))
    return Outcome(entry=entry._replace(number=number), is_free=False)


def close_waiting(
    connection: Connection, session_id: str, turn_id: str, data: Sequence[EventData], at: int
) -> Outcome:
    """Ends a turn that waits. Raises errors.Conflict (turn_not_waiting)."""
    if CLOSE_WAITING.run(connection, turn_id=turn_id, at=at).rowcount != 1:
        raise Conflict(f"Turn {turn_id} does not wait any more.", code="turn_not_waiting")
    enqueue_turn(connection, turn_id, at)
    return append_beside(connection, session_id, turn_id, data, at)


def deliver(connection: Connection, session_id: str, at: int) -> Outcome:
    """Moves what the outbox has of a session into its log, unless a turn is being written."""
    head = HEAD.one(connection, session_id=session_id)
    if head is None:
        raise no_session(session_id)
    if not _is_free(head):
        return Outcome(is_free=False)
    found = entries(connection, session_id)
    stored = _append(connection, session_id, head, found, at)
    for entry in found:
        REMOVE.run(connection, number=entry.number)
    return Outcome(stored)


def entries(connection: Connection, session_id: str) -> list[OutboxEntry]:
    """What waits, in order."""
    rows = ENTRIES.run(connection, session_id=session_id).fetchall()
    return [OutboxEntry(number, turn_id, _unpacked(packed)) for number, turn_id, packed in rows]


def _append(
    connection: Connection,
    session_id: str,
    state: tuple[Any, ...],
    found: Sequence[OutboxEntry],
    at: int,
) -> list[StoredEvent]:
    head, open_turn, *_ = state
    stored: list[StoredEvent] = []
    for entry in found:
        turn_id = entry.turn_in(open_turn)
        scope = encode_scope(session_id, turn_id)
        first = head + 1
        for name, data in entry.events:
            head += 1
            stored.append(StoredEvent(head, name, turn_id, encode(head, name, at, scope, data)))
        if entry.is_turn:
            BOUND.run(connection, turn_id=turn_id, first=first, last=head)
    if stored:
        MOVE.run(connection, session_id=session_id, head=head)
        ADD_LOOSE.many(
            connection,
            (
                {"session_id": session_id, "seq": e.seq, "turn_id": e.turn_id, "type": e.type, "body": e.body}
                for e in stored
            ),
        )
    return stored


def _is_free(state: tuple[Any, ...]) -> bool:
    """Whether no turn is open, or it is suspended."""
    _, open_turn, parked_until, *_ = state
    return open_turn is None or parked_until is not None


def _packed(entry: OutboxEntry) -> bytes:
    return orjson.dumps([[name, orjson.Fragment(data)] for name, data in entry.events])


def _unpacked(packed: bytes) -> list[tuple[str, bytes]]:
    return [(name, orjson.dumps(data)) for name, data in orjson.loads(packed)]
