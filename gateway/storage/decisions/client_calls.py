"""Calls that a client runs, until it gives their results."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from sqlalchemy import Connection, bindparam, null, select, update

from gateway.errors import Conflict, NotFound
from gateway.storage.database import Prepared, SessionLock, Store, query, transaction
from gateway.storage.decisions.parking import OPEN, insert_once, of_call, wake
from gateway.storage.schema import client_calls
from gateway.storage.turns import Accepted


@dataclass(frozen=True, slots=True)
class ClientResult:
    """The result of a call that a client ran; `timeout`: none came in time. `content` is JSON (see
    turn/client_calls.py), None once the turn has it, `digest` that of the content."""

    status: Literal["ok", "error", "timeout"]
    at: int
    digest: str | None = None
    content: str | None = None


@dataclass(frozen=True, slots=True)
class ClientCall:
    """A call that the user's client runs. Kept for as long as the session."""

    session_id: str
    turn_id: str
    tool_call_id: str
    owner: str
    name: str
    requested_at: int
    expires_at: int
    result: ClientResult | None = None


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


def _call(connection: Connection, session_id: str, turn_id: str, tool_call_id: str, owner: str) -> ClientCall:
    row = ONE.one(connection, session_id=session_id, turn_id=turn_id, tool_call_id=tool_call_id)
    if row is None or row[3] != owner:
        raise NotFound(f"No client runs a call {tool_call_id} of that turn.", code="tool_call_not_found")
    return _call_of(row)


def _call_of(row: Sequence[Any]) -> ClientCall:
    """A row of the table, in the order of its columns."""
    session_id, turn_id, call_id, owner, _, name, requested_at, expires_at, status, at, digest, content = row
    result = ClientResult(status, at, digest, content) if status is not None else None
    return ClientCall(session_id, turn_id, call_id, owner, name, requested_at, expires_at, result)


class ClientCalls(Store):
    """Calls that wait for a client. Turns are suspended for them as for approvals (`Approvals.park`)."""

    @transaction
    def expect(self, connection: Connection, calls: Sequence[ClientCall]) -> None:
        """Stores what a client is to run. A call that is there already is left as it is."""
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

    @query
    def of_turn(self, connection: Connection, turn_id: str) -> Sequence[ClientCall]:
        """In their order."""
        return [_call_of(row) for row in OF_TURN.all(connection, turn_id=turn_id)]

    @query
    def get(
        self, connection: Connection, session_id: str, turn_id: str, tool_call_id: str, owner: str
    ) -> ClientCall:
        """Raises errors.NotFound (tool_call_not_found)."""
        return _call(connection, session_id, turn_id, tool_call_id, owner)

    async def answer(self, call: ClientCall, result: ClientResult) -> tuple[ClientCall, Accepted | None]:
        """Stores the result. The call as it is now, and the turn when this was what it waited for: it is
        the caller's from then on. The same result again changes nothing.

        Raises:
            errors.Conflict: it has another result, its time is over, or its turn is.
        """

        def work(connection: Connection) -> tuple[ClientCall, Accepted | None]:
            ids = {"session_id": call.session_id, "turn_id": call.turn_id, "tool_call_id": call.tool_call_id}
            found, turn = (
                _call(connection, **ids, owner=call.owner),
                OPEN.one(connection, turn_id=call.turn_id),
            )
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
            return replace(found, result=result), wake(connection, self.database.replica, call.turn_id)

        return await self.database.write(work, over=SessionLock(call.session_id))

    @transaction
    def expire(self, connection: Connection, turn_id: str, now: int) -> None:
        """Ends the calls of the turn that no client answered in time."""
        EXPIRE.run(connection, turn_id=turn_id, now=now, at=now)

    @transaction
    def clear(self, connection: Connection, turn_id: str) -> None:
        """Drops the contents of the turn's results, which are in the log."""
        CLEAR.run(connection, turn_id=turn_id)
