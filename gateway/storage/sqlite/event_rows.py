"""The rows of events on SQLite: written by the writer, packed when enough have come, and read page by page.

Each step of a statement lets go of the interpreter lock and has to win it back from a busy event loop: it is
the number of steps that counts. So many rows go in by one statement, and come out in one row.
"""

import logging
import sqlite3
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Any

from gateway.events.envelope import StoredEvent
from gateway.storage.log import Page
from gateway.storage.log.packs import FILTERED, PAGE_BYTES, PAGE_PACKS, Pack, events_of, packs_of, page_of
from gateway.storage.sqlite_files.failures import is_broken

log = logging.getLogger(__name__)

CHUNKS = (256, 128, 64, 32, 16, 8, 4, 2, 1)
"""Rows per statement; few sizes, so that each statement is planned once."""

LOOSE_EVENTS = 2048
LOOSE_SIZE = 524_288
"""Loose events, and bytes of them, from which on they are packed: some 5 ms for the writer. A reader goes
through so many."""
MAX_PACKED = 4096
"""Loose events that are packed in one transaction."""

_COUNT = "SELECT count(*), coalesce(sum(length(body)), 0) FROM loose_events"
_ADD_LOOSE = "INSERT INTO loose_events (session_id, seq, turn_id, type, body) VALUES {rows}"
_ADD_PACKS = "INSERT INTO event_packs (session_id, last_seq, first_seq, turn_id, types, lines) VALUES {rows}"
_OLDEST = """
    SELECT max(number), group_concat(session_id), group_concat(seq), group_concat(turn_id),
        group_concat(type), group_concat(length(body)), CAST(group_concat(body, '') AS BLOB)
    FROM (SELECT * FROM loose_events ORDER BY number LIMIT ?)
"""
_REMOVE_OLDEST = "DELETE FROM loose_events WHERE number <= ?"
_LAST_OF_OLDEST = "SELECT max(number) FROM (SELECT number FROM loose_events ORDER BY number LIMIT ?)"
_MOVE_OLDEST = """
    INSERT OR IGNORE INTO event_packs (session_id, last_seq, first_seq, turn_id, types, lines)
    SELECT session_id, seq, seq, turn_id, type, body FROM loose_events WHERE number <= ?
"""

_SESSION = """
    SELECT EXISTS (
            SELECT 1 FROM session_archives JOIN sessions ON id = session_id
            WHERE session_id = :session_id AND to_seq > :after
        ),
        (SELECT head FROM heads JOIN sessions ON id = session_id WHERE session_id = :session_id)
"""
_PACKS = """
    SELECT group_concat(last_seq), group_concat(first_seq), group_concat(length(lines))
    FROM (
        SELECT last_seq, first_seq, lines FROM event_packs
        WHERE session_id = :session_id AND last_seq > :after AND first_seq <= :until
        ORDER BY last_seq LIMIT :most
    )
"""
_LINES = """
    SELECT group_concat(turn_id), group_concat(types), CAST(group_concat(lines, '') AS BLOB)
    FROM (
        SELECT turn_id, types, lines FROM event_packs
        WHERE session_id = :session_id AND last_seq > :after AND last_seq <= :last ORDER BY last_seq
    )
"""
_LOOSE = """
    SELECT group_concat(seq), group_concat(type), group_concat(turn_id), group_concat(length(body)),
        CAST(group_concat(body, '') AS BLOB)
    FROM (
        SELECT seq, type, turn_id, body, sum(length(body)) OVER (ORDER BY number) - length(body) AS before
        FROM loose_events WHERE session_id = :session_id AND seq > :after AND seq <= :until
        ORDER BY number LIMIT :limit
    )
    WHERE before < :bytes
"""


class Statements:
    """A statement that adds rows, for each of the sizes of CHUNKS."""

    def __init__(self, statement: str, width: int) -> None:
        row = f"({', '.join('?' * width)})"
        self._width = width
        self._of_size = {size: statement.format(rows=", ".join([row] * size)) for size in CHUNKS}

    def run(self, connection: sqlite3.Connection, values: Sequence[Any]) -> int:
        """Executes for rows that are laid end to end; the number of rows that were changed."""
        at = changed = 0
        for size, statement in self._of_size.items():
            length = size * self._width
            while len(values) - at >= length:
                changed += connection.execute(statement, values[at : at + length]).rowcount
                at += length
        return changed


LOOSE_ROWS = Statements(_ADD_LOOSE, 5)
PACK_ROWS = Statements(_ADD_PACKS, 6)


