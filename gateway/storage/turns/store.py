"""Turns, and which replica holds their lease, in SQL."""

from collections.abc import Sequence

from sqlalchemy import Connection, bindparam, update

from gateway.storage.database import Prepared, SessionLock, Store, claims, reads, searches, send, writes
from gateway.storage.log import outbox
from gateway.storage.schema import turns
from gateway.storage.turns import OwnedTurn
from gateway.storage.turns import heads as fence
from gateway.storage.turns.beginning import accept, claim_next, take_over
from gateway.storage.turns.cancellation import request_cancel
from gateway.storage.turns.client_tool_sets import tools_of
from gateway.storage.turns.rows import (
    OF_ID,
    brought,
    cancelled_waiting,
    count_waiting,
    get,
    marked,
    model_of,
    of_others,
    of_owner,
    open_turn_of,
    sent,
    stopping,
    unfinished,
)
from gateway.storage.turns.usage import first_used, usage_since, used_by, used_in, used_when

BEGIN_LATER = Prepared(
    update(turns).where(OF_ID, turns.c.first_seq > bindparam("head")).values(first_seq=bindparam("first"))
)


def owned(connection: Connection) -> Sequence[OwnedTurn]:
    return [OwnedTurn(*row) for row in fence.OWNED.all(connection)]


def skip_to(connection: Connection, turn: OwnedTurn, head: int) -> bool:
    former = fence.IS_OWNER.value(connection, **turn._asdict())
    if former is None or fence.SKIP.run(connection, **turn._asdict(), skipped=head).rowcount != 1:
        return False
    BEGIN_LATER.run(connection, turn_id=turn.turn_id, head=former, first=head + 1)
    outbox.add_lost(connection, turn.session_id, former + 1, head)
    return True


def is_owned(connection: Connection, turn: OwnedTurn) -> bool:
    return fence.IS_OWNER.one(connection, **turn._asdict()) is not None


class SqlTurns(Store):
    """The `Turns` protocol."""

    sent = reads(sent, snapshot=False)
    get = reads(get, snapshot=False)
    marked = reads(marked, snapshot=False)
    stopping = reads(stopping, snapshot=False)
    of_others = reads(of_others, snapshot=False)
    brought = reads(brought, snapshot=False)
    of_owner = reads(of_owner, snapshot=False)
    unfinished = reads(unfinished, snapshot=False)
    usage = reads(usage_since, snapshot=False)
    used_when = searches(used_when)
    used_in = searches(used_in)
    used_by = searches(used_by)
    first_used = reads(first_used, snapshot=False)
    open_turn = reads(open_turn_of, snapshot=False)
    model = reads(model_of, snapshot=False)
    request_cancel = writes(request_cancel)
    client_tools = reads(tools_of, snapshot=False)
    notify = writes(send)
    count_waiting = reads(count_waiting, snapshot=False)
    cancelled_waiting = reads(cancelled_waiting, snapshot=False)
    owned = reads(owned, snapshot=False)
    skip_to = writes(skip_to, over=lambda turn, head: SessionLock(turn.session_id))
    is_owned = reads(is_owned, snapshot=False)
    accept = claims(accept, over=lambda new, max_queued: SessionLock(new.session_id))
    claim_next = claims(claim_next, over=SessionLock)
    take_over = claims(take_over)
