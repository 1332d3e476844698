"""Blobs: named byte strings in a folder or a bucket, for archives and artifacts."""

from collections.abc import AsyncIterator, Iterable
from typing import Protocol


class Blobs(Protocol):
    """A store of blobs. A path is relative, of parts made of letters, digits and `_-.`, joined by `/`; any
    other is a mistake of the caller's (ValueError).

    All methods raise `errors.StorageError` when the store cannot do its work.
    """

    async def put(self, path: str, chunks: Iterable[bytes], *, bulk: bool = False) -> int:
        """Stores a blob whole or not at all, in place of one of the same path; durable when it returns the
        number of bytes. `chunks` is iterated off the event loop and may be long; what it raises is raised
        here. With `bulk` it may also be slow: only other `bulk` blobs wait behind it.

        A caller that is cancelled is let go at once. What has not begun is not begun then; what is under way
        asks for no further chunk, and whether it was stored stays unknown: `delete` holds for it too."""
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
        """Removes the blob; nothing happens when there is none. One that a cancelled caller has left under
        way is removed when it comes to be."""
        ...

    async def sweep(self, before: int) -> int:
        """Removes what was written, before that time in Unix milliseconds, of blobs that never became whole,
        as the process was killed. Returns how many these were."""
        ...
