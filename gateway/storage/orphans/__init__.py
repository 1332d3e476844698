"""Blobs that may be orphans: the artifact, the archive or the version of a session that names them was not
added yet, or is gone.

    suspect -> write the blob -> add its row, in whose transaction it is claimed
       └───── an hour later, or the row went ─────> condemn -> remove the blob -> resolve

A condemned blob cannot be claimed, and each blob has a path of its own: so no writer writes to a blob that is
being removed, and a crash leaves at most a candidate, which a sweep removes.
"""

from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from gateway.storage.blobs import Blobs


class Orphans(Protocol):
    """The blobs that may be orphans. All methods raise `errors.StorageError` when the database cannot do its
    work, and nothing half-done is left behind."""

    def removing(self) -> AbstractContextManager[bool]:
        """Whether blobs may be removed within: not while a backup is made."""
        ...

    async def suspect(self, paths: Collection[str], at: int) -> None:
        """These are candidates from `at` (Unix milliseconds) on, also those that were before: they are about
        to be written, or have lost a row."""
        ...

    async def candidates(self, before: int, limit: int) -> Sequence[str]:
        """Those since before that time, the oldest first."""
        ...

    async def condemn(self, path: str, at: int) -> bool:
        """Whether the candidate is to be removed, as no artifact, archive or version names it: none will from
        then on, and it is a candidate since `at`. One that something names is a candidate no more. While a
        backup is made of a database on a server it stays what it is."""
        ...

    async def resolve(self, path: str) -> None:
        """The blob was removed: it is no candidate any more."""
        ...


async def remove_orphan(orphans: Orphans, blobs: Blobs, path: str, at: int) -> bool:
    """Removes the blob of a candidate unless something names it; whether it was removed. Raises
    errors.StorageError: it stays a candidate."""
    with orphans.removing() as may_remove:
        if not may_remove or not await orphans.condemn(path, at):
            return False
        await blobs.delete(path)
        await orphans.resolve(path)
        return True
