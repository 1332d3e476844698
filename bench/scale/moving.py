"""A record of a million events, moved from SQLite to PostgreSQL and back."""

import tempfile
from collections.abc import Iterator
from time import perf_counter
from typing import Any

import psycopg

from bench.figures import Figure
from bench.scale.cluster import Cluster
from gateway.events.envelope import encode, encode_scope
from gateway.storage.log.packs import packs_of
from gateway.storage.moving.steps import TABLES
from gateway.wiring.database_move import move_everything, opened

EVENTS, QUICK_EVENTS = 1_000_000, 100_000
TURN = 100
"""Events of a turn."""
TURNS = 10
"""Turns of a session."""
PIECE = b'{"text":"a piece of an answer"}'
"""The data of an event."""
EMPTY: dict[str, Any] = {"TEXT": "", "BIGINT": 0, "BOOLEAN": False}


def moving(cluster: Cluster, *, quick: bool) -> Iterator[Figure]:
    """The way back is that of a log which PostgreSQL's gateway wrote: each event is a row."""
    events = QUICK_EVENTS if quick else EVENTS
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        here, back = (f"sqlite:///{folder}/{name}/gateway.db" for name in ("here", "back"))
        there, loose = cluster.database(), cluster.database()
        fill(here, events)
        yield moved("sqlite to postgresql", here, there, events)
        fill(loose, events)
        yield moved("postgresql to sqlite", loose, back, events)


def moved(name: str, source: str, target: str, events: int) -> Figure:
    began = perf_counter()
    move_everything(source, target, None, lambda _: None)
    rate = events / (perf_counter() - began)
    return Figure(f"move of {events:,} events, {name}", rate, "events/s", 20_000, at_most=False)


def fill(url: str, events: int) -> None:
    """Sessions with turns, their messages and events."""
    rows: dict[str, list[tuple[Any, ...]]] = {name: [] for name in ("sessions", "heads", "turns", "messages")}
    logged: list[tuple[str, int, str, str, bytes]] = []
    for number in range(events // (TURN * TURNS)):
        session, head = f"s_{number}", TURN * TURNS
        rows["sessions"].append(row_of("sessions", id=session, owner="ann", indexed_head=head))
        rows["heads"].append(row_of("heads", session_id=session, head=head, position=2 * TURNS, epoch=TURNS))
        for turn in range(TURNS):
            turn_id, first = f"t_{number}_{turn}", turn * TURN
            scope = encode_scope(session, turn_id)
            bounds = {"number": number * TURNS + turn + 1, "first_seq": first + 1, "last_seq": first + TURN}
            about = {
                "id": turn_id,
                "session_id": session,
                "owner": "ann",
                "input": "Tell me.",
                "status": "done",
            }
            rows["turns"].append(row_of("turns", **bounds, **about))
            for place, role in enumerate(("user", "assistant"), 2 * turn + 1):
                content = '[{"type":"text","text":"' + "a piece of an answer " * TURN + '"}]'
                said = {"position": place, "turn_id": turn_id, "role": role, "content": content}
                rows["messages"].append(row_of("messages", session_id=session, **said))
            logged += (
                (
                    session,
                    seq,
                    turn_id,
                    "text",
                    encode(seq, "text", 1_795_000_000_000 + 7 * seq, scope, PIECE),
                )
                for seq in range(first + 1, first + TURN + 1)
            )
    tables = {table.name: table for table in TABLES}
    with opened(url, is_target=True) as database, database.connection.begin():
        for name, of_table in rows.items():
            database.add(tables[name], of_table)
        if url.startswith("sqlite"):
            database.add(tables["event_packs"], list(packs_of(logged)))
    if not url.startswith("sqlite"):
        statement = b"COPY loose_events (session_id, seq, turn_id, type, body) FROM STDIN"
        with psycopg.connect(url) as connection, connection.cursor().copy(statement) as copy:
            for row in logged:
                copy.write_row(row)


def row_of(name: str, **given: Any) -> tuple[Any, ...]:
    """A row of a table, what is not given and may not be absent being empty."""
    table = next(table for table in TABLES if table.name == name)
    return tuple(
        given.get(column.name, None if column.nullable else EMPTY.get(str(column.type), 0))
        for column in table.c
    )
