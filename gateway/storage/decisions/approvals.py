"""Approvals of tool calls and grants, in SQL."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import orjson
from sqlalchemy import Connection, and_, bindparam, delete, exists, insert, or_, select, update

from gateway.errors import Conflict, NotFound
from gateway.events.tool_calls import Scope
from gateway.storage.database import Prepared, SessionLock, Store, claims, reads, writes
from gateway.storage.decisions import ApprovalRow, Grant, Granted, Verdict
from gateway.storage.decisions.parking import OPEN, count_parked, insert_once, of_call, overdue, park, wake
from gateway.storage.refusals import no_session
from gateway.storage.row_codec import as_json
from gateway.storage.schema import RUNNING, approvals, sessions, tool_grants, turns
from gateway.storage.sessions.access import SHARED_WITH, may_write
from gateway.storage.turns import Accepted
from gateway.storage.webhooks.enqueue import enqueue

_ID = of_call(approvals)
_ORDER = (approvals.c.requested_at, approvals.c.number)

ASK = insert_once(approvals, [*approvals.c.keys()[:10], "tool_digest"])
OF_TURN = Prepared(select(*approvals.c).where(approvals.c.turn_id == bindparam("turn_id")).order_by(*_ORDER))
ONE = Prepared(select(*approvals.c).where(_ID))
DECIDE = Prepared(
    update(approvals)
    .where(_ID)
    .values(
        decision=bindparam("decision"),
        decided_by=bindparam("by"),
        decided_at=bindparam("at"),
        scope=bindparam("scope"),
        answer=bindparam("reason"),
        edited=bindparam("edited"),
    )
)
EXPIRE = Prepared(
    update(approvals)
    .where(
        approvals.c.turn_id == bindparam("turn_id"),
        approvals.c.decision.is_(None),
        approvals.c.expires_at <= bindparam("now"),
    )
    .values(
        decision="denied",
        decided_by="expiry",
        decided_at=bindparam("at"),
        scope="once",
        answer=bindparam("reason"),
    )
)
_is_seen = exists().where(SHARED_WITH)
WAITING = Prepared(
    select(*approvals.c)
    .join_from(approvals, turns, turns.c.id == approvals.c.turn_id)
    .join(sessions, sessions.c.id == approvals.c.session_id)
    .where(
        or_(approvals.c.owner == bindparam("owner"), and_(turns.c.owner == bindparam("owner"), _is_seen)),
        approvals.c.decision.is_(None),
        turns.c.status == RUNNING,
    )
    .order_by(*_ORDER)
    .limit(bindparam("limit"))
)
OF_OWNER = tool_grants.c.owner == bindparam("owner")
OF_TOOL = tool_grants.c.tool == bindparam("tool")
ALL_GRANTS = Prepared(
    select(*tool_grants.c).where(OF_OWNER).order_by(tool_grants.c.tool, tool_grants.c.number)
)
GRANTS = Prepared(select(*tool_grants.c).where(OF_OWNER, OF_TOOL))
GRANT = Prepared(
    insert(tool_grants).values(
        owner=bindparam("owner"),
        tool=bindparam("tool"),
        session_id=bindparam("session_id"),
        created_at=bindparam("at"),
        tool_digest=bindparam("tool_digest"),
        key_id=bindparam("key_id"),
    )
)
UNGRANT = Prepared(delete(tool_grants).where(tool_grants.c.number == bindparam("number")))
REVOKE = Prepared(delete(tool_grants).where(OF_OWNER, OF_TOOL))


def of_turn(connection: Connection, turn_id: str) -> Sequence[ApprovalRow]:
    return [approval_of(row) for row in OF_TURN.all(connection, turn_id=turn_id)]


def get(connection: Connection, session_id: str, turn_id: str, tool_call_id: str, owner: str) -> ApprovalRow:
    found = one(connection, session_id, turn_id, tool_call_id)
    if found is None or found.owner != owner:
        raise NotFound(f"No call {tool_call_id} of that turn needs approval.", code="approval_not_found")
    return found


def expire(connection: Connection, turn_id: str, now: int, reason: str) -> None:
    EXPIRE.run(connection, turn_id=turn_id, now=now, at=now, reason=reason)


def waiting(connection: Connection, owner: str, limit: int) -> Sequence[ApprovalRow]:
    return [approval_of(row) for row in WAITING.all(connection, owner=owner, user_id=owner, limit=limit)]


def grants(connection: Connection, owner: str) -> Sequence[Grant]:
    return [Grant(*row[1:]) for row in ALL_GRANTS.all(connection, owner=owner)]


def revoke(connection: Connection, owner: str, tool: str) -> int:
    return REVOKE.run(connection, owner=owner, tool=tool).rowcount


def ask(connection: Connection, rows: Sequence[ApprovalRow]) -> None:
    for number, row in enumerate(rows):
        asked = ASK.run(
            connection,
            session_id=row.session_id,
            turn_id=row.turn_id,
            tool_call_id=row.tool_call_id,
            owner=row.owner,
            number=number,
            name=row.name,
            arguments=as_json(row.arguments),
            reason=row.reason,
            requested_at=row.requested_at,
            expires_at=row.expires_at,
            tool_digest=row.tool_digest,
        )
        if asked.rowcount == 1:
            told = {
                "tool_call_id": row.tool_call_id,
                "name": row.name,
                "reason": row.reason,
                "expires_at": row.expires_at,
            }
            enqueue(
                connection,
                row.owner,
                "approval.waiting",
                row.requested_at,
                told,
                session_id=row.session_id,
                turn_id=row.turn_id,
            )


def one(connection: Connection, session_id: str, turn_id: str, tool_call_id: str) -> ApprovalRow | None:
    row = ONE.one(connection, session_id=session_id, turn_id=turn_id, tool_call_id=tool_call_id)
    return approval_of(row) if row is not None else None


def withdraw(connection: Connection, session_id: str, turn_id: str, calls: Collection[str]) -> int:
    count = 0
    for tool_call_id in sorted(calls):
        found = one(connection, session_id, turn_id, tool_call_id)
        if (
            found is not None
            and found.verdict is not None
            and not _may_decide(connection, found, found.verdict.by)
        ):
            none = dict.fromkeys(("decision", "by", "at", "scope", "reason", "edited"))
            ids = {"session_id": session_id, "turn_id": turn_id, "tool_call_id": tool_call_id}
            count += DECIDE.run(connection, **ids, **none).rowcount
    return count


def _may_decide(connection: Connection, row: ApprovalRow, user_id: str) -> bool:
    return user_id == row.owner or may_write(connection, row.session_id, user_id)


def decide(
    connection: Connection, replica: str, row: ApprovalRow, verdict: Verdict
) -> tuple[ApprovalRow, Accepted | None]:
    # Before the turn is locked, as who removes a member stops their turns.
    if not _may_decide(connection, row, verdict.by):
        raise no_session(row.session_id)
    found = one(connection, row.session_id, row.turn_id, row.tool_call_id)
    turn = OPEN.one(connection, turn_id=row.turn_id)
    if found is None or turn is None:
        raise NotFound(f"No call {row.tool_call_id} of that turn needs approval.", code="approval_not_found")
    if found.verdict is not None:
        if _content(found.verdict) == _content(verdict):
            return found, None
        raise Conflict(
            f"{found.verdict.by} decided before: {found.verdict.decision}.",
            details={"decision": found.verdict.decision},
        )
    if turn[1] == "done":
        raise Conflict("The turn is over: there is nothing left to decide.")
    if found.expires_at <= verdict.at:
        raise Conflict("The time for this decision is over: it counts as a denial.")
    DECIDE.run(
        connection,
        session_id=row.session_id,
        turn_id=row.turn_id,
        tool_call_id=row.tool_call_id,
        decision=verdict.decision,
        by=verdict.by,
        at=verdict.at,
        scope=verdict.scope,
        reason=verdict.reason,
        edited=as_json(verdict.arguments) if verdict.arguments is not None else None,
    )
    if verdict.decision == "approved" and verdict.scope != "once":
        session_id = row.session_id if verdict.scope == "session" else None
        digest, key_id = found.tool_digest, verdict.key_id
        _grant(connection, Grant(verdict.by, row.name, session_id, verdict.at, digest, key_id))
    decided = one(connection, row.session_id, row.turn_id, row.tool_call_id)
    assert decided is not None
    return decided, wake(connection, replica, row.turn_id)


def granted(connection: Connection, owner: str, session_id: str, tools: Mapping[str, str]) -> Granted:
    scopes: dict[str, Scope] = {}
    changed: set[str] = set()
    for tool, digest in sorted(tools.items()):
        rows = [Grant(*row[1:]) for row in GRANTS.all(connection, owner=owner, tool=tool)]
        here = [each for each in rows if each.session_id in {None, session_id}]
        places = {each.session_id for each in here if each.tool_digest == digest}
        if places:
            scopes[tool] = "always" if None in places else "session"
        elif here:
            changed.add(tool)
    return Granted(scopes, frozenset(changed))


def _grant(connection: Connection, new: Grant) -> None:
    for number, *row in GRANTS.all(connection, owner=new.owner, tool=new.tool):
        known = Grant(*row)
        if known.session_id == new.session_id:
            if known.tool_digest == new.tool_digest and known.key_id in (None, new.key_id):
                return
            UNGRANT.run(connection, number=number)
    GRANT.run(connection, **asdict(new))


def approval_of(row: Sequence[Any]) -> ApprovalRow:
    """A row of the table, in the order of its columns."""
    session_id, turn_id, call_id, owner, _, name, arguments, reason, asked, expires, *answer, digest = row
    decision, by, at, scope, explanation, edited = answer
    verdict = None
    if decision is not None:
        changed = orjson.loads(edited) if edited is not None else None
        verdict = Verdict(decision, by, at, scope, explanation, changed)
    return ApprovalRow(
        session_id,
        turn_id,
        call_id,
        owner,
        name,
        orjson.loads(arguments),
        reason,
        asked,
        expires,
        verdict,
        digest,
    )


def _content(verdict: Verdict) -> tuple[object, ...]:
    return (verdict.decision, verdict.scope, verdict.arguments)


class SqlApprovals(Store):
    """The `Approvals` protocol."""

    ask = writes(ask)
    of_turn = reads(of_turn, snapshot=False)
    get = reads(get, snapshot=False)
    expire = writes(expire)
    waiting = reads(waiting, snapshot=False)
    park = writes(park, over=lambda turn, waiting, until: SessionLock(turn.session_id))
    overdue = reads(overdue, snapshot=False)
    count_parked = reads(count_parked, snapshot=False)
    granted = reads(granted)
    grants = reads(grants, snapshot=False)
    revoke = writes(revoke)
    withdraw = writes(withdraw, over=lambda session_id, turn_id, calls: SessionLock(session_id))
    decide = claims(decide, over=lambda row, verdict: SessionLock(row.session_id))
    wake = claims(wake)
