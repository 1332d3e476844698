"""Branches: a session's turns as a tree, over a log from which nothing is removed.

    log:       t1  t2  t3  t4          t3 has the parent t1: it was asked instead of t2
    branch 0:  t1  t2      t4          each branch is a view: ranges of the positions of messages, which
    branch 1:  t1      t3              only grow towards its end

A session in which nothing was ever asked twice has one branch, and no rows here."""

from collections.abc import Sequence
from dataclasses import dataclass

from gateway.errors import NotFound

ROOT = "root"
"""In place of the parent of a turn that has none: it was asked instead of a session's first."""
OPEN = 2**53
"""The end of the range in which a branch goes on."""
MAX_BRANCHES = 1000
"""Branches of one session. Each has its ranges, and at most one for each fork before it."""

Ranges = Sequence[tuple[int, int]]
"""Messages by their positions, in order: pairs of the position before a range and its last one."""


@dataclass(frozen=True, slots=True)
class Branch:
    """Where the messages of a branch lie among those of its session, of which `last` is the newest."""

    number: int
    ranges: Ranges
    last: int

    def has(self, position: int) -> bool:
        """Whether the message at a position is one of the branch's."""
        return any(after < position <= until for after, until in self.ranges)

    def within(self, after: int, until: int) -> Ranges:
        """Its ranges between two positions."""
        found = [(max(each[0], after), min(each[1], until)) for each in self.ranges]
        return [(first, last) for first, last in found if first < last]


@dataclass(frozen=True, slots=True)
class BranchRow:
    """A branch of a session. It begins after the turn `fork_turn_id`, which its parent has as well (None: it
    begins with its own first message), and has `turns` turns of its own, of which `last_turn_id` is the
    newest. Times are Unix milliseconds."""

    branch: int
    parent: int | None
    fork_turn_id: str | None
    created_at: int
    turns: int
    last_turn_id: str | None


@dataclass(frozen=True, slots=True)
class SessionBranches:
    """All branches of a session, in the order in which they were made, and the one that turns go on in."""

    active: int
    rows: Sequence[BranchRow]


def no_branch(session_id: str, branch: int) -> NotFound:
    return NotFound(f"Session {session_id} has no branch {branch}.", code="branch_not_found")


def up_to(ranges: Ranges, position: int) -> Ranges:
    """The ranges without what comes after a position."""
    return [(after, min(until, position)) for after, until in ranges if after < position]


def going_on(ranges: Ranges, position: int) -> Ranges:
    """The ranges with all that comes after a position, which is not before their end."""
    if ranges and ranges[-1][1] == position:
        return [*ranges[:-1], (ranges[-1][0], OPEN)]
    return [*ranges, (position, OPEN)]


def common(one: Ranges, other: Ranges) -> int:
    """The position up to which both have the same messages."""
    position = 0
    for (after, until), (other_after, other_until) in zip(one, other, strict=False):
        if after != other_after:
            break
        position = min(until, other_until)
        if until != other_until:
            break
    return position
