"""Blobs that may be orphans: the artifact, the archive or the version of a session that names them was not
added yet, or is gone. A writer of a blob makes it a candidate before; the transaction that adds its row
ends that in the same transaction. So a crash leaves at most a candidate, which a sweep removes."""

from collections.abc import Collection, Sequence
from typing import Protocol


class Orphans(Protocol):
    """The blobs that may be orphans. All methods raise `errors.StorageError` when the database cannot do its
    work, and nothing half-done is left behind."""

    async def suspect(self, paths: Collection[str], at: int) -> None:
        """These are candidates from `at` on, also those that were before: they are about to be written, or
        could not be removed."""
        ...

    async def candidates(self, before: int, limit: int) -> Sequence[str]:
        """Those since before that time, the oldest first."""
        ...

    async def is_needed(self, path: str) -> bool:
        """Whether an artifact, an archive or a version names it, one that is just being added too."""
        ...

    async def resolve(self, path: str) -> bool:
        """It is no candidate any more: something names it, or it was removed. Whether it was one."""
        ...
