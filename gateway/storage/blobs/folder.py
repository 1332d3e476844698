"""Blobs in a folder: how they reach the disk, and that only their owner may read them."""

import asyncio
import os
from contextlib import suppress
from pathlib import Path
from secrets import token_hex

from obstore.store import LocalStore

from gateway.errors import StorageError
from gateway.files.disk import reach_disk
from gateway.storage.blobs.objects import Given, ObjectBlobs, failures

PART_SUFFIX = ".part"
"""Ends the name, which a dot begins, of what is not whole yet."""
MAX_ATTEMPTS = 3
"""To make a folder and a file in it, while others remove the folder because it is empty."""


class FolderBlobs(ObjectBlobs):
    """The `Blobs` protocol in a folder, made if it is missing. obstore reads and lists; writing is done here,
    as obstore does not ask the disk to keep what it wrote and lets everybody read it.

    Raises:
        StorageError: the folder cannot be made.
    """

    def __init__(self, root: Path) -> None:
        try:
            root.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StorageError(f"The folder {root} cannot be used: {error.strerror}.") from error
        super().__init__(LocalStore(root.resolve()))
        self._root = root.resolve()

    async def sweep(self, before: int) -> int:
        """Removes parts of files that were begun before that time and never finished; returns how many."""
        return await asyncio.to_thread(self._sweep, before)

    async def _delete(self, path: str) -> None:
        await asyncio.to_thread(self._remove_file, path)

    def _put(self, path: str, chunks: Given) -> None:
        target = self._root / path
        # A name of its own: two may be writing a blob of the same path.
        partial = target.with_name(f".{target.name}.{token_hex(8)}{PART_SUFFIX}")
        with failures(path):
            try:
                with os.fdopen(self._create(partial), "wb") as file:
                    file.writelines(chunks)
                    file.flush()
                    os.fsync(file.fileno())
                chunks.check()
                partial.replace(target)
            except BaseException:
                partial.unlink(missing_ok=True)
                raise
            reach_disk(target.parent)

    def _create(self, path: Path) -> int:
        """A new file, which only its owner may read, and the folders to it."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        for _ in range(MAX_ATTEMPTS):
            with suppress(FileNotFoundError):  # another task removed the last blob of the folder, and it
                self._make(path.parent)
                return os.open(path, flags, 0o600)
        return os.open(path, flags, 0o600)

    def _make(self, folder: Path) -> None:
        if not folder.is_dir():
            self._make(folder.parent)
            folder.mkdir(mode=0o700, exist_ok=True)
            reach_disk(folder.parent)

    def _sweep(self, before: int) -> int:
        removed = 0
        with failures("the parts of blobs"):
            for folder, _, names in os.walk(self._root):
                for name in names:
                    if not (name.startswith(".") and name.endswith(PART_SUFFIX)):
                        continue
                    part = Path(folder, name)
                    with suppress(FileNotFoundError):  # it is whole by now, or was given up
                        if part.stat().st_mtime_ns < before * 1_000_000:
                            self._remove_file(part.relative_to(self._root).as_posix())
                            removed += 1
        return removed

    def _remove_file(self, path: str) -> None:
        """Removes a blob, and the folders in which nothing is left."""
        target = self._root / path
        target.unlink(missing_ok=True)
        for folder in target.parents:
            if folder == self._root:
                return
            try:
                folder.rmdir()
            except OSError:  # something is in it, or it is gone
                return
