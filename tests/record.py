"""Everything a database file holds, read straight from its tables and past the product's own storage."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import orjson

from gateway.messages import Message, Usage
from gateway.storage.base import SessionRow, StoredMessage, TurnRow
from tests.invariants import Body, Record

SESSIONS = "SELECT id, owner, title, created_at, updated_at, head FROM sessions ORDER BY id"
TURNS = """
    SELECT id, session_id, owner, status, outcome, input, model, client_message_id, epoch, created_at,
           first_seq, last_seq, cancel_requested
    FROM turns WHERE session_id = ? ORDER BY number"""
EVENTS = "SELECT seq, type, turn_id, body FROM events WHERE session_id = ? ORDER BY seq"
MESSAGES = (
    "SELECT position, turn_id, role, content, usage FROM messages WHERE session_id = ? ORDER BY position"
)


def read_records(database: Path) -> list[Record]:
    """One record per session of the SQLite file; nobody else need be running.

    Raises:
        AssertionError: a row says something else than the event it holds.
    """
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        sessions = [SessionRow(*row) for row in connection.execute(SESSIONS)]
        return [_record(connection, session) for session in sessions]


def _record(connection: sqlite3.Connection, session: SessionRow) -> Record:
    return Record(
        session,
        [_event(*row) for row in connection.execute(EVENTS, (session.id,))],
        [_turn(row) for row in connection.execute(TURNS, (session.id,))],
        [_message(*row) for row in connection.execute(MESSAGES, (session.id,))],
    )


def _turn(row: tuple[Any, ...]) -> TurnRow:
    *fields, cancel_requested = row
    return TurnRow(*fields, cancel_requested=bool(cancel_requested))


def _event(seq: int, event_type: str, turn_id: str, body: bytes) -> Body:
    event: Body = orjson.loads(body)
    assert (event["seq"], event["type"], event["turn_id"]) == (seq, event_type, turn_id)
    return event


def _message(position: int, turn_id: str, role: str, content: str, usage: str | None) -> StoredMessage:
    assert role in {"user", "assistant"}
    return StoredMessage(
        position,
        turn_id,
        Message(role, orjson.loads(content)),  # pyright: ignore[reportArgumentType] - asserted above
        Usage.model_validate_json(usage) if usage else None,
    )
