"""Calls that a client runs, until it gives their results, in SQL."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, bindparam, null, select, update

from gateway.errors import Conflict, NotFound
from gateway.storage.database import Prepared, SessionLock, Store, claims, reads, writes
from gateway.storage.decisions import ClientCall, ClientResult
from gateway.storage.decisions.parking import OPEN, insert_once, of_call, wake
from gateway.storage.schema import client_calls
from gateway.storage.turns import Accepted

_ID = of_call(client_calls)
_OF_TURN = client_calls.c.turn_id == bindparam("turn_id")
ALL = select(*client_calls.c)
ONE = Prepared(ALL.where(_ID))
OF_TURN = Prepared(ALL.where(_OF_TURN).order_by(client_calls.c.number))
EXPECT = insert_once(client_calls, client_calls.c.keys()[:8])
ANSWER = Prepared(
    update(client_calls)
    .where(_ID)
    .values(
        status=bindparam("status"),
        answered_at=bindparam("at"),
        digest=bindparam("digest"),
        content=bindparam("content"),
    )
)
EXPIRE = Prepared(
    update(client_calls)
    .where(_OF_TURN, client_calls.c.status.is_(None), client_calls.c.expires_at <= bindparam("now"))
    .values(status="timeout", answered_at=bindparam("at"))
)
# What the turn has taken is in its log.
CLEAR = Prepared(
    update(client_calls).where(_OF_TURN, client_calls.c.content.is_not(None)).values(content=null())
)


def expect(connection: Connection, calls: Sequence[ClientCall]) -> None:
    for number, call in enumerate(calls):
        EXPECT.run(
            connection,
            session_id=call.session_id,
            turn_id=call.turn_id,
            tool_call_id=call.tool_call_id,
            owner=call.owner,
            number=number,
            name=call.name,
            requested_at=call.requested_at,
            expires_at=call.expires_at,
        )


def of_turn(connection: Connection, turn_id: str) -> Sequence[ClientCall]:
    return [_call_of(row) for row in OF_TURN.all(connection, turn_id=turn_id)]


def get(connection: Connection, session_id: str, turn_id: str, tool_call_id: str, owner: str) -> ClientCall:
    row = ONE.one(connection, session_id=session_id, turn_id=turn_id, tool_call_id=tool_call_id)
    if row is None or row[3] != owner:
        raise NotFound(f"No client runs a call {tool_call_id} of that turn.", code="tool_call_not_found")
    return _call_of(row)


def answer(
    connection: Connection, replica: str, call: ClientCall, result: ClientResult
) -> tuple[ClientCall, Accepted | None]:
    ids = {"session_id": call.session_id, "turn_id": call.turn_id, "tool_call_id": call.tool_call_id}
    found, turn = get(connection, **ids, owner=call.owner), OPEN.one(connection, turn_id=call.turn_id)
    if (former := found.result) is not None:
        if (former.status, former.digest) == (result.status, result.digest):
            return found, None
        late = former.status == "timeout"
        raise Conflict(
            "The time for this result is over." if late else "The call has another result already.",
            details={"status": former.status},
        )
    if turn is None or turn[1] == "done":
        raise Conflict("The turn is over: nobody waits for this result.")
    if found.expires_at <= result.at:
        raise Conflict("The time for this result is over.", details={"status": "timeout"})
    ANSWER.run(
        connection,
        **ids,
        status=result.status,
        at=result.at,
        digest=result.digest,
        content=result.content,
    )
    return replace(found, result=result), wake(connection, replica, call.turn_id)


def expire(connection: Connection, turn_id: str, now: int) -> None:
    EXPIRE.run(connection, turn_id=turn_id, now=now, at=now)


def clear(connection: Connection, turn_id: str) -> None:
    CLEAR.run(connection, turn_id=turn_id)


def _call_of(row: Sequence[Any]) -> ClientCall:
    """A row of the table, in the order of its columns."""
    session_id, turn_id, call_id, owner, _, name, requested_at, expires_at, status, at, digest, content = row
    result = ClientResult(status, at, digest, content) if status is not None else None
    return ClientCall(session_id, turn_id, call_id, owner, name, requested_at, expires_at, result)


class SqlClientCalls(Store):
    """The `ClientCalls` protocol."""

    expect = writes(expect)
    of_turn = reads(of_turn, snapshot=False)
    get = reads(get, snapshot=False)
    expire = writes(expire)
    clear = writes(clear)
    answer = claims(answer, over=lambda call, result: SessionLock(call.session_id))
