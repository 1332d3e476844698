"""What an append does to the tables, for all appends of a flush in one statement.

claims   which heads are to move, from where to where, for whom
moved    the heads for which that was so: the fence, in the row that is changed. What waited for another
         transaction's change of the row is compared with what that made of it; a look into another table
         would see what was before.
the rest adds and changes what belongs to a head that moved, and nothing else
"""

from collections.abc import Iterator, Sequence
from typing import Any

from sqlalchemy import column, table
from sqlalchemy.dialects import postgresql

from gateway.storage.log.appending import Pending, Run
from gateway.storage.messages import GENERATION_OPEN
from gateway.storage.postgres import binary_arrays
from gateway.storage.postgres.binary_arrays import bools, byteas, float8s, int4s, int8s, texts
from gateway.storage.webhooks.enqueue import enqueue_ended

_CLAIMS = """
    claims AS (
        SELECT * FROM unnest(
            $1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::bigint[], $6::bigint[], $7::bool[]
        ) WITH ORDINALITY AS claim (session_id, old, new, turn_id, epoch, messages, ends, n)
    ),
    moved AS (
        UPDATE heads SET head = claim.new, position = position + claim.messages,
            turn_id = CASE WHEN claim.ends THEN NULL ELSE heads.turn_id END,
            replica = CASE WHEN claim.ends THEN NULL ELSE heads.replica END
        FROM claims AS claim
        WHERE heads.session_id = claim.session_id AND heads.head = claim.old
            AND heads.turn_id = claim.turn_id AND heads.epoch = claim.epoch
        RETURNING claim.n, claim.session_id, claim.turn_id, heads.position, claim.new AS last
    ),
    happened AS (
        INSERT INTO loose_events (session_id, seq, turn_id, type, body)
        SELECT moved.session_id, event.seq, event.turn_id, event.type, event.body
        FROM unnest($8::int[], $9::bigint[], $10::text[], $11::text[], $12::bytea[])
            AS event (n, seq, turn_id, type, body) JOIN moved USING (n)
    )
"""
_EVENTS_TYPES = (
    binary_arrays.TEXTS,
    binary_arrays.INT8S,
    binary_arrays.INT8S,
    binary_arrays.TEXTS,
    binary_arrays.INT8S,
    binary_arrays.INT8S,
    binary_arrays.BOOLS,
    binary_arrays.INT4S,
    binary_arrays.INT8S,
    binary_arrays.TEXTS,
    binary_arrays.TEXTS,
    binary_arrays.BYTEAS,
)
_TOLD = enqueue_ended(table("ended", column("session_id"), column("turn_id"), column("at"))).compile(
    dialect=postgresql.dialect(paramstyle="named"), compile_kwargs={"literal_binds": True}
)
# The head has moved already: `back` messages of this flush come after the one that is added. A prompt
# generation that is still open was made for another prompt than that of the turn which ends.
_MORE = f"""
    said AS (
        INSERT INTO messages (session_id, position, turn_id, role, content, usage)
        SELECT moved.session_id, moved.position - message.back, moved.turn_id, message.role, message.content,
            message.usage
        FROM unnest($13::int[], $14::bigint[], $15::text[], $16::text[], $17::text[])
            AS message (n, back, role, content, usage) JOIN moved USING (n)
    ),
    ended AS (
        SELECT moved.session_id, moved.turn_id, moved.last, closing.*
        FROM unnest(
            $18::int[], $19::text[], $20::bigint[], $21::text[], $22::float8[], $23::bigint[], $24::text[],
            $25::int[]
        ) AS closing (n, outcome, iterations, usage, cost, at, prefix_hash, unreported) JOIN moved USING (n)
    ),
    closed AS (
        UPDATE turns SET status = 'done', outcome = ended.outcome, iterations = ended.iterations,
            usage = ended.usage, cost = ended.cost, unreported = ended.unreported, ended_at = ended.at,
            last_seq = ended.last
        FROM ended WHERE turns.id = ended.turn_id
    ),
    touched AS (
        UPDATE sessions SET updated_at = ended.at, prefix_hash = CASE
            WHEN generation_from < {GENERATION_OPEN}
            THEN coalesce(ended.prefix_hash, sessions.prefix_hash) END
        FROM ended WHERE sessions.id = ended.session_id
    ),
    told AS ({_TOLD}),
    entries AS (
        SELECT entry.* FROM unnest($26::int[], $27::bigint[], $28::text[], $29::bigint[], $30::bigint[])
            AS entry (n, number, turn_id, first, last) JOIN moved USING (n)
    ),
    delivered AS (DELETE FROM outbox USING entries WHERE outbox.number = entries.number),
    bounded AS (
        UPDATE turns SET first_seq = entries.first, last_seq = entries.last
        FROM entries WHERE turns.id = entries.turn_id
    )
"""  # noqa: S608 - what is ours
_MORE_TYPES = (
    binary_arrays.INT4S,
    binary_arrays.INT8S,
    binary_arrays.TEXTS,
    binary_arrays.TEXTS,
    binary_arrays.TEXTS,
    binary_arrays.INT4S,
    binary_arrays.TEXTS,
    binary_arrays.INT8S,
    binary_arrays.TEXTS,
    binary_arrays.FLOAT8S,
    binary_arrays.INT8S,
    binary_arrays.TEXTS,
    binary_arrays.INT4S,
    binary_arrays.INT4S,
    binary_arrays.INT8S,
    binary_arrays.TEXTS,
    binary_arrays.INT8S,
    binary_arrays.INT8S,
)
_MOVED = "SELECT n::int FROM moved"

