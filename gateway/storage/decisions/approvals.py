"""Approvals of tool calls, turns that are suspended meanwhile, and grants of tools."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import orjson
from sqlalchemy import Connection, and_, bindparam, delete, exists, insert, or_, select, update

from gateway.errors import Conflict, NotFound
from gateway.events.tool_calls import Decision, Scope
from gateway.storage.database import (
    Prepared,
    SessionLock,
    Store,
    claims,
    query,
    reads,
    snapshot,
    transaction,
    writes,
)
from gateway.storage.decisions.parking import OPEN, count_parked, insert_once, of_call, overdue, park, wake
from gateway.storage.refusals import no_session
from gateway.storage.row_codec import as_json
from gateway.storage.schema import RUNNING, approvals, sessions, tool_grants, turns
from gateway.storage.sessions.access import SHARED_WITH, may_write
from gateway.storage.turns import Accepted
from gateway.storage.webhooks.enqueue import enqueue


@dataclass(frozen=True, slots=True)
class Verdict:
    """The decision about a call, by whom (a user id) and when. `arguments` replace those the model gave,
    `reason` is for the model. `key_id` names the key that they came with; it is kept with a grant alone."""

    decision: Decision
    by: str
    at: int
    scope: Scope = "once"
    reason: str | None = None
    arguments: dict[str, Any] | None = None
    key_id: str | None = None


@dataclass(frozen=True, slots=True)
class ApprovalRow:
    """A call that needs, or needed, a person's decision. Kept for as long as the session. `tool_digest` is
    what the tool said of itself (`tools.base.digest_of`)."""

    session_id: str
    turn_id: str
    tool_call_id: str
    owner: str
    name: str
    arguments: dict[str, Any]
    reason: str | None
    requested_at: int
    expires_at: int
    verdict: Verdict | None = None
    tool_digest: str | None = None


@dataclass(frozen=True, slots=True)
class Grant:
    """A tool that `owner` allowed to run without asking: in one session, or (None) in all of them; as it said
    of itself then (`tool_digest`; None: it is not known what that was). It ends with the key `key_id`, if
    they came with one."""

    owner: str
    tool: str
    session_id: str | None
    at: int
    tool_digest: str | None = None
    key_id: str | None = None


@dataclass(frozen=True, slots=True)
class Granted:
    """Of some tools, those that may run without asking, and since when: in this session, or always; and those
    that are `changed`: what was granted is not what they say of themselves now."""

    scopes: Mapping[str, Scope]
    changed: frozenset[str] = frozenset()


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


def one(connection: Connection, session_id: str, turn_id: str, tool_call_id: str) -> ApprovalRow | None:
    """Part of a transaction: the call as it is now."""
    row = ONE.one(connection, session_id=session_id, turn_id=turn_id, tool_call_id=tool_call_id)
    return approval_of(row) if row is not None else None


def _may_decide(connection: Connection, row: ApprovalRow, user_id: str) -> bool:
    return user_id == row.owner or may_write(connection, row.session_id, user_id)


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


class Approvals(Store):
    """Calls that wait for a person, turns that are suspended meanwhile, and grants.
    Every method raises errors.StorageError when the database cannot do its work, and nothing half-done is
    left behind."""

    park = writes(park, over=lambda turn, waiting, until: SessionLock(turn.session_id))
    wake = claims(wake)
    overdue = reads(overdue, snapshot=False)
    count_parked = reads(count_parked, snapshot=False)

    @transaction
    def ask(self, connection: Connection, rows: Sequence[ApprovalRow]) -> None:
        """Stores what is to be decided. A row that is there already is left as it is."""
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

    @query
    def of_turn(self, connection: Connection, turn_id: str) -> Sequence[ApprovalRow]:
        """In the order in which they were asked for."""
        return [approval_of(row) for row in OF_TURN.all(connection, turn_id=turn_id)]

    @query
    def get(
        self, connection: Connection, session_id: str, turn_id: str, tool_call_id: str, owner: str
    ) -> ApprovalRow:
        """Raises errors.NotFound (approval_not_found)."""
        found = one(connection, session_id, turn_id, tool_call_id)
        if found is None or found.owner != owner:
            raise NotFound(f"No call {tool_call_id} of that turn needs approval.", code="approval_not_found")
        return found

    async def decide(self, row: ApprovalRow, verdict: Verdict) -> tuple[ApprovalRow, Accepted | None]:
        """Stores the decision, with the grant that its scope means: for what the tool said of itself when it
        was asked about, in the place of one for something else, or of one that rests on a key. The row as it
        is now, and the turn when this was what it was suspended for: it is the caller's from then on. The
        same decision again (with its scope and arguments) changes nothing.

        Raises:
            errors.Conflict: it was decided otherwise, it has expired, or its turn is over.
            errors.NotFound: (session_not_found) who decides may not write in the session any more.
        """

        def work(connection: Connection) -> tuple[ApprovalRow, Accepted | None]:
            # Before the turn is locked, as who removes a member stops their turns.
            if not _may_decide(connection, row, verdict.by):
                raise no_session(row.session_id)
            found = one(connection, row.session_id, row.turn_id, row.tool_call_id)
            turn = OPEN.one(connection, turn_id=row.turn_id)
            if found is None or turn is None:
                raise NotFound(
                    f"No call {row.tool_call_id} of that turn needs approval.", code="approval_not_found"
                )
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
            return decided, wake(connection, self.database.replica, row.turn_id)

        return await self.database.write(work, over=SessionLock(row.session_id))

    async def withdraw(self, session_id: str, turn_id: str, calls: Collection[str]) -> int:
        """Takes back the decisions about these calls whose deciders may not write in the session any more;
        how many these were."""

        def work(connection: Connection) -> int:
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

        return await self.database.write(work, over=SessionLock(session_id))

    @transaction
    def expire(self, connection: Connection, turn_id: str, now: int, reason: str) -> None:
        """Stores a denial, `by` expiry, for the calls of the turn without a decision in time."""
        EXPIRE.run(connection, turn_id=turn_id, now=now, at=now, reason=reason)

    @query
    def waiting(self, connection: Connection, owner: str, limit: int) -> Sequence[ApprovalRow]:
        """The calls that wait for a decision in the sessions of `owner`, and in turns that they sent in those
        of others; those that were asked about first in front."""
        return [approval_of(row) for row in WAITING.all(connection, owner=owner, user_id=owner, limit=limit)]

    @snapshot
    def granted(
        self, connection: Connection, owner: str, session_id: str, tools: Mapping[str, str]
    ) -> Granted:
        """Which of `tools`, by name with the digests of what they say of themselves, may run without
        asking."""
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

    @query
    def grants(self, connection: Connection, owner: str) -> Sequence[Grant]:
        """All that the owner granted, by tool."""
        return [Grant(*row[1:]) for row in ALL_GRANTS.all(connection, owner=owner)]

    @transaction
    def revoke(self, connection: Connection, owner: str, tool: str) -> int:
        """Takes back what was granted to a tool; how many grants that were."""
        return REVOKE.run(connection, owner=owner, tool=tool).rowcount
