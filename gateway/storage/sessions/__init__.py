"""Sessions: their rows, and what is read of them. The class is in store.py."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from gateway.storage.messages import History
from gateway.storage.turns import TurnRow

BESIDE = "side"
"""The role of sessions with what a frontend asks for itself, such as titles: nothing is learned from them."""

TitleBy = Literal["user", "model"]
Shared = Literal["read", "write"]
"""What the members of its project may do with a session that its owner shares."""
Sharing = Shared | Literal["none"]
OpenStatus = Literal["running", "awaiting_approval", "awaiting_tool_result"]
Order = Literal["updated", "created"]
FoundIn = Literal["title", "messages"]
Whose = Literal["mine", "others", "all"]
"""Sessions of the user, those that others share with them in a project, or both."""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session. Times are Unix milliseconds; `head` is the seq of its last event, 0 before the first,
    `updated_at` when a turn was accepted or ended last, and `active_branch` the one in which turns go on.
    `pinned_at` and `archived_at` are when its owner did so, `title_by` who gave it its title: None where that
    is the beginning of its first message. `status` is that of its open turn; None: it has none. `shared` is
    what the members of its project may do with it; None: nothing. `archive_days` and `delete_days` are its
    own retention. One that `is_temporary` is in no list, nothing is learned from it, and it ends soon."""

    id: str
    owner: str
    title: str | None
    created_at: int
    updated_at: int
    head: int
    project_id: str | None = None
    role_id: str | None = None
    active_branch: int = 0
    pinned_at: int | None = None
    archived_at: int | None = None
    title_by: TitleBy | None = None
    archive_days: int | None = None
    delete_days: int | None = None
    status: OpenStatus | None = None
    shared: Shared | None = None
    is_temporary: bool = False

    @property
    def pinned(self) -> bool:
        return self.pinned_at is not None

    @property
    def archived(self) -> bool:
        return self.archived_at is not None


@dataclass(frozen=True, slots=True)
class MarkedText:
    """A part of a text that is shown: `hit` where it is one that a search looked for."""

    text: str
    hit: bool = False


@dataclass(frozen=True, slots=True)
class MatchedText:
    """Why a search finds a session: its `title`, in pieces, if words of the search are in it, and of the
    newest turn that has all of them the part of the `text` where they stand; None: they are in the title
    alone, or the messages cannot be read any more."""

    title: Sequence[MarkedText] | None = None
    turn_id: str | None = None
    text: Sequence[MarkedText] | None = None


@dataclass(frozen=True, slots=True)
class Outline:
    """A session as of one moment, before its messages are read: `history` is without them, `last` the
    position of the last one."""

    session: SessionRow
    open_turn: TurnRow | None
    history: History
    last: int

    @property
    def ranges(self) -> Sequence[tuple[int, int]]:
        """Where the messages of the history lie: pairs of a position that comes before and the last one."""
        row, branch = self.history.compression, self.history.branch
        covered = row.to_position if row is not None else 0
        since = [(covered, self.last)] if branch is None else branch.within(covered, self.last)
        if row is None or row.kept_position is None:
            return since
        return [(row.kept_position - 1, row.kept_position), *since]


class Slice(NamedTuple):
    """What became of a slice of a purge: whether it was the last, and blobs that may be orphans since."""

    is_last: bool
    blobs: Sequence[str]
