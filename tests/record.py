"""Everything a record holds, read from its tables and archives and past the product's own storage."""

import gzip
import sqlite3
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing, contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import orjson
import psycopg

from gateway.storage.sessions import SessionRow
from tests.invariants import Body, OpenTurn, Record
from tests.product import Message, StoredMessage, TurnRow, Usage

SESSIONS = """
    SELECT id, owner, title, created_at, updated_at, head, project_id
    FROM sessions JOIN heads ON session_id = id ORDER BY id"""
TURNS = """
    SELECT id, turns.session_id, owner, status, outcome, input, model, client_message_id,
           CASE WHEN turn_id = id THEN epoch ELSE 0 END, created_at, first_seq, last_seq, cancel_requested
    FROM turns JOIN heads ON heads.session_id = turns.session_id
    WHERE turns.session_id = ? ORDER BY number"""
OPEN = "SELECT turn_id, replica, parked_until FROM heads WHERE session_id = ? AND turn_id IS NOT NULL"
PACKS = """
    SELECT session_id, first_seq, last_seq, turn_id, types, lines FROM event_packs
    WHERE session_id = ? ORDER BY last_seq"""
LOOSE = "SELECT seq, type, turn_id, body FROM loose_events WHERE session_id = ? ORDER BY seq"
MESSAGES = (
    "SELECT position, turn_id, role, content, usage FROM messages WHERE session_id = ? ORDER BY position"
)
ARCHIVES = "SELECT events_path, messages_path FROM session_archives WHERE session_id = ? ORDER BY number"


class Reading(Protocol):
    """A connection to a database that runs a statement with `?` in the place of each value."""

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Iterable[tuple[Any, ...]]: ...


class Postgres(NamedTuple):
    """The `Reading` protocol on PostgreSQL."""

    connection: psycopg.Connection[tuple[Any, ...]]

    def execute(self, statement: str, values: Sequence[Any] = (), /) -> Iterable[tuple[Any, ...]]:
        return self.connection.execute(statement.replace("?", "%s").encode(), values)


@contextmanager
def reading(database: Path | str) -> Generator[Reading]:
    """Of an SQLite file or the URL of a PostgreSQL database."""
    if isinstance(database, str):
        with psycopg.connect(database) as served:
            yield Postgres(served)
    else:
        with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as file:
            yield file


def read_records(database: Path | str, blobs: Path | None = None) -> list[Record]:
    """One record per session; nobody else need be running. What was moved to archives is looked for in the
    folder `blobs`, by default the one beside the file.

    Raises:
        AssertionError: a row says something else than the event it holds.
    """
    folder = blobs or Path(database).parent / "blobs"
    with reading(database) as connection:
        sessions = [SessionRow(*row) for row in connection.execute(SESSIONS)]
        return [_record(connection, session, folder) for session in sessions]


def stored_events(connection: Reading, session_id: str) -> list[tuple[int, str, str, bytes]]:
    """Seq, type, turn and body of the events that the tables hold of a session, in order."""
    found: list[tuple[int, str, str, bytes]] = []
    for session, first, last, turn_id, types, lines in connection.execute(PACKS, (session_id,)):
        counted = [part.partition("*") for part in types.split(" ")]
        names = [name for name, _, count in counted for _ in range(int(count or 1))]
        said_once = f'"session_id":"{session}","turn_id":"{turn_id}"'.encode()
        if first == last:
            bodies = [lines]
        elif lines.startswith(b"\x02"):
            when, *rest = lines[1:].split(b"\n")
            ends = [
                end for end, (_, _, count) in zip(rest, counted, strict=False) for _ in range(int(count or 1))
            ]
            bodies = [
                b'{"v":1,"seq":%d,"type":"%b","ts":%d,%b%b' % (seq, name.encode(), ts, said_once, end % data)
                for seq, name, ts, end, data in zip(
                    range(first, last + 1),
                    names,
                    accumulate(orjson.loads(when)),
                    ends,
                    rest[len(counted) :],
                    strict=True,
                )
            ]
        else:
            bodies = lines.replace(b"\x01", said_once).split(b"\n")
        found += zip(range(first, last + 1), names, [turn_id] * len(names), bodies, strict=True)
    return [*found, *connection.execute(LOOSE, (session_id,))]


def _record(connection: Reading, session: SessionRow, folder: Path) -> Record:
    moved = list(connection.execute(ARCHIVES, (session.id,)))
    archived_events = [line for path, _ in moved for line in _lines(folder / path)]
    archived_messages = [orjson.loads(line) for _, path in moved for line in _lines(folder / path)]
    return Record(
        session,
        [
            *(orjson.loads(line) for line in archived_events),
            *(_event(*row) for row in stored_events(connection, session.id)),
        ],
        [_turn(row) for row in connection.execute(TURNS, (session.id,))],
        [
            *(_archived(**fields) for fields in archived_messages),
            *(_message(*row) for row in connection.execute(MESSAGES, (session.id,))),
        ],
        next((OpenTurn(*row) for row in connection.execute(OPEN, (session.id,))), None),
    )


def _lines(path: Path) -> list[bytes]:
    with gzip.open(path) as file:
        return file.read().splitlines()


def _turn(row: tuple[Any, ...]) -> TurnRow:
    *fields, cancel_requested = row
    return TurnRow(*fields, cancel_requested=bool(cancel_requested))


def _event(seq: int, event_type: str, turn_id: str, body: bytes) -> Body:
    event: Body = orjson.loads(body)
    assert (event["seq"], event["type"], event["turn_id"]) == (seq, event_type, turn_id)
    return event


def _message(position: int, turn_id: str, role: str, content: str, usage: str | None) -> StoredMessage:
    return _archived(position, turn_id, role, orjson.loads(content), orjson.loads(usage) if usage else None)


def _archived(position: int, turn_id: str, role: Any, content: Any, usage: Any) -> StoredMessage:
    assert role in {"user", "assistant"}
    return StoredMessage(position, turn_id, Message(role, content), Usage(**usage) if usage else None)
