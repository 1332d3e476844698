"""What storage owes about a session's past: the versions of its compressed history, its summary, and what was
moved to blobs.

As in base.py: all methods raise `errors.StorageError` when the database cannot do its work, and nothing
half-done is left behind. Callers have checked the session's owner before, unless a method takes one.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from gateway.storage.archives.rows import ArchiveRow, CompressionRow, SummaryRow


class Compressions(Protocol):
    """The versions of sessions' compressed histories, append-only, and which of them is in force."""

    async def list(self, session_id: str) -> Sequence[CompressionRow]:
        """All versions, the oldest first."""
        ...

    async def get(self, session_id: str, version: int) -> CompressionRow:
        """Raises errors.NotFound (code version_not_found)."""
        ...

    async def in_force(self, session_id: str) -> int | None:
        """The version in force; None when every message is sent, or there is no such session."""
        ...

    async def next_version(self, session_id: str) -> int:
        """The number of the version that would be added next, from 1."""
        ...

    async def add(self, row: CompressionRow) -> None:
        """Adds the version and puts it in force, in one transaction: failures in a row are forgotten, the
        session's prefix hash too, and a new generation begins after its last message. When a turn runs that
        did not ask for this (the trigger is manual), that turn goes on with the old view: the generation
        stays open (GENERATION_OPEN) until the next turn begins.

        Raises:
            errors.Conflict: (code compression_conflict) the version in force is no longer `row.parent`, or
                the number is taken: somebody else was faster.
            errors.NotFound: the session is gone.
        """
        ...

    async def activate(self, session_id: str, version: int | None) -> None:
        """Puts another version in force, None: none of them; a new generation begins as with a manual `add`.
        Raises errors.NotFound (code version_not_found)."""
        ...

    async def failed(self, session_id: str) -> int:
        """Counts a failed attempt; returns how many there were in a row."""
        ...


class Summaries(Protocol):
    """The newest summary of each session."""

    async def save(self, row: SummaryRow) -> None:
        """Replaces the session's summary, unless that knows more messages. Nothing happens when the session
        is gone."""
        ...

    async def get(self, session_id: str, owner: str) -> SummaryRow:
        """Raises errors.NotFound (code summary_not_found)."""
        ...

    async def list(
        self,
        owner: str,
        *,
        project_id: str | None = None,
        role_id: str | None = None,
        limit: int,
        except_for: str | None = None,
    ) -> Sequence[SummaryRow]:
        """The owner's newest summaries, newest first; only of sessions in that project and in that role, as
        far as they are given. `except_for` is a session that is left out."""
        ...

    async def carried(self, session_id: str, owner: str, *, limit: int) -> Sequence[SummaryRow]:
        """What a new session is shown: the newest summaries of the owner's other sessions of exactly its
        project and its role (or, like it, of none). Costs nothing while no summary was ever made."""
        ...

    async def due(self, *, idle_before: int, limit: int) -> Sequence[tuple[str, str, str | None]]:
        """Sessions (id, owner, project) without a turn in flight whose last use was before that time and
        which have messages that their summary, if any, does not know."""
        ...


class Archives(Protocol):
    """Which ranges of sessions were moved to blobs."""

    def moving(self, session_id: str) -> AbstractContextManager[None]:
        """Held by whoever moves a session's rows, which one at a time does: two would write the same blobs.
        Entering raises errors.Conflict (code archive_conflict) while somebody else holds it."""
        ...

    async def list(self, session_id: str) -> Sequence[ArchiveRow]:
        """All of a session's, in order."""
        ...

    async def add(self, row: ArchiveRow) -> None:
        """Adds the range: from then on it is read from its archive, and its rows are removed (see `Purges`).

        Raises:
            errors.TurnInProgress: a turn is running or waiting.
            errors.Conflict: (code archive_conflict) the range is not exactly what the tables hold now, or
                its blobs are no candidates any more (see `Orphans`): writing them took so long that they were
                swept.
            errors.NotFound: the session is gone.
        """
        ...

    async def due(self, *, idle_before: int, limit: int) -> Sequence[tuple[str, str]]:
        """Sessions (id, owner) without a turn in flight whose last use was before that time and which have
        rows to move."""
        ...
