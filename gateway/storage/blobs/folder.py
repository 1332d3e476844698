"""Blobs in a folder: how they reach the disk, and that only their owner may read them."""

import asyncio
import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from obstore.store import LocalStore

from gateway.errors import StorageError
from gateway.storage.blobs.objects import ObjectBlobs, checked, failures


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
        # One writer, so that a name for what is not whole yet will do; the next put clears what a crash left.
        super().__init__(LocalStore(root.resolve()), writers=1)
        self._root = root.resolve()

    async def delete_below(self, folder: str) -> None:
        """See `Blobs.delete_below`. The folder goes with its blobs."""
        await asyncio.to_thread(self._remove, checked(folder))

    def _put(self, path: str, chunks: Iterable[bytes]) -> None:
        target = self._root / path
        partial = target.with_name(f".{target.name}.part")
        with failures(path):
            self._make(target.parent)
            try:
                with os.fdopen(_create(partial), "wb") as file:
                    file.writelines(chunks)
                    file.flush()
                    os.fsync(file.fileno())
                partial.replace(target)
            except BaseException:
                partial.unlink(missing_ok=True)
                raise
            _reach_disk(target.parent)

    def _make(self, folder: Path) -> None:
        if not folder.is_dir():
            self._make(folder.parent)
            folder.mkdir(mode=0o700, exist_ok=True)
            _reach_disk(folder.parent)

    def _remove(self, folder: str) -> None:
        with failures(folder):
            target = self._root / folder
            if target.is_dir():
                shutil.rmtree(target)
                _reach_disk(target.parent)


def _create(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)


def _reach_disk(folder: Path) -> None:
    """Waits until the names in a folder are on the disk."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