EVENTS = (b"append_events", f"WITH {_CLAIMS} {_MOVED}".encode(), _EVENTS_TYPES)
"""Name, text and parameter types of the statement that adds nothing but events: nearly all do."""
ALL = (b"append", f"WITH {_CLAIMS}, {_MORE} {_MOVED}".encode(), _EVENTS_TYPES + _MORE_TYPES)
"""That which also adds messages, ends turns and empties the outbox."""

Statement = tuple[bytes, bytes, Sequence[int]]


def statement_of(runs: Sequence[Run]) -> tuple[Statement, list[bytes]]:
    """The statement for runs of different sessions, and its parameters. It returns the numbers, from 1 on, of
    those that were stored."""
    values = [*_claims(runs), *_events(runs)]
    if all(is_plain(part) for run in runs for part in run.parts):
        return EVENTS, values
    return ALL, [*values, *_messages(runs), *_closings(runs), *_entries(runs)]


def is_plain(part: Pending) -> bool:
    """Whether it is nothing but events."""
    batch = part.batch
    return batch.message is None and batch.closing is None and batch.entry is None


def rounds(runs: Sequence[Run]) -> Iterator[list[Run]]:
    """Runs of different sessions together, in their order: a head moves once in a statement."""
    left = list(runs)
    while left:
        chosen: dict[str, Run] = {}
        later: list[Run] = []
        for run in left:
            if run.session_id in chosen:
                later.append(run)
            else:
                chosen[run.session_id] = run
        yield list(chosen.values())
        left = later


def _claims(runs: Sequence[Run]) -> Iterator[bytes]:
    yield texts([run.session_id for run in runs])
    yield int8s([run.head for run in runs])
    yield int8s([run.end for run in runs])
    yield texts([run.turn_id for run in runs])
    yield int8s([run.epoch for run in runs])
    yield int8s([run.messages for run in runs])
    yield bools([run.ends for run in runs])


def _events(runs: Sequence[Run]) -> Iterator[bytes]:
    events = [event for run in runs for part in run.parts for event in part.batch.events]
    seqs, types, turn_ids, bodies = zip(*events, strict=True) if events else ((), (), (), ())
    yield int4s([n for n, run in enumerate(runs, 1) for _ in range(run.end - run.head)])
    yield int8s(seqs)
    yield texts(turn_ids)
    yield texts(types)
    yield byteas(bodies)


def _messages(runs: Sequence[Run]) -> Iterator[bytes]:
    rows: list[tuple[Any, ...]] = []
    for n, run in enumerate(runs, 1):
        with_messages = [part for part in run.parts if part.batch.message is not None]
        for back, part in zip(range(len(with_messages) - 1, -1, -1), with_messages, strict=True):
            assert part.batch.message is not None
            rows.append((n, back, part.batch.message.role, part.content, part.usage))
    return _columns(rows, int4s, int8s, texts, texts, texts)


def _closings(runs: Sequence[Run]) -> Iterator[bytes]:
    rows: list[tuple[Any, ...]] = []
    for n, run in enumerate(runs, 1):
        last = run.parts[-1]
        if (end := last.batch.closing) is not None:
            used = last.turn_usage, end.cost
            rows.append((n, end.outcome, end.iterations, *used, end.at, end.prefix_hash, end.unreported))
    return _columns(rows, int4s, texts, int8s, texts, float8s, int8s, texts, int4s)


def _entries(runs: Sequence[Run]) -> Iterator[bytes]:
    rows: list[tuple[Any, ...]] = []
    for n, run in enumerate(runs, 1):
        for part in run.parts:
            batch = part.batch
            if (entry := batch.entry) is not None:
                turn_id = entry.turn_id if entry.is_turn else None
                rows.append((n, entry.number, turn_id, batch.head + 1, batch.head + len(batch.events)))
    return _columns(rows, int4s, int8s, texts, int8s, int8s)


def _columns(rows: Sequence[tuple[Any, ...]], *packs: Any) -> Iterator[bytes]:
    for number, pack in enumerate(packs):
        yield pack([row[number] for row in rows])
