"""What an append does to the tables, for all appends of a flush at once: many rows go into one statement (see
event_rows.py)."""

import sqlite3
from collections.abc import Sequence
from typing import Any

from gateway.errors import TurnLost
from gateway.storage.log.appending import Pending, Run, refusal, runs_of
from gateway.storage.messages import GENERATION_OPEN
from gateway.storage.sqlite.event_rows import Packing, Statements


def apply(
    connection: sqlite3.Connection, packing: Packing, pending: Sequence[Pending]
) -> list[TurnLost | None]:
    """Writes `pending` in the open transaction, in order. Returns for each None, or why it was refused."""
    runs = runs_of(pending)
    alone = len({run.session_id for run in runs}) == len(runs)
    if alone and move_heads(connection, runs):
        kept = runs
        for run in runs:
            write_parts(connection, run)
    else:
        kept: list[Run] = []
        for run in runs:
            if move_head(connection, run):
                kept.append(run)
                write_parts(connection, run)
    packing.add(connection, event_rows_of(kept))
    stored = {id(part) for run in kept for part in run.parts}
    return [None if id(part) in stored else refusal(part.batch) for part in pending]


# The fence is the one row that moves: compared and set, never looked up elsewhere (see turns/heads.py). Many
# are set by one statement, which sets up tables of its own at each run: one alone costs a fifth of that.
MOVE_HEAD = """
    UPDATE heads SET head = ?, position = position + ?
    WHERE session_id = ? AND head = ? AND turn_id = ? AND epoch = ?
"""
MOVE_HEADS = """
    UPDATE heads SET head = claim.column1, position = position + claim.column2
    FROM (VALUES {rows}) AS claim
    WHERE session_id = claim.column3 AND head = claim.column4 AND turn_id = claim.column5
    AND epoch = claim.column6
"""
# The head has moved already: `back` messages of this flush come after the one that is inserted.
INSERT_MESSAGE = """
    INSERT INTO messages (session_id, position, turn_id, role, content, usage)
    SELECT session_id, position - :back, :turn_id, :role, :content, :usage
    FROM heads WHERE session_id = :session_id
"""
CLOSE_TURN = """
    UPDATE turns
    SET status = 'done', outcome = ?, iterations = ?, usage = ?, cost = ?, unreported = ?,
        ended_at = ?, last_seq = ?
    WHERE id = ?
"""
FREE_HEAD = "UPDATE heads SET turn_id = NULL, replica = NULL WHERE session_id = ?"
DELIVERED = "DELETE FROM outbox WHERE number = ?"
BOUND_TURN = "UPDATE turns SET first_seq = ?, last_seq = ? WHERE id = ?"
# A prompt generation that is still open was made for another prompt than this turn's.
TOUCH_SESSION = """
    UPDATE sessions
    SET updated_at = ?, prefix_hash = CASE WHEN generation_from < ? THEN coalesce(?, prefix_hash) END
    WHERE id = ?
"""

FENCE = Statements(MOVE_HEADS, 6)


def move_head(connection: sqlite3.Connection, run: Run) -> bool:
    """The fence: False when another lease holder, or another head, has come between."""
    return connection.execute(MOVE_HEAD, run.fence()).rowcount == 1


def move_heads(connection: sqlite3.Connection, runs: Sequence[Run]) -> bool:
    """The fence for runs of different sessions; one that is refused undoes all."""
    if len(runs) < 2:
        return False
    connection.execute("SAVEPOINT fence")
    moved = FENCE.run(connection, [value for run in runs for value in run.fence()])
    if moved != len(runs):
        connection.execute("ROLLBACK TO fence")
    connection.execute("RELEASE fence")
    return moved == len(runs)


def write_parts(connection: sqlite3.Connection, run: Run) -> None:
    """The messages of a run, what it takes out of the outbox, and the end of its turn."""
    back = run.messages
    for part in run.parts:
        batch = part.batch
        if batch.message is not None:
            back -= 1
            connection.execute(
                INSERT_MESSAGE,
                {
                    "session_id": run.session_id,
                    "back": back,
                    "turn_id": run.turn_id,
                    "role": batch.message.role,
                    "content": part.content,
                    "usage": part.usage,
                },
            )
        if (entry := batch.entry) is not None:
            connection.execute(DELIVERED, (entry.number,))
            if entry.is_turn:
                bounds = (batch.head + 1, batch.head + len(batch.events), entry.turn_id)
                connection.execute(BOUND_TURN, bounds)
        if (closing := batch.closing) is not None:
            connection.execute(FREE_HEAD, (run.session_id,))
            connection.execute(
                CLOSE_TURN,
                (
                    closing.outcome,
                    closing.iterations,
                    part.turn_usage,
                    closing.cost,
                    closing.unreported,
                    closing.at,
                    run.end,
                    run.turn_id,
                ),
            )
            connection.execute(
                TOUCH_SESSION, (closing.at, GENERATION_OPEN, closing.prefix_hash, run.session_id)
            )


def event_rows_of(runs: Sequence[Run]) -> list[Any]:
    """The rows of all events, laid end to end."""
    values: list[Any] = []
    for run in runs:
        session_id = run.session_id
        for part in run.parts:
            for seq, event_type, turn_id, body in part.batch.events:
                values += (session_id, seq, turn_id, event_type, body)
    return values
