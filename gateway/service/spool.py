"""Files that are sent to the gateway: kept on the disk while they come in, so that no memory holds them."""

import asyncio
import tempfile
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import BinaryIO

from gateway.errors import QueueFull, StorageError, TooLarge

WRITE_SIZE = 1_048_576
"""Bytes of an upload that are held before they go to its file."""


class Spool:
    """Takes in `at_once` files at the same time, of at most `most` bytes each, as the setting of the name
    `limit` says; `what` they are called in the plural."""

    def __init__(self, folder: Path, *, at_once: int, most: int, limit: str, what: str) -> None:
        self._folder = folder
        self._at_once = at_once
        self._most = most
        self._limit = limit
        self._what = what
        self._taken = 0

    @asynccontextmanager
    async def received(self, chunks: AsyncIterable[bytes]) -> AsyncGenerator[BinaryIO]:
        """All chunks as a file without a name: it is gone when the context is left, and when the process is
        killed. It stands at its end.

        Raises:
            errors.QueueFull: as many as may are being received, or worked on, already.
            errors.TooLarge: there are more bytes than may be.
            errors.StorageError: the file cannot be written.
        """
        if self._taken >= self._at_once:
            raise QueueFull(f"{self._at_once} {self._what} are running already.")
        self._taken += 1
        try:
            with _file_in(self._folder) as file:
                await self._receive(file, chunks)
                yield file
        finally:
            self._taken -= 1

    async def _receive(self, file: BinaryIO, chunks: AsyncIterable[bytes]) -> None:
        held = bytearray()
        size = 0
        async for chunk in chunks:
            size += len(chunk)
            if size > self._most:
                raise TooLarge(
                    f"The file is larger than {self._most} bytes.", details={self._limit: self._most}
                )
            held += chunk
            if len(held) >= WRITE_SIZE:
                await asyncio.to_thread(_write, file, bytes(held))
                held.clear()
        await asyncio.to_thread(_write, file, bytes(held))


def _file_in(folder: Path) -> BinaryIO:
    try:
        return tempfile.TemporaryFile(dir=folder)
    except OSError as error:
        raise StorageError(f"The data folder {folder} cannot be written: {error.strerror}.") from error


def _write(file: BinaryIO, data: bytes) -> None:
    try:
        file.write(data)
        file.flush()
    except OSError as error:
        raise StorageError(f"The upload cannot be kept: {error.strerror}.", code="storage_full") from error
