"""The storage contract of decisions by people and results of clients: approvals of tool calls, calls that a
client runs, grants, switches of skills.

All methods raise `errors.StorageError` when the database cannot do its work, and nothing half-done is left
behind.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from gateway.events.tool_calls import Decision, Scope
from gateway.storage.turns import Accepted, TurnRow


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


class ClientCalls(Protocol):
    """Calls that wait for a client. Turns are suspended for them as for approvals (`ParkedTurns.park`)."""

    async def expect(self, calls: Sequence[ClientCall]) -> None:
        """Stores what a client is to run. A call that is there already is left as it is."""
        ...

    async def of_turn(self, turn_id: str) -> Sequence[ClientCall]:
        """In their order."""
        ...

    async def get(self, session_id: str, turn_id: str, tool_call_id: str, owner: str) -> ClientCall:
        """Raises errors.NotFound (tool_call_not_found)."""
        ...

    async def answer(self, call: ClientCall, result: ClientResult) -> tuple[ClientCall, Accepted | None]:
        """Stores the result. The call as it is now, and the turn when this was what it waited for: it is
        the caller's from then on. The same result again changes nothing.

        Raises:
            errors.Conflict: it has another result, its time is over, or its turn is.
        """
        ...

    async def expire(self, turn_id: str, now: int) -> None:
        """Ends the calls of the turn that no client answered in time."""
        ...

    async def clear(self, turn_id: str) -> None:
        """Drops the contents of the turn's results, which are in the log."""
        ...


class ApprovalRequests(Protocol):
    """Calls that wait for a person."""

    async def ask(self, rows: Sequence[ApprovalRow]) -> None:
        """Stores what is to be decided. A row that is there already is left as it is."""
        ...

    async def of_turn(self, turn_id: str) -> Sequence[ApprovalRow]:
        """In the order in which they were asked for."""
        ...

    async def get(self, session_id: str, turn_id: str, tool_call_id: str, owner: str) -> ApprovalRow:
        """Raises errors.NotFound (approval_not_found)."""
        ...

    async def decide(self, row: ApprovalRow, verdict: Verdict) -> tuple[ApprovalRow, Accepted | None]:
        """Stores the decision, with the grant that its scope means: for what the tool said of itself when it
        was asked about, in the place of one for something else, or of one that rests on a key. The row as it
        is now, and the turn when this was what it was suspended for: it is the caller's from then on. The
        same decision again (with its scope and arguments) changes nothing.

        Raises:
            errors.Conflict: it was decided otherwise, it has expired, or its turn is over.
            errors.NotFound: (session_not_found) who decides may not write in the session any more.
        """
        ...

    async def withdraw(self, session_id: str, turn_id: str, calls: Collection[str]) -> int:
        """Takes back the decisions about these calls whose deciders may not write in the session any more;
        how many these were."""
        ...

    async def expire(self, turn_id: str, now: int, reason: str) -> None:
        """Stores a denial, `by` expiry, for the calls of the turn without a decision in time."""
        ...

    async def waiting(self, owner: str, limit: int) -> Sequence[ApprovalRow]:
        """The calls that wait for a decision in the sessions of `owner`, and in turns that they sent in those
        of others; those that were asked about first in front."""
        ...


class ParkedTurns(Protocol):
    """Turns that wait for a person or a client. A suspended turn still counts as its session's running one,
    but has no lease holder."""

    async def park(self, turn: TurnRow, waiting: Collection[str], until: int) -> bool:
        """Gives the turn up until one of the calls `waiting` is decided or has its client's result, or until
        then (Unix milliseconds). False, and nothing done, when that was so before, or the turn is to be
        cancelled. Raises errors.TurnLost when it is no longer the caller's."""
        ...

    async def wake(self, turn_id: str) -> Accepted | None:
        """Takes a suspended turn, whose lease holder the caller becomes. None when it is not suspended."""
        ...

    async def overdue(self, now: int, limit: int) -> Sequence[str]:
        """Suspended turns that must not wait any longer, at most `limit`: their time is over at `now`, or
        they are to be cancelled."""
        ...

    async def count_parked(self) -> int:
        """How many turns are suspended."""
        ...


class ToolGrants(Protocol):
    """Tools that a user allowed to run without asking."""

    async def granted(self, owner: str, session_id: str, tools: Mapping[str, str]) -> Granted:
        """Which of `tools`, by name with the digests of what they say of themselves, may run without
        asking."""
        ...

    async def grants(self, owner: str) -> Sequence[Grant]:
        """All that the owner granted, by tool."""
        ...

    async def revoke(self, owner: str, tool: str) -> int:
        """Takes back what was granted to a tool; how many grants that were."""
        ...


class Approvals(ApprovalRequests, ParkedTurns, ToolGrants, Protocol):
    """Calls that wait for a person, turns that are suspended meanwhile, and grants."""


class SkillSwitches(Protocol):
    """Which skills are switched off. What is not stored is on."""

    async def disabled(self) -> frozenset[str]:
        """The names of those that are off."""
        ...

    async def switch(self, name: str, *, enabled: bool, by: str, at: int) -> None:
        """Stores it, whether there is such a skill or not."""
        ...
