"""What storage owes about artifacts: what is known of them. Their content is in blobs.

As in base.py: all methods raise `errors.StorageError` when the database cannot do its work, and nothing
half-done is left behind. Artifacts belong to their owner; a reference names one of the owner's.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from gateway.storage.artifacts.rows import ArtifactRow, Room, Stock


class Artifacts(Protocol):
    """The rows of artifacts, and which sessions use them."""

    async def add(self, row: ArtifactRow, *, quota: int) -> None:
        """Stores it; from then on its session, if it has one, uses it, and its blob is no
        orphan (see `Orphans`).

        Raises:
            errors.ArtifactsFull: the owner's artifacts would count more than `quota` bytes; details: quota,
                used. Content that the owner has already counts MIN_COUNTED.
            errors.NotFound: (session_not_found) the owner has no such session.
        """
        ...

    async def get(self, owner: str, ref: str) -> ArtifactRow:
        """Raises errors.NotFound (artifact_not_found)."""
        ...

    async def find(
        self,
        owner: str,
        *,
        limit: int,
        before: tuple[int, str] | None = None,
        session_id: str | None = None,
        turn_id: str | None = None,
    ) -> Sequence[ArtifactRow]:
        """The newest first by (created_at, ref), strictly before that pair: all of the owner's, those that a
        session uses, or those that a turn made."""
        ...

    async def those(self, owner: str, refs: Collection[str]) -> Mapping[str, ArtifactRow]:
        """Those of `refs` that are there."""
        ...

    async def used(self, session_id: str, refs: Collection[str]) -> Mapping[str, ArtifactRow]:
        """Those of `refs` that the session uses, whose owner was checked before."""
        ...

    async def use(self, owner: str, session_id: str, refs: Collection[str]) -> None:
        """The session refers to these from now on, as far as they and the session are there."""
        ...

    async def summarise(self, owner: str, ref: str, summary: str) -> None:
        """Stores what a model made of it; nothing happens when it is gone."""
        ...

    async def delete(self, owner: str, ref: str, at: int) -> None:
        """Removes it, whoever uses it; its blob may be an orphan. Raises errors.NotFound."""
        ...

    async def expire(self, now: int, limit: int) -> int:
        """Of those whose time is over, at most `limit` at once: removes those that no session uses, and says
        how many that were. Their blobs may be orphans; the time of the others goes on for a day."""
        ...

    async def room(self, owner: str) -> Room:
        """What the owner's artifacts take."""
        ...

    async def stock(self) -> Stock:
        """What all users' take."""
        ...
