"""A zip archive that is sent while it is made: nothing of it is kept but its list of files."""

import asyncio
import zipfile
from collections.abc import AsyncGenerator
from contextlib import aclosing
from io import RawIOBase

MOMENT = (1980, 1, 1, 0, 0, 0)
"""The time of all files: the oldest that there is in a zip archive."""


class _Taken(RawIOBase):
    """A file that only goes on; what was written is taken out."""

    def __init__(self) -> None:
        self._written = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: bytes, /) -> int:  # pyright: ignore[reportIncompatibleMethodOverride] - all buffers are bytes here
        self._written += data
        return len(data)

    def take(self) -> bytes:
        """What was written since the last time."""
        taken = bytes(self._written)
        self._written.clear()
        return taken


class ZipStream:
    """One archive. `file` once for each file, one after another, then `end`."""

    def __init__(self) -> None:
        self._taken = _Taken()
        self._zip = zipfile.ZipFile(self._taken, "w", zipfile.ZIP_DEFLATED)  # pyright: ignore[reportArgumentType] - it writes alone

    async def file(self, name: str, chunks: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
        """The bytes of the archive that a file of these chunks adds."""
        about = zipfile.ZipInfo(name, MOMENT)
        about.compress_type = zipfile.ZIP_DEFLATED
        with self._zip.open(about, "w", force_zip64=True) as file:
            async with aclosing(chunks) as each:
                async for chunk in each:
                    await asyncio.to_thread(file.write, chunk)
                    if made := self._taken.take():
                        yield made
        yield self._taken.take()

    def leave(self) -> None:
        """Ends it as it is: who is not at its end any more has no whole archive."""
        self._zip.fp = None

    def end(self) -> bytes:
        """The list of files, with which the archive ends."""
        self._zip.close()
        return self._taken.take()