class Packing:
    """Adds events, and packs them when there are enough, in the same transaction. On the writer's thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._count, self._size = connection.execute(_COUNT).fetchone()

    def add(self, connection: sqlite3.Connection, values: Sequence[Any]) -> None:
        """Adds rows of EventRow, laid end to end."""
        LOOSE_ROWS.run(connection, values)
        self._count += len(values) // 5
        self._size += sum(map(len, values[4::5]))
        if self._count >= LOOSE_EVENTS or self._size >= LOOSE_SIZE:
            pack(connection)
            self._count = self._size = 0


def pack(connection: sqlite3.Connection) -> None:
    """Packs the oldest MAX_PACKED loose events, in the open transaction. Their content cannot make the flush
    fail, since all that follow would fail too: if need be each gets a row of its own. They cannot stay loose:
    a session's loose events are read behind those that are packed."""
    connection.execute("SAVEPOINT packing")
    try:
        _pack(connection)
    except Exception as error:
        # Ours, not the database's: nothing of the flush is in doubt.
        if is_broken(error):
            raise
        log.exception("events could not be packed: each gets a row of its own")
        connection.execute("ROLLBACK TO packing")
        last = connection.execute(_LAST_OF_OLDEST, (MAX_PACKED,)).fetchone()
        connection.execute(_MOVE_OLDEST, last)
        connection.execute(_REMOVE_OLDEST, last)
    connection.execute("RELEASE packing")


def _pack(connection: sqlite3.Connection) -> None:
    found = connection.execute(_OLDEST, (MAX_PACKED,)).fetchone()
    last, session_ids, seqs, turn_ids, types, sizes, bodies = found
    names = (column.split(",") for column in (turn_ids, types))
    rows = zip(session_ids.split(","), _numbers(seqs), *names, _cut(bodies, sizes), strict=True)
    PACK_ROWS.run(connection, [value for row in packs_of(rows) for value in row])
    connection.execute(_REMOVE_OLDEST, (last,))


def read_page(
    connection: sqlite3.Connection,
    session_id: str,
    *,
    after: int,
    limit: int,
    until: int,
    types: Sequence[str] = (),
) -> Page | None:
    """A page of events after a seq, or None where an archive goes on. All statements must see the same
    moment."""
    archived, head = connection.execute(_SESSION, {"session_id": session_id, "after": after}).fetchone()
    if archived:
        return None
    # What is left of a deleted session is not shown.
    last = min(until, head or 0)
    if last <= after:
        return Page([], until)
    most = FILTERED if types else limit
    events, more = _packed(connection, session_id, after, most, last)
    if not more and len(events) < most:
        seen = events[-1].seq if events else after
        events += _loose(connection, session_id, seen, most - len(events), last)
    return page_of(events, types, limit=limit, last=last, until=until)


def _packed(
    connection: sqlite3.Connection, session_id: str, after: int, limit: int, until: int
) -> tuple[list[StoredEvent], bool]:
    """A page of what is packed, and whether more may be."""
    place: dict[str, Any] = {"session_id": session_id, "after": after}
    found = connection.execute(_PACKS, {**place, "until": until, "most": PAGE_PACKS}).fetchone()
    if found[0] is None:
        return [], False
    there = list(zip(*map(_numbers, found), strict=True))
    bounds: list[tuple[int, int, int]] = []
    count = size = 0
    for last, first, length in there:
        if count >= limit or size >= PAGE_BYTES:
            break
        bounds.append((last, first, length))
        count += last - max(first - 1, after)
        size += length
    turn_ids, types, lines = connection.execute(_LINES, {**place, "last": bounds[-1][0]}).fetchone()
    events: list[StoredEvent] = []
    at = 0
    for (last, first, length), turn_id, counted in zip(
        bounds, turn_ids.split(","), types.split(","), strict=True
    ):
        pack = Pack(session_id, last, first, turn_id, counted, lines[at : at + length])
        events += events_of(pack, after, until)
        at += length
    del events[limit:]
    return events, len(bounds) < len(there) or len(there) == PAGE_PACKS or size >= PAGE_BYTES


def _loose(
    connection: sqlite3.Connection, session_id: str, after: int, limit: int, until: int
) -> list[StoredEvent]:
    place = {"session_id": session_id, "after": after, "until": until, "limit": limit, "bytes": PAGE_BYTES}
    seqs, types, turn_ids, sizes, bodies = connection.execute(_LOOSE, place).fetchone()
    if bodies is None:
        return []
    rows = zip(_numbers(seqs), types.split(","), turn_ids.split(","), _cut(bodies, sizes), strict=True)
    return list(map(StoredEvent._make, rows))


def _cut(bodies: bytes, sizes: str) -> Iterator[bytes]:
    """What was put together in one piece, by the sizes of its parts."""
    return (bodies[begin:end] for begin, end in pairwise(accumulate(_numbers(sizes), initial=0)))


def _numbers(column: str) -> Iterator[int]:
    return map(int, column.split(","))
