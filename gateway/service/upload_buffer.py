"""Files that are sent to the gateway: kept on the disk while they come in, so that no memory holds them."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterable, Generator
from contextlib import aclosing, asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from gateway.errors import QueueFull, StorageError, TooLarge

WRITE_SIZE = 1_048_576
"""Bytes of an upload that are held before they go to its file."""


MAX_FILES = 256
"""Files of all users that come in at the same time: so many descriptors."""


class UploadBuffer:
    """Takes in files at the same time, `of_one` of them from one user, of `max_bytes` each, the value of the
    setting `limit`, or `together`; of all as many bytes as `largest` such files have. `what` is the plural
    noun for messages. It is bytes that are bounded, as who sends slowly has few."""

    def __init__(
        self,
        folder: Path,
        *,
        largest: int,
        max_bytes: int,
        limit: str,
        what: str,
        of_one: int,
        together: bool = False,
    ) -> None:
        self._folder = folder
        self._all_bytes = largest * max_bytes
        self._max_bytes = max_bytes
        self._limit = limit
        self._what = what
        self._of_one = of_one
        self._together = together
        self._taken = Counter[str | None]()
        self._bytes = Counter[str | None]()

    @asynccontextmanager
    async def received(
        self, chunks: AsyncIterable[bytes], owner: str | None = None
    ) -> AsyncGenerator[BinaryIO]:
        """All chunks as a file without a name: it is gone when the context is left, and when the process is
        killed. It stands at its end.

        Raises:
            errors.QueueFull: as many files or bytes as may are being received, or worked on, already.
            errors.TooLarge: there are more bytes than may be.
            errors.StorageError: the file cannot be written.
        """
        if self._taken.total() >= MAX_FILES:
            raise self._full()
        if self._taken[owner] >= self._of_one:
            raise QueueFull(f"{self._of_one} {self._what} of yours are running already.")
        self._taken[owner] += 1
        received = 0
        try:
            with _file_in(self._folder) as file:
                async with aclosing(self._receive(file, chunks)) as sizes:
                    async for size in sizes:
                        received += size
                        self._bytes[owner] += size
                        if (self._bytes[owner] if self._together else received) > self._max_bytes:
                            raise self._too_large(received)
                        if self._bytes.total() > self._all_bytes:
                            raise self._full()
                yield file
        finally:
            self._taken[owner] -= 1
            self._bytes[owner] -= received
            self._bytes += Counter()
            self._taken += Counter()  # forgets whom nothing is left of

    def _full(self) -> QueueFull:
        return QueueFull(f"Too many {self._what} are running already. Try again in a moment.")

    def _too_large(self, received: int) -> TooLarge:
        about, most = "The file is", self._max_bytes
        if received <= most:
            about = f"With others of yours that come in now the file of these {self._what} is"
        return TooLarge(
            f"{about} larger than {most} bytes: see GATEWAY_{self._limit.upper()}.",
            details={self._limit: most},
        )

    @staticmethod
    async def _receive(file: BinaryIO, chunks: AsyncIterable[bytes]) -> AsyncGenerator[int]:
        """Writes the file, and tells the size of each chunk before it does."""
        held = bytearray()
        async for chunk in chunks:
            yield len(chunk)
            held += chunk
            if len(held) >= WRITE_SIZE:
                await asyncio.to_thread(_write, file, bytes(held))
                held.clear()
        await asyncio.to_thread(_write, file, bytes(held))


@contextmanager
def _file_in(folder: Path) -> Generator[BinaryIO]:
    try:
        file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 - it is closed below
    except OSError as error:
        raise StorageError("The upload cannot be kept.", cause=f"{folder}: {error.strerror}") from error
    try:
        yield file
    finally:
        with suppress(OSError):  # it tries once more to write what there was no room for
            file.close()


def _write(file: BinaryIO, data: bytes) -> None:
    try:
        file.write(data)
        file.flush()
    except OSError as error:
        raise StorageError(f"The upload cannot be kept: {error.strerror}.", code="storage_full") from error
