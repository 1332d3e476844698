"""Deliveries to webhooks, enqueued in the transaction of the event that they report, in SQL."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import (
    Connection,
    FromClause,
    Insert,
    Text,
    and_,
    bindparam,
    case,
    func,
    insert,
    literal_column,
    or_,
    select,
)

from gateway.storage.database import Prepared
from gateway.storage.row_codec import as_json
from gateway.storage.schema import PENDING, sessions, turns, webhook_deliveries, webhooks
from gateway.storage.sessions import BESIDE

_d, _w = webhook_deliveries.c, webhooks.c

_SWITCHED_OFF = "Its webhook was off."
_COLUMNS = ("webhook_id", "session_id", "turn_id", "type", "at", "detail", "state", "attempts", "due_at")


def _given(name: str) -> Any:
    return bindparam(name, type_=_d[name].type)


_is_on = _w.disabled_at.is_(None)
ENQUEUE = Prepared(
    insert(webhook_deliveries).from_select(
        (*_COLUMNS, "ended_at", "error"),
        select(
            _w.id,
            *(_given(name) for name in _COLUMNS[1:6]),
            case((_is_on, PENDING), else_=literal_column("'dead'", Text)),
            literal_column("0"),
            bindparam("due_at", type_=_d.due_at.type),
            case((~_is_on, _given("at"))),
            case((~_is_on, literal_column(f"'{_SWITCHED_OFF}'", Text))),
        ).where(
            _w.owner == bindparam("owner"),
            or_(and_(_is_on, _w.events.like(bindparam("pattern"))), _w.id == bindparam("one")),
        ),
    )
)


def enqueue_ended(ended: FromClause) -> Insert:
    """Adds what is told of turns that ended, of which `ended` has the columns session_id, turn_id and at.

    The webhooks of whose the session is are told, also of the turn of a member who writes in it: all of the
    session is theirs to read. The member who sent that turn is not: they may lose the session at any time.
    Nor is anybody of a session that is beside others. Both engines take it from here: SQLite runs it,
    PostgreSQL has it in the statement of its appends.
    """
    return insert(webhook_deliveries).from_select(
        [name for name in _COLUMNS if name != "detail"],
        select(
            _w.id,
            ended.c.session_id,
            ended.c.turn_id,
            literal_column("'turn.finished'", Text),
            ended.c.at,
            PENDING,
            literal_column("0"),
            ended.c.at,
        )
        .join_from(ended, sessions, sessions.c.id == ended.c.session_id)
        .join(webhooks, _w.owner == sessions.c.owner)
        .where(
            func.coalesce(sessions.c.role_id, literal_column("''")) != BESIDE,
            _is_on,
            # With the pattern as a parameter SQLite plans the statement anew each time.
            _w.events.like(literal_column("'% turn.finished %'", Text)),
        ),
    )


ENQUEUE_TURN = Prepared(
    enqueue_ended(
        select(turns.c.session_id, turns.c.id.label("turn_id"), _given("at").label("at"))
        .where(turns.c.id == bindparam("turn_id"))
        .subquery()
    )
)


def enqueue(
    connection: Connection,
    owner: str,
    event: str,
    at: int,
    detail: Mapping[str, object],
    *,
    session_id: str | None = None,
    turn_id: str | None = None,
    webhook_id: str | None = None,
) -> bool:
    """Adds a delivery for each of the owner's webhooks that subscribed to `event` and is on, or (with
    `webhook_id`) for that one alone, whatever it subscribed to: a dead one when it is off. Part of the
    transaction that writes the event. Returns whether it added any."""
    added = ENQUEUE.run(
        connection,
        owner=owner,
        type=event,
        pattern=f"% {event} %" if webhook_id is None else "",
        one=webhook_id or "",
        at=at,
        due_at=at,
        detail=as_json(detail),
        session_id=session_id,
        turn_id=turn_id,
    )
    return added.rowcount > 0


def enqueue_turn(connection: Connection, turn_id: str, at: int) -> None:
    """The same for `turn.finished` of a turn that ends `at` that time."""
    ENQUEUE_TURN.run(connection, turn_id=turn_id, at=at)
