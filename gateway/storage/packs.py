"""How events lie in the tables: each in a row of its own at first, many in one row once enough have come.

    appended -> loose_events: in the order of arrival, whatever their session, for few pages a flush
    packed   -> event_packs: what follows each other in one turn; the ids that each of them says are kept once

So the log of a long answer takes half the room, and is read, archived and removed by the hundred events.
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby, islice, repeat
from typing import Any, NamedTuple

from sqlalchemy import bindparam, insert

from gateway.events.envelope import StoredEvent, encode_scope
from gateway.storage.database import Prepared
from gateway.storage.schema import event_packs, loose_events

MAX_EVENTS = 128
"""Events in a pack."""
MAX_SIZE = 262_144
"""Bytes of a pack's events; one event may be larger."""

SCOPE = b"\x01"
"""Stands in a pack of several events for what `encode_scope` says of them: a byte that no JSON has."""

EventRow = tuple[str, int, str, str, bytes]
"""Session, seq, turn, type and body of an event."""

ADD_EVENT = Prepared(
    insert(loose_events).values(
        session_id=bindparam("session_id"),
        seq=bindparam("seq"),
        turn_id=bindparam("turn_id"),
        type=bindparam("type"),
        body=bindparam("body"),
    )
)
ADD_PACK = Prepared(
    insert(event_packs).values({column.name: bindparam(column.name) for column in event_packs.c})
)


class Pack(NamedTuple):
    """A row of `event_packs`, its columns in their order."""

    session_id: str
    last_seq: int
    first_seq: int
    turn_id: str
    types: str
    lines: bytes


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
        if len(self.bodies) == 1:
            yield self._pack(0, self.types, self.bodies[0])
            return
        lines = b"\n".join(self.bodies)
        if lines.count(b"\n") == len(self.bodies) - 1 and SCOPE not in lines:
            scope = encode_scope(self.session_id, self.turn_id)
            yield self._pack(0, self.types, lines.replace(scope, SCOPE))
            return
        # Bodies that are not what `encode` makes: each alone, as it is.
        for at, body in enumerate(self.bodies):
            yield self._pack(at, self.types[at : at + 1], body)

    def _pack(self, at: int, types: Sequence[str], lines: bytes) -> Pack:
        first = self.first_seq + at
        return Pack(self.session_id, first + len(types) - 1, first, self.turn_id, _counted(types), lines)


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
    session_id, last, first, turn_id, types, lines = pack
    begin, end = max(first, after + 1), min(last, until) + 1
    if first == last:
        return [StoredEvent(first, types, turn_id, lines)] if begin < end else []
    names = _types_of(types)
    if end - begin <= last - first:
        lines = b"\n".join(lines.split(b"\n")[begin - first : end - first])
        names = islice(names, begin - first, end - first)
    bodies = lines.replace(SCOPE, encode_scope(session_id, turn_id)).split(b"\n")
    return [
        StoredEvent(seq, event_type, turn_id, body)
        for seq, event_type, body in zip(range(begin, end), names, bodies, strict=False)
    ]


def rows_of(packs: Iterable[Pack]) -> Iterator[dict[str, Any]]:
    """For ADD_PACK."""
    return (pack._asdict() for pack in packs)


def _counted(types: Sequence[str]) -> str:
    """Types as text: each with how often it comes in a row, if more than once."""
    counted = ((name, sum(1 for _ in same)) for name, same in groupby(types))
    return " ".join(name if count == 1 else f"{name}*{count}" for name, count in counted)


def _types_of(counted: str) -> Iterator[str]:
    parts = (part.partition("*") for part in counted.split(" "))
    return chain.from_iterable(repeat(name, int(count or 1)) for name, _, count in parts)
