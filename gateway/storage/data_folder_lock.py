"""Who may use what is in a data folder: the sessions one process, as two would number the same session's
events twice; the memories any, but one after the other while they are opened."""

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from gateway.errors import StorageError

LOCK_NAME = "gateway.lock"

OPENING_WAIT = 30.0
"""Seconds that a process waits until others have made or migrated a file."""


class FolderLock:
    """Holds a data folder, which is made if it is missing (readable by its owner only), until `release`.
    The operating system releases it as well when the process ends, however it ends.

    Raises:
        StorageError: another process holds it (code data_locked), or it cannot be made or written.
    """

    def __init__(self, folder: Path) -> None:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StorageError(f"The data folder {folder} cannot be used: {error.strerror}.") from error
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(self._descriptor, 32).decode(errors="replace").strip()
            os.close(self._descriptor)
            raise StorageError(
                f"The data folder {folder.resolve()} is in use by process {holder or 'unknown'}: "
                "stop that gateway, or set GATEWAY_DATA_DIR to another folder.",
                code="data_locked",
                retryable=False,
            ) from None
        os.ftruncate(self._descriptor, 0)
        os.write(self._descriptor, b"%d\n" % os.getpid())

    def release(self) -> None:
        """Lets another process have the folder. Once only."""
        os.close(self._descriptor)

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


@contextmanager
def opening(path: Path) -> Generator[None]:
    """Keeps other processes from opening the file `path`, whose folder is made if it is missing, meanwhile.

    Raises:
        StorageError: another process takes longer than OPENING_WAIT, or the folder cannot be made or written.
    """
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = path.with_name(f"{path.name}.lock")
        descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StorageError(f"The data folder {path.parent} cannot be used: {error.strerror}.") from error
    try:
        until = time.monotonic() + OPENING_WAIT
        while not _taken(descriptor):
            if time.monotonic() > until:
                raise StorageError(
                    f"Another process is making or migrating {path}: try again when it is done."
                )
            time.sleep(0.02)
        yield
    finally:
        os.close(descriptor)


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
