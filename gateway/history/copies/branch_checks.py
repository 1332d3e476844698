"""Checks the branches of a copy: each is a way through its messages."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway.history.copies.line_reader import demand
from gateway.storage.branches import MAX_BRANCHES, OPEN, ROOT, Branch
from gateway.storage.sessions.copies import BranchCopy, Moment, TurnCopy, VersionCopy


@dataclass(slots=True)
class CheckedBranches:
    """The branches of a copy, taken in their order, after its turns and before its versions."""

    found: list[BranchCopy] = field(default_factory=list[BranchCopy])
    began: dict[str, int] = field(default_factory=dict[str, int])
    """By turn, the position after which its messages come; of those that began."""
    _parents: dict[str, str] = field(default_factory=dict[str, str])
    _turns: dict[str, int] = field(default_factory=dict[str, int])

    def take_turn(self, turn: TurnCopy) -> None:
        demand(turn.id != ROOT, f"a turn has the id {ROOT}")
        self._turns[turn.id] = turn.branch
        if turn.parent is not None:
            self._parents[turn.id] = turn.parent

    def take(self, branch: BranchCopy, active: int | None, last: int) -> None:
        """A branch of a session whose last message is at the position `last`."""
        demand(branch.branch == len(self.found) < MAX_BRANCHES, "branches are not in order, or too many")
        fork = branch.fork_turn_id
        demand(fork is None or fork in self._turns, "the branch begins after a turn that is not there")
        demand((branch.parent is None) == (fork is None), "the branch has a parent and no fork, or none")
        demand(branch.parent is None or branch.parent < branch.branch, "the branch's parent is not there")
        demand(branch.generation_from <= last, "the branch's generation is beyond the last message")
        end = OPEN if branch.branch == active else last
        position = -1
        for after, until in branch.ranges:
            demand(position < after < until <= end and after <= last, "the ranges are not in order")
            position = until
        is_open = bool(branch.ranges) and branch.ranges[-1][1] == OPEN
        demand(is_open == (branch.branch == active), "the active branch alone goes on")
        self.found.append(branch)

    def take_message(self, position: int, turn_id: str) -> None:
        if turn_id in self._turns:
            self.began.setdefault(turn_id, position - 1)

    def first_of(self, version: VersionCopy, after: int) -> int:
        """The position at which a version must begin that covers the messages after a position."""
        branch = self.of(version, 0)
        ranges = branch.within(after, OPEN) if branch is not None else [(after, OPEN)]
        return ranges[0][0] + 1 if ranges else 0

    def of(self, version: VersionCopy, last: int) -> Branch | None:
        """The ranges of the messages that a version covers; None: all may."""
        demand(version.branch < max(1, len(self.found)), "the version's branch is not there")
        if not self.found:
            return None
        return Branch(version.branch, self.found[version.branch].ranges, last)

    def finish(self, active: int | None, versions: Mapping[int, VersionCopy]) -> None:
        """All lines were taken."""
        count = len(self.found)
        demand(
            (active is None) == (count == 0), "the branches are not there, or nothing says which is active"
        )
        demand(active is None or active < count, "the active branch is not there")
        demand(all(branch < max(1, count) for branch in self._turns.values()), "a turn's branch is not there")
        demand(
            all(parent == ROOT or parent in self._turns for parent in self._parents.values()),
            "a turn's parent is not there",
        )
        demand(
            all(each.compression is None or each.compression in versions for each in self.found),
            "the version in force in a branch is not there",
        )


def branch_in(moment: Moment, version: VersionCopy) -> Branch | None:
    """The ranges of the messages of a checked version; None in a session with one branch."""
    if not moment.branches:
        return None
    return Branch(version.branch, moment.branches[version.branch].ranges, moment.session.last_position)
