"""Turns as they are read: their columns, and what is asked of them."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Text,
    and_,
    bindparam,
    case,
    exists,
    func,
    literal_column,
    or_,
    select,
    tuple_,
)

from gateway.errors import NotFound
from gateway.events.session_changes import Feedback
from gateway.storage.database import Prepared
from gateway.storage.row_codec import sampling_of, usage_of
from gateway.storage.schema import RUNNING, WAITING, approvals, client_calls, heads, sessions, turns
from gateway.storage.sessions.access import SHARED_WITH
from gateway.storage.turns import Accepted, TurnRow, TurnState
from gateway.storage.turns.attachments import attachments_of

MAX_MARKED = 16
"""Turns of one mark that are looked at: what was asked anew so often."""

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
_SENT = turns.c.owner == bindparam("owner")
_IN_OWN = sessions.c.owner == bindparam("owner")
OWN_TURN = Prepared(TURNS.where(OF_ID, or_(_SENT, _IN_OWN)))
RUNNING_TURN = Prepared(TURNS.where(OF_SESSION, turns.c.status == RUNNING))
MARKED = Prepared(
    TURNS.where(turns.c.mark == bindparam("mark"), turns.c.mark.is_not(None), _SENT, _IN_OWN)
    .order_by(None)
    .order_by(turns.c.number.desc())
    .limit(MAX_MARKED)
)
SAME_MESSAGE = Prepared(TURNS.where(OF_SESSION, turns.c.client_message_id == bindparam("client_message_id")))

NEWEST_MODEL = Prepared(select(turns.c.model).where(OF_SESSION).order_by(turns.c.number.desc()).limit(1))
CANCELLED_WAITING = Prepared(TURNS.where(turns.c.status == WAITING, turns.c.cancel_requested))
UNFINISHED = Prepared(TURNS.where(_SENT, turns.c.status != "done").limit(bindparam("limit")))
STOPPING = Prepared(
    TURNS.where(
        OF_SESSION, turns.c.owner != sessions.c.owner, turns.c.cancel_requested, turns.c.status != "done"
    )
)
OF_OTHERS = Prepared(select(turns.c.id).where(OF_SESSION, turns.c.owner != bindparam("user_id")))
BROUGHT_OF_SESSION = Prepared(select(turns.c.id).where(OF_SESSION, turns.c.status == "done", BROUGHT))
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
    row = RUNNING_TURN.one(connection, session_id=session_id)
    return turn_of(row) if row is not None else None


def sent(connection: Connection, session_id: str, client_message_id: str, owner: str) -> TurnRow | None:
    row = SAME_MESSAGE.one(connection, session_id=session_id, client_message_id=client_message_id)
    turn = turn_of(row) if row is not None else None
    return turn if turn is not None and turn.owner == owner else None


def get(connection: Connection, session_id: str | None, turn_id: str, owner: str) -> TurnRow:
    row = OWN_TURN.one(connection, turn_id=turn_id, owner=owner)
    turn = turn_of(row) if row is not None else None
    if turn is None or (
        session_id is not None and (turn.session_id, turn.session_owner) != (session_id, owner)
    ):
        where = f" in session {session_id}" if session_id is not None else ""
        raise NotFound(f"There is no turn {turn_id}{where}.", code="turn_not_found")
    return turn


def marked(connection: Connection, owner: str, mark: str) -> Sequence[TurnRow]:
    return [turn_of(row) for row in MARKED.all(connection, owner=owner, mark=mark)]


def of_owner(
    connection: Connection,
    owner: str,
    state: TurnState | None,
    *,
    limit: int,
    before: tuple[int, str] | None,
) -> Sequence[TurnRow]:
    place = (turns.c.created_at, turns.c.id)
    is_seen = or_(sessions.c.owner == owner, exists().where(SHARED_WITH))
    chosen = TURNS.where(turns.c.owner == owner, is_seen, *_in_state(state)).order_by(None)
    if before is not None:
        chosen = chosen.where(tuple_(*place) < before)
    chosen = chosen.order_by(*(column.desc() for column in place)).limit(limit)
    rows = connection.execute(chosen, {"user_id": owner})
    return [turn_of(tuple(row)) for row in rows]


def unfinished(connection: Connection, owner: str, limit: int) -> Sequence[TurnRow]:
    return [turn_of(row) for row in UNFINISHED.all(connection, owner=owner, limit=limit)]


def stopping(connection: Connection, session_id: str) -> Sequence[TurnRow]:
    return [turn_of(row) for row in STOPPING.all(connection, session_id=session_id)]


def of_others(connection: Connection, session_id: str, user_id: str) -> frozenset[str]:
    found = OF_OTHERS.all(connection, session_id=session_id, user_id=user_id)
    return frozenset(turn_id for (turn_id,) in found)


def brought(connection: Connection, session_id: str) -> frozenset[str]:
    return frozenset(turn_id for (turn_id,) in BROUGHT_OF_SESSION.all(connection, session_id=session_id))


def _in_state(state: TurnState | None) -> list[ColumnElement[bool]]:
    match state:
        case None:
            return []
        case "awaiting_tool_result":
            return [turns.c.outcome.is_(None), AWAITS_CLIENT]
        case "awaiting_approval":
            return [turns.c.outcome.is_(None), PARKED, ~AWAITS_CLIENT]
        case "accepted" | "running" | "done":
            return [
                turns.c.status == state,
                ~PARKED,
                *([] if state == "done" else [turns.c.outcome.is_(None)]),
            ]
        case outcome:
            return [turns.c.outcome == outcome]


def model_of(connection: Connection, session_id: str) -> str | None:
    return NEWEST_MODEL.value(connection, session_id=session_id)


def count_waiting(connection: Connection) -> int:
    return COUNT_WAITING.value(connection)


def cancelled_waiting(connection: Connection) -> Sequence[TurnRow]:
    return [turn_of(row) for row in CANCELLED_WAITING.all(connection)]
