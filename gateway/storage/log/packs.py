"""The rows of events: each event has one of its own at first; many are in one row once enough have come.

    appended -> loose_events: in the order of arrival, of all sessions, for few pages a flush
    packed   -> event_packs: what follows each other in one turn, condensed (see condensed.py)

So an event of a long answer takes little more than its text, and the log is read, archived and removed by the
hundred events.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import chain, islice, repeat
from typing import Any, NamedTuple

from sqlalchemy import bindparam, insert

from gateway.events.envelope import StoredEvent, encode_scope
from gateway.storage.database import Prepared
from gateway.storage.log import Page
from gateway.storage.log.condensed import FORM, bodies_of, condense, types_of
from gateway.storage.schema import event_packs, loose_events

MAX_EVENTS = 128
"""Events in a pack."""
MAX_SIZE = 262_144
"""Bytes of a pack's events, as they were appended; one event may be larger."""
PAGE_BYTES = 1_048_576
"""Bytes of a page after which it ends, but always one event."""
PAGE_PACKS = 64
"""Packs in a page."""
FILTERED = 2048
"""Events that are looked through at a time for those of some types."""

SCOPE = b"\x01"
"""Stood in packs of several events, before they were condensed, for their `encode_scope`."""

_event: Callable[[tuple[int, str, str, bytes]], StoredEvent] = partial(tuple.__new__, StoredEvent)
"""A StoredEvent without a step of the interpreter: what `StoredEvent._make` does in thrice the time."""

EventRow = tuple[str, int, str, str, bytes]
"""Session, seq, turn, type and body of an event."""

ADD_LOOSE = Prepared(
    insert(loose_events)
    .values(
        session_id=bindparam("session_id"),
        seq=bindparam("seq"),
        turn_id=bindparam("turn_id"),
        type=bindparam("type"),
        body=bindparam("body"),
    )
    .inline()  # nothing is returned: PostgreSQL's have no number
)
ADD_PACK = Prepared(
    insert(event_packs).values({column.name: bindparam(column.name) for column in event_packs.c})
)


class Pack(NamedTuple):
    """A row of `event_packs`, its columns in their order. `types` are the events' types (see `counted`).
    `lines` is the body of a single event as it is; several are condensed, or, in packs of before, bodies with
    SCOPE in them."""

    session_id: str
    last_seq: int
    first_seq: int
    turn_id: str
    types: str
    lines: bytes


def page_of(events: list[StoredEvent], types: Sequence[str], *, limit: int, last: int, until: int) -> Page:
    """A page of the `events` that were read of a log which ends at `last`: those of `types` if any are given,
    at most `limit`. It was looked for them up to `until`, unless there may be more before that."""
    seen = events[-1].seq if events else last
    if types:
        events = [event for event in events if event.type in types]
        if len(events) > limit:
            events = events[:limit]
            seen = events[-1].seq
    return Page(events, until if seen >= last else seen)


class _Run:
    """Events of a turn that follow each other, until they are a pack."""

    def __init__(self, session_id: str, seq: int, turn_id: str) -> None:
        self.session_id, self.first_seq, self.turn_id = session_id, seq, turn_id
        self.types: list[str] = []
        self.bodies: list[bytes] = []
        self.size = 0

    def takes(self, seq: int, turn_id: str, body: bytes) -> bool:
        count = len(self.bodies)
        return (
            turn_id == self.turn_id
            and seq == self.first_seq + count
            and count < MAX_EVENTS
            and self.size + len(body) <= MAX_SIZE
        )

    def add(self, event_type: str, body: bytes) -> None:
        self.types.append(event_type)
        self.bodies.append(body)
        self.size += len(body)

    def packs(self) -> Iterator[Pack]:
        if len(self.bodies) > 1:
            scope = encode_scope(self.session_id, self.turn_id)
            found = condense(scope, self.first_seq, self.types, self.bodies)
            if found is not None:
                yield self._pack(0, len(self.bodies), *found)
                return
        # Also bodies that are not what `encode` makes: each as it is.
        for at, (event_type, body) in enumerate(zip(self.types, self.bodies, strict=True)):
            yield self._pack(at, 1, event_type, body)

    def _pack(self, at: int, count: int, types: str, lines: bytes) -> Pack:
        first = self.first_seq + at
        return Pack(self.session_id, first + count - 1, first, self.turn_id, types, lines)


def packs_of(rows: Iterable[EventRow]) -> Iterator[Pack]:
    """The packs of `rows`, which are in order within each session. They are taken one by one, and a pack
    comes as soon as its end is known; of each session something is held until the end."""
    runs: dict[str, _Run] = {}
    for session_id, seq, turn_id, event_type, body in rows:
        run = runs.get(session_id)
        if run is None or not run.takes(seq, turn_id, body):
            if run is not None:
                yield from run.packs()
            run = runs[session_id] = _Run(session_id, seq, turn_id)
        run.add(event_type, body)
    for run in runs.values():
        yield from run.packs()


def events_of(pack: Pack, after: int = 0, until: int = 2**63 - 1) -> list[StoredEvent]:
    """The events of a pack with seq > `after` and <= `until`, byte for byte as they were packed."""
    session_id, last, first, turn_id, text, lines = pack
    seqs = range(max(first, after + 1), min(last, until) + 1)
    if not seqs:
        return []
    if first == last:
        return [StoredEvent(first, text, turn_id, lines)]
    types, scope, skipped = types_of(text), encode_scope(session_id, turn_id), seqs.start - first
    if lines.startswith(FORM):
        bodies = bodies_of(lines, scope, types, seqs, skipped)
    else:
        bodies = lines.replace(SCOPE, scope).split(b"\n")[skipped : seqs.stop - first]
    names = islice(chain.from_iterable(repeat(*each) for each in types), skipped, None)
    return list(map(_event, zip(seqs, names, repeat(turn_id), bodies, strict=False)))


def rows_of(packs: Iterable[Pack]) -> Iterator[dict[str, Any]]:
    """For ADD_PACK."""
    return (pack._asdict() for pack in packs)
