"""The contract of storage for encryption at rest: which keys something may be encrypted with, and how rows
come to be encrypted with the first one."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol


class Rotated(NamedTuple):
    """What one slice came to: rows that were encrypted anew, rows that did not open, and the place behind
    which to go on; None: nothing is left."""

    rows: int
    unreadable: int
    after: str | None


class Secrets(Protocol):
    """Every method raises errors.StorageError when the database cannot do its work."""

    async def begin(self, now: int) -> None:
        """Notes that this process encrypts with the first key. Raises errors.SettingsError: something may be
        encrypted with a key that is not there."""
        ...

    async def rotate(self, after: str | None, limit: int) -> Rotated:
        """Encrypts at most `limit` secrets that are not with the first key, plain ones too, in one
        transaction."""
        ...

    async def blob_paths(self, after: str, limit: int) -> Sequence[str]:
        """Paths of blobs that rows name, in their order, behind `after`."""
        ...

    async def end_rotation(self) -> None:
        """Notes that nothing is encrypted with any other key than the first."""
        ...

    async def forget(self, key_id: str) -> int:
        """Removes the secrets that are encrypted with a key that is lost, and that it ever was; how many rows
        that were. What is in blobs stays, unreadable."""
        ...
