"""Turns, and which replica holds their lease, in SQL."""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, bindparam, exists, or_, select, tuple_, update

from gateway.errors import NotFound
from gateway.storage.database import (
    Prepared,
    SessionLock,
    Store,
    claims,
    query,
    reads,
    searches,
    send,
    writes,
)
from gateway.storage.log import outbox
from gateway.storage.schema import WAITING, sessions, turns
from gateway.storage.sessions.access import SHARED_WITH
from gateway.storage.turns import OwnedTurn, TurnRow, TurnState
from gateway.storage.turns import heads as fence
from gateway.storage.turns.beginning import accept, claim_next, take_over
from gateway.storage.turns.cancellation import request_cancel
from gateway.storage.turns.client_tool_sets import tools_of
from gateway.storage.turns.rows import (
    AWAITS_CLIENT,
    BROUGHT,
    OF_ID,
    OF_SESSION,
    PARKED,
    SAME_MESSAGE,
    TURNS,
    count_waiting,
    open_turn_of,
    turn_of,
)
from gateway.storage.turns.usage import first_used, usage_since, used_by, used_in, used_when

MAX_MARKED = 16
"""Turns of one mark that are looked at: what was asked anew so often."""

_SENT = turns.c.owner == bindparam("owner")
_IN_OWN = sessions.c.owner == bindparam("owner")
OWN_TURN = Prepared(TURNS.where(OF_ID, or_(_SENT, _IN_OWN)))
MARKED = Prepared(
    TURNS.where(turns.c.mark == bindparam("mark"), turns.c.mark.is_not(None), _SENT, _IN_OWN)
    .order_by(None)
    .order_by(turns.c.number.desc())
    .limit(MAX_MARKED)
)
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
BEGIN_LATER = Prepared(
    update(turns).where(OF_ID, turns.c.first_seq > bindparam("head")).values(first_seq=bindparam("first"))
)


def skip_to(connection: Connection, turn: OwnedTurn, head: int) -> bool:
    """Moves the session's head on to a number that had been used, as readers know, and is gone: with a
    server that failed over to one which did not have it. False: the turn has another epoch."""
    former = fence.IS_OWNER.value(connection, **turn._asdict())
    if former is None or fence.SKIP.run(connection, **turn._asdict(), skipped=head).rowcount != 1:
        return False
    BEGIN_LATER.run(connection, turn_id=turn.turn_id, head=former, first=head + 1)
    outbox.add_lost(connection, turn.session_id, former + 1, head)
    return True


class Turns(Store):
    """Turns, and which replica holds their lease."""

    usage = reads(usage_since, snapshot=False)
    used_when = searches(used_when)
    used_in = searches(used_in)
    used_by = searches(used_by)
    first_used = reads(first_used, snapshot=False)
    open_turn = reads(open_turn_of, snapshot=False)
    request_cancel = writes(request_cancel)
    client_tools = reads(tools_of, snapshot=False)
    notify = writes(send)
    count_waiting = reads(count_waiting, snapshot=False)
    skip_to = writes(skip_to, over=lambda turn, head: SessionLock(turn.session_id))
    accept = claims(accept, over=lambda new, max_queued: SessionLock(new.session_id))
    claim_next = claims(claim_next, over=SessionLock)
    take_over = claims(take_over)

    @query
    def sent(
        self, connection: Connection, session_id: str, client_message_id: str, owner: str
    ) -> TurnRow | None:
        """The turn that this message of the owner's started; None before it did."""
        row = SAME_MESSAGE.one(connection, session_id=session_id, client_message_id=client_message_id)
        turn = turn_of(row) if row is not None else None
        return turn if turn is not None and turn.owner == owner else None

    @query
    def get(self, connection: Connection, session_id: str | None, turn_id: str, owner: str) -> TurnRow:
        """A turn in that session of `owner`, or (None) in any session of theirs, or one that they sent
        elsewhere. Raises errors.NotFound (code turn_not_found)."""
        row = OWN_TURN.one(connection, turn_id=turn_id, owner=owner)
        turn = turn_of(row) if row is not None else None
        if turn is None or (
            session_id is not None and (turn.session_id, turn.session_owner) != (session_id, owner)
        ):
            where = f" in session {session_id}" if session_id is not None else ""
            raise NotFound(f"There is no turn {turn_id}{where}.", code="turn_not_found")
        return turn

    @query
    def marked(self, connection: Connection, owner: str, mark: str) -> Sequence[TurnRow]:
        """The owner's turns with that mark in sessions of their own, the newest first, at most some."""
        return [turn_of(row) for row in MARKED.all(connection, owner=owner, mark=mark)]

    @query
    def stopping(self, connection: Connection, session_id: str) -> Sequence[TurnRow]:
        """The turns in a session that others than its owner sent and that are to stop, in their order."""
        return [turn_of(row) for row in STOPPING.all(connection, session_id=session_id)]

    @query
    def of_others(self, connection: Connection, session_id: str, user_id: str) -> frozenset[str]:
        """The turns in a session that others than this user sent."""
        found = OF_OTHERS.all(connection, session_id=session_id, user_id=user_id)
        return frozenset(turn_id for (turn_id,) in found)

    @query
    def brought(self, connection: Connection, session_id: str) -> frozenset[str]:
        """The turns in a session that did not run here: a client or a file brought them along."""
        return frozenset(turn_id for (turn_id,) in BROUGHT_OF_SESSION.all(connection, session_id=session_id))

    @query
    def of_owner(
        self,
        connection: Connection,
        owner: str,
        state: TurnState | None,
        *,
        limit: int,
        before: tuple[int, str] | None,
    ) -> Sequence[TurnRow]:
        """The turns that a user sent, in all sessions that they may still read, those that were accepted last
        in front; `state` None: in any. `before` are `created_at` and id of the last one of the page
        before."""
        place = (turns.c.created_at, turns.c.id)
        is_seen = or_(sessions.c.owner == owner, exists().where(SHARED_WITH))
        chosen = TURNS.where(turns.c.owner == owner, is_seen, *_in_state(state)).order_by(None)
        if before is not None:
            chosen = chosen.where(tuple_(*place) < before)
        chosen = chosen.order_by(*(column.desc() for column in place)).limit(limit)
        rows = connection.execute(chosen, {"user_id": owner})
        return [turn_of(tuple(row)) for row in rows]

    @query
    def unfinished(self, connection: Connection, owner: str, limit: int) -> Sequence[TurnRow]:
        """The turns of a user that run or wait, in whatever session."""
        return [turn_of(row) for row in UNFINISHED.all(connection, owner=owner, limit=limit)]

    @query
    def model(self, connection: Connection, session_id: str) -> str | None:
        """The model of the session's newest turn; None before the first."""
        return NEWEST_MODEL.value(connection, session_id=session_id)

    @query
    def cancelled_waiting(self, connection: Connection) -> Sequence[TurnRow]:
        """The turns that wait though they shall stop: a former version left them so."""
        return [turn_of(row) for row in CANCELLED_WAITING.all(connection)]

    @query
    def owned(self, connection: Connection) -> Sequence[OwnedTurn]:
        """The turns that run and are not suspended: each must have a lease holder that is alive."""
        return [OwnedTurn(*row) for row in fence.OWNED.all(connection)]

    @query
    def is_owned(self, connection: Connection, turn: OwnedTurn) -> bool:
        """Whether the turn still has that epoch."""
        return fence.IS_OWNER.one(connection, **turn._asdict()) is not None


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
