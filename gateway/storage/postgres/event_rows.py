"""The rows of events on PostgreSQL, read page by page. Loose events stay loose; packs were imported."""

from collections.abc import Sequence
from typing import Any, LiteralString

from sqlalchemy import Connection

from gateway.events.envelope import StoredEvent
from gateway.storage.log import Page
from gateway.storage.log.packs import FILTERED, PAGE_BYTES, PAGE_PACKS, Pack, events_of, page_of
from gateway.storage.postgres.connections import raw_of
from gateway.storage.postgres.transactions import begin_snapshot

# Most pages are of loose events: one round trip brings them, and that there are no packs.
_PAGE = """
    WITH place AS (
        SELECT head,
            EXISTS (
                SELECT FROM session_archives WHERE session_id = id AND to_seq > %(after)s
            ) AS archived,
            EXISTS (
                SELECT FROM event_packs
                WHERE session_id = id AND last_seq > %(after)s AND first_seq <= %(until)s
            ) AS packed
        FROM sessions JOIN heads ON session_id = id WHERE id = %(session_id)s
    )
    SELECT archived, packed, head, seq, type, turn_id, body
    FROM place LEFT JOIN LATERAL (
        SELECT *, sum(length(body)) OVER (ORDER BY seq) - length(body) AS before
        FROM (
            SELECT seq, type, turn_id, body FROM loose_events
            WHERE session_id = %(session_id)s AND seq > %(after)s AND seq <= %(until)s
            ORDER BY seq LIMIT %(most)s
        ) AS next
    ) AS loose ON NOT archived AND (%(loose)s OR NOT packed) AND before < %(bytes)s
    ORDER BY seq
"""
_PACKS = """
    SELECT session_id, last_seq, first_seq, turn_id, types, lines
    FROM (
        SELECT *, sum(length(lines)) OVER (ORDER BY last_seq) - length(lines) AS before
        FROM (
            SELECT * FROM event_packs
            WHERE session_id = %(session_id)s AND last_seq > %(after)s AND first_seq <= %(until)s
            ORDER BY last_seq LIMIT %(packs)s
        ) AS next
    ) AS sized
    WHERE before < %(bytes)s ORDER BY last_seq
"""


def read_page(
    connection: Connection,
    session_id: str,
    *,
    after: int,
    limit: int,
    until: int,
    types: Sequence[str] = (),
) -> Page | None:
    """A page of events after a seq, or None where an archive goes on. Takes a snapshot by itself where it
    needs one."""
    most = FILTERED if types else limit
    place = {"session_id": session_id, "after": after, "until": until, "most": most, "bytes": PAGE_BYTES}
    rows = _rows(connection, _PAGE, place, loose=False)
    if rows and rows[0][1]:
        begin_snapshot(raw_of(connection))
        rows = _rows(connection, _PAGE, place, loose=False)
    if not rows:  # what is left of a deleted session is not shown
        return Page([], until)
    archived, packed, head = rows[0][:3]
    if archived:
        return None
    if packed:
        events, more = _packed(connection, place)
        if not more and len(events) < most:
            place |= {"after": events[-1].seq if events else after, "most": most - len(events)}
            events += _events(_rows(connection, _PAGE, place, loose=True))
    else:
        events = _events(rows)
    return page_of(events, types, limit=limit, last=min(until, head), until=until)


def _packed(connection: Connection, place: dict[str, Any]) -> tuple[list[StoredEvent], bool]:
    """A page of what is packed, and whether more may be."""
    packs = [Pack(*row) for row in _rows(connection, _PACKS, place, packs=PAGE_PACKS)]
    events = [event for pack in packs for event in events_of(pack, place["after"], place["until"])]
    size = sum(len(pack.lines) for pack in packs)
    more = len(events) > place["most"] or len(packs) == PAGE_PACKS or size >= PAGE_BYTES
    return events[: place["most"]], more


def _events(rows: Sequence[tuple[Any, ...]]) -> list[StoredEvent]:
    return [StoredEvent._make(row[3:]) for row in rows if row[3] is not None]


def _rows(
    connection: Connection, statement: LiteralString, place: dict[str, Any], **more: Any
) -> list[tuple[Any, ...]]:
    """In the binary form: a text of bytes would be twice as long."""
    return raw_of(connection).cursor(binary=True).execute(statement, place | more).fetchall()
