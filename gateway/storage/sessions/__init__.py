"""What storage owes about sessions beside what was said in them: what is removed, searched and learned.

As in base.py: all methods raise `errors.StorageError` when the database cannot do its work, and nothing
half-done is left behind.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Slice(NamedTuple):
    """What became of a slice of a purge: whether it was the last, and blobs that may be orphans since."""

    is_last: bool
    blobs: Sequence[str]


class Purges(Protocol):
    """The removal, in slices, of rows that nobody sees any more: those of sessions that were deleted, and
    those of events and messages that an archive has."""

    async def awaited(self) -> None:
        """Returns once a purge has begun in this process since the last time."""
        ...

    async def next_slice(self) -> Slice | None:
        """Removes a slice of the purge that began first; None when there is none."""
        ...


class Search(Protocol):
    """The words of sessions, by which `Sessions.list` finds them. Titles are searchable at once, turns when
    their session was indexed after their end."""

    async def index(self, *session_ids: str) -> None:
        """Makes what was said in these sessions searchable, up to their last turn that is over. Sessions that
        are gone, or have nothing new, are passed over."""
        ...

    async def due(self, *, after: str = "", limit: int) -> Sequence[str]:
        """Sessions without a running turn of which something is not searchable yet, in the order of their
        ids, beginning after that one."""
        ...


class LearnedSessions(Protocol):
    """How far the keeper of memories has read the sessions that it is to read. What was said while it was
    switched off is none of its business, so a session is to be read from some turn on, and no more once
    everything was."""

    async def begin(self, session_id: str, turn_id: str) -> None:
        """What is said from that turn on, the session's newest, is to be read; nothing happens while
        something before it is."""
        ...

    async def learned_to(self, session_id: str) -> int | None:
        """The position after which messages are to be read; None: nothing is, or the session is gone."""
        ...

    async def advance(self, session_id: str, to: int) -> None:
        """It was read up to that position. Nothing more is to be read when that is its last message and no
        turn is open."""
        ...

    async def due(self, *, before: int, after: str = "", limit: int) -> Sequence[tuple[str, str]]:
        """Sessions (id, owner) to be read that have no turn in flight and were last used before that time, in
        the order of their ids, beginning after that one."""
        ...
