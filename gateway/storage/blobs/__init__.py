"""Where archives lie: named byte strings in a folder or a bucket."""

from collections.abc import AsyncIterator, Iterable
from typing import Protocol


class Blobs(Protocol):
    """A store of blobs. A path is relative, of parts made of letters, digits and `_-.`, joined by `/`; any
    other is a mistake of the caller's (ValueError).

    All methods raise `errors.StorageError` when the store cannot do its work.
    """

    async def put(self, path: str, chunks: Iterable[bytes]) -> int:
        """Stores a blob whole or not at all, in place of one of the same path; durable when it returns the
        number of bytes. `chunks` is iterated off the event loop and may be long; what it raises is raised
        here. A caller that is cancelled waits until the store has let go of the blob, stored or not."""
        ...

    async def read(self, path: str, *, start: int = 0, length: int | None = None) -> bytes:
        """The bytes from `start` on, at most `length`; none when the blob ends before. Raises
        errors.BlobMissing."""
        ...

    def stream(self, path: str) -> AsyncIterator[bytes]:
        """The blob in chunks of bounded size, read as they are asked for. Iterating raises
        errors.BlobMissing."""
        ...

    async def delete(self, path: str) -> None:
        """Removes the blob; nothing happens when there is none."""
        ...

    async def delete_below(self, folder: str) -> None:
        """Removes every blob whose path begins with `folder` and a slash."""
        ...
