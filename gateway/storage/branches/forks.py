"""How a turn enters a branch, a fork, and the change to another branch, in SQL: parts of transactions that
have the session's head locked."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson
from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from gateway.errors import Conflict
from gateway.storage.branches import MAX_BRANCHES, OPEN, ROOT, Ranges, common, going_on, no_branch, up_to
from gateway.storage.branches.branch_positions import (
    BEGAN,
    ID,
    IN_PROMPT,
    OF_BRANCH,
    RAN,
    STORED,
    State,
    place_of,
    ranges_of,
    state_of,
    turn_before,
)
from gateway.storage.busy_sessions import check_is_idle
from gateway.storage.database import Prepared
from gateway.storage.row_codec import as_json, pairs_of
from gateway.storage.schema import active_ranges, branches, compressions, sessions, summaries, turns

_IN_BRANCH = turns.c.branch == bindparam("branch")
NEXT_BEGINS = Prepared(select(func.min(BEGAN)).where(RAN, bindparam("at") < BEGAN))
ANY_AFTER = Prepared(select(turns.c.id).where(RAN, _IN_BRANCH, bindparam("at") < BEGAN).limit(1))
NEWEST_IN_BRANCH = Prepared(select(turns.c.id).where(RAN, _IN_BRANCH).order_by(BEGAN.desc()).limit(1))
NEWEST_BRANCH = Prepared(select(func.max(branches.c.branch)).where(branches.c.session_id == ID))
ADD = Prepared(insert(branches).values({column.name: bindparam(column.name) for column in branches.c}))
LEAVE = Prepared(
    update(branches).where(OF_BRANCH).values({name: bindparam(name) for name in ("ranges", *IN_PROMPT)})
)
GO_ON_IN = Prepared(update(branches).where(OF_BRANCH).values(ranges=bindparam("ranges")))
ENTER = Prepared(
    update(sessions)
    .where(sessions.c.id == ID)
    .values({name: bindparam(name) for name in ("branch", *IN_PROMPT)})
)
TURN_INSTRUCTIONS = Prepared(
    select(turns.c.instructions).where(turns.c.session_id == ID, turns.c.id == bindparam("turn_id"))
)
VERSION = Prepared(
    select(compressions.c.parent, compressions.c.to_position).where(
        compressions.c.session_id == ID, compressions.c.version == bindparam("version")
    )
)
FORGET_RANGES = Prepared(delete(active_ranges).where(active_ranges.c.session_id == ID))
ADD_RANGE = Prepared(
    insert(active_ranges).values({column.name: bindparam(column.name) for column in active_ranges.c})
)
# How far the branch that is left was read for memories or a summary does not hold for the other one.
_to = bindparam("to")
LEARN_FROM = Prepared(
    update(sessions).where(sessions.c.id == ID, sessions.c.learned_to > _to).values(learned_to=_to)
)
SUMMARISE_FROM = Prepared(
    update(summaries)
    .where(summaries.c.session_id == ID, summaries.c.to_position > _to)
    .values(to_position=_to)
)


class Entry(NamedTuple):
    """Where a turn begins: its branch, and its parent where that is not the turn that ran before it."""

    branch: int
    parent: str | None


class ForkPoint(NamedTuple):
    """Where a branch leaves another one, its `parent`: after that turn (None: before all), whose messages end
    at the position `end`. Changes of memories `since` then are rendered in it again."""

    parent: int
    turn_id: str | None
    end: int
    since: int


def enter(connection: Connection, session_id: str, asked: str | None, at: int) -> Entry:
    """The branch in which the turn that begins now comes after the turn `asked` (ROOT: after none, None:
    where the session goes on) is the active one from now on. It is a new one when something comes after that
    turn in its branch.

    Raises:
        errors.NotFound, errors.Conflict: as `parent_of`; errors.Conflict (too_many_branches).
    """
    state = state_of(connection, session_id)
    if asked is None:
        branch = state.branch or 0
        tip = NEWEST_IN_BRANCH.value(connection, session_id=session_id, branch=branch)
        return Entry(branch, tip if tip != turn_before(connection, session_id, state.position) else None)
    if asked == ROOT:
        if not state.position:
            return Entry(state.branch or 0, None)
        fork = ForkPoint(state.branch or 0, None, 0, state.created_at)
        return Entry(_Session(connection, session_id, state).fork(fork, at), ROOT)
    place = place_of(connection, session_id, asked)
    if ANY_AFTER.one(connection, session_id=session_id, branch=place.branch, at=place.begins) is None:
        if place.branch != (state.branch or 0):
            _Session(connection, session_id, state).change(place.branch)
        return Entry(
            place.branch, asked if asked != turn_before(connection, session_id, state.position) else None
        )
    end = NEXT_BEGINS.value(connection, session_id=session_id, at=place.begins)
    fork = ForkPoint(place.branch, asked, end, place.created_at)
    return Entry(_Session(connection, session_id, state).fork(fork, at), asked)


def activate(connection: Connection, session_id: str, branch: int) -> None:
    """Makes that branch the active one. Raises errors.NotFound (session_not_found, branch_not_found) and
    errors.TurnInProgress."""
    state = state_of(connection, session_id)
    if branch == (state.branch or 0):
        return
    ranges_of(connection, session_id, branch)
    check_is_idle(connection, session_id, state.head, "wait for its end, or cancel it")
    _Session(connection, session_id, state).change(branch)


def put_active(connection: Connection, session_id: str, ranges: Ranges) -> None:
    """The active branch has these ranges from now on."""
    FORGET_RANGES.run(connection, session_id=session_id)
    rows = [{"session_id": session_id, "after_position": after, "to_position": to} for after, to in ranges]
    ADD_RANGE.many(connection, rows)


@dataclass(frozen=True, slots=True)
class _Session:
    """A session that changes its branch, as it was before."""

    connection: Connection
    id: str
    state: State

    def fork(self, point: ForkPoint, at: int) -> int:
        """A new branch, which is active from now on; its number."""
        if self.state.branch is None:
            first = {"parent": None, "fork_turn_id": None, "ranges": as_json([(0, OPEN)])}
            self._add(0, self.state.created_at, first | self.state.own)
        number = NEWEST_BRANCH.value(self.connection, session_id=self.id) + 1
        if number >= MAX_BRANCHES:
            raise Conflict(
                f"Session {self.id} has {number} branches: go on in one of them.", code="too_many_branches"
            )
        ranges, own = self._stored(point.parent)
        ranges = going_on(up_to(ranges, point.end), self.state.position)
        own = self._forked(own, point)
        parent = point.parent if point.turn_id is not None else None
        place = {"parent": parent, "fork_turn_id": point.turn_id, "ranges": as_json(ranges)}
        self._add(number, at, place | own)
        self._enter(number, ranges, own)
        return number

    def change(self, branch: int) -> None:
        """To a branch that is there."""
        ranges, own = self._stored(branch)
        ranges = going_on(ranges, self.state.position)
        GO_ON_IN.run(self.connection, session_id=self.id, branch=branch, ranges=as_json(ranges))
        self._enter(branch, ranges, own)

    def _add(self, branch: int, at: int, values: dict[str, Any]) -> None:
        ADD.run(self.connection, session_id=self.id, branch=branch, created_at=at, **values)

    def _enter(self, branch: int, ranges: Ranges, own: dict[str, Any]) -> None:
        connection, left = self.connection, self.state.branch or 0
        closed = up_to(ranges_of(connection, self.id, left), self.state.position)
        LEAVE.run(connection, session_id=self.id, branch=left, ranges=as_json(closed), **self.state.own)
        ENTER.run(connection, session_id=self.id, branch=branch, **own)
        put_active(connection, self.id, ranges)
        shared = common(closed, ranges)
        LEARN_FROM.run(connection, session_id=self.id, to=shared)
        SUMMARISE_FROM.run(connection, session_id=self.id, to=shared)

    def _stored(self, branch: int) -> tuple[Ranges, dict[str, Any]]:
        """The ranges of a branch, and what it has of its own, the active one too."""
        row = STORED.one(self.connection, session_id=self.id, branch=branch)
        if row is None:
            raise no_branch(self.id, branch)
        ranges, *own = row
        is_active = branch == (self.state.branch or 0)
        return pairs_of(ranges), self.state.own if is_active else dict(zip(IN_PROMPT, own, strict=True))

    def _forked(self, own: dict[str, Any], point: ForkPoint) -> dict[str, Any]:
        """What a fork has of its own, of what its parent has: the same prompt, with the newest version that
        covers nothing after the fork, and the client's instructions as of then. With another version it is
        another prompt, whose generation begins."""
        version, in_prompt = own["compression"], own["told_memories"]
        while version is not None:
            parent, to = VERSION.one(self.connection, session_id=self.id, version=version) or (None, 0)
            if to <= point.end:
                break
            version = parent
        if point.turn_id is not None:
            instructions = TURN_INSTRUCTIONS.value(self.connection, session_id=self.id, turn_id=point.turn_id)
            own = own | {"instructions": instructions or None}
        if version != own["compression"]:
            begins = {"generation_from": self.state.position, "prefix_hash": None}
            own = own | begins | {"compression": version}
        if in_prompt is not None and (known := orjson.loads(in_prompt)).get("as_of") is not None:
            known["as_of"] = min(known["as_of"], point.since)
            own = own | {"told_memories": orjson.dumps(known).decode()}
        return own
