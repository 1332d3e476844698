"""Turns as they are read: their columns, and what is asked of them."""

from typing import Any

from sqlalchemy import (
    Connection,
    Text,
    and_,
    bindparam,
    case,
    func,
    literal_column,
    or_,
    select,
)

from gateway.events.session_changes import Feedback
from gateway.storage.database import Prepared
from gateway.storage.row_codec import sampling_of, usage_of
from gateway.storage.schema import RUNNING, WAITING, approvals, client_calls, heads, sessions, turns
from gateway.storage.turns import Accepted, TurnRow
from gateway.storage.turns.attachments import attachments_of

_open = heads.c.turn_id == turns.c.id
PARKED = and_(_open, heads.c.parked_until.is_not(None))
_OF_TURN = select(literal_column("1"))
AWAITS_CLIENT = and_(
    PARKED,
    _OF_TURN.where(client_calls.c.turn_id == turns.c.id, client_calls.c.status.is_(None)).exists(),
    ~_OF_TURN.where(approvals.c.turn_id == turns.c.id, approvals.c.decision.is_(None)).exists(),
)
BROUGHT = or_(turns.c.origin.is_not(None), turns.c.is_imported.is_(True))
"""Whether a turn did not run here."""
TURNS = (
    select(
        turns.c.id,
        turns.c.session_id,
        turns.c.owner,
        case(
            (AWAITS_CLIENT, literal_column("'awaiting_tool_result'", Text)),
            (PARKED, literal_column("'awaiting_approval'", Text)),
            else_=turns.c.status,
        ),
        turns.c.outcome,
        turns.c.input,
        turns.c.model,
        turns.c.client_message_id,
        case((_open, heads.c.epoch), else_=literal_column("0")),
        turns.c.created_at,
        turns.c.first_seq,
        case((turns.c.status == RUNNING, heads.c.head), else_=turns.c.last_seq),
        turns.c.cancel_requested,
        sessions.c.project_id,
        sessions.c.role_id,
        turns.c.recoveries,
        turns.c.attachments,
        turns.c.ended_at,
        turns.c.usage,
        turns.c.cost,
        turns.c.iterations,
        turns.c.branch,
        turns.c.parent,
        case((turns.c.is_imported.is_(True), literal_column("'imported'", Text)), else_=turns.c.origin),
        turns.c.instructions,
        turns.c.client_tools,
        turns.c.dialect,
        turns.c.key_id,
        turns.c.sign_in,
        turns.c.scopes,
        turns.c.feedback,
        turns.c.sampling,
        sessions.c.shared,
        sessions.c.owner,
        sessions.c.is_temporary,
        heads.c.head,
        sessions.c.created_at,
    )
    .join_from(turns, sessions)
    .join(heads, heads.c.session_id == turns.c.session_id)
    .order_by(turns.c.number)
)
OF_SESSION = turns.c.session_id == bindparam("session_id")
OF_ID = turns.c.id == bindparam("turn_id")

TURN = Prepared(TURNS.where(OF_ID))
RUNNING_TURN = Prepared(TURNS.where(OF_SESSION, turns.c.status == RUNNING))
SAME_MESSAGE = Prepared(TURNS.where(OF_SESSION, turns.c.client_message_id == bindparam("client_message_id")))

COUNT_WAITING = Prepared(select(func.count()).select_from(turns).where(turns.c.status == WAITING))

SESSION_OF = Prepared(select(turns.c.session_id).where(OF_ID))


def turn_of(row: tuple[Any, ...]) -> TurnRow:
    """A row of TURNS. `first_seq` is fixed before the first event is there: until then both bounds are 0."""
    first_seq, last_seq, cancel_requested, project_id, role_id, recoveries, attachments = row[10:17]
    ended_at, usage, cost, iterations, *place, digest, tools, dialect, key_id = row[17:28]
    sign_in, scopes, feedback, sampling, shared, host, is_temporary = row[28:35]
    if last_seq < first_seq:
        first_seq = last_seq = 0
    values: list[Any] = [*row[:10], first_seq, last_seq, bool(cancel_requested), project_id, role_id]
    values += [attachments_of(attachments), recoveries, ended_at, usage_of(usage), cost, iterations]
    rated = Feedback.model_validate_json(feedback) if feedback else None
    return TurnRow(
        *values,
        *place,
        instructions=digest or None,
        client_tools=tools,
        dialect=dialect,
        key_id=key_id,
        sign_in=sign_in,
        scopes=scopes,
        feedback=rated,
        is_shared=shared is not None,
        is_temporary=bool(is_temporary),
        host=host if host != row[2] else None,
        sampling=sampling_of(sampling),
    )


def accepted_of(connection: Connection, turn_id: str) -> Accepted:
    """A turn that is there, with its session's head."""
    row = TURN.one(connection, turn_id=turn_id)
    assert row is not None
    return Accepted(turn_of(row), row[-2], made_at=row[-1])


def open_turn_of(connection: Connection, session_id: str) -> TurnRow | None:
    """The running turn of a session, also one that is suspended."""
    row = RUNNING_TURN.one(connection, session_id=session_id)
    return turn_of(row) if row is not None else None


def count_waiting(connection: Connection) -> int:
    """How many turns, of all sessions, wait for those before them."""
    return COUNT_WAITING.value(connection)
