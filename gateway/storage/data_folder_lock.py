"""Who may use what is in a data folder: the sessions one process, as two would number the same session's
events twice; the memories any, but one after the other while they are opened."""

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from gateway.errors import StorageError

LOCK_NAME = "gateway.lock"

RESTORING = "restoring"
"""A file that is in a data folder while a backup is restored into it, and stays when that is interrupted."""

OPENING_WAIT = 30.0
"""Seconds that a process waits until others have made or migrated a file."""


class FolderLock:
    """Holds a data folder, which is made if it is missing (readable by its owner only), until `release`.
    The operating system releases it as well when the process ends, however it ends. Both the folder and a
    file in it are held: the file, which has the process's id, can be moved away, and a folder cannot be held
    on every network file system.

    Raises:
        StorageError: another process holds it (code data_locked), or it cannot be made or written.
    """

    def __init__(self, folder: Path) -> None:
        self._descriptors: list[int] = []
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._descriptors.append(lock)
            self._descriptors.append(os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))
        except OSError as error:
            self.release()
            raise StorageError(f"The data folder {folder} cannot be used: {error.strerror}.") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            _hold(self._descriptors[-1])
        except BlockingIOError:
            holder = os.read(lock, 32).decode(errors="replace").strip()
            self.release()
            raise StorageError(
                f"The data folder {folder.resolve()} is in use by process {holder or 'unknown'}: "
                "stop that gateway, or set GATEWAY_DATA_DIR to another folder.",
                code="data_locked",
                retryable=False,
            ) from None
        os.ftruncate(lock, 0)
        os.write(lock, b"%d\n" % os.getpid())

    @classmethod
    def of_file(cls, path: Path) -> Self:
        """That of the folder where the database `path` really lies: links to one file have one lock.

        Raises:
            StorageError: as above; or the file has two names, so that its other folder may be in use (code
                data_locked).
        """
        path = path.resolve()
        lock = cls(path.parent)
        if path.exists() and path.stat().st_nlink > 1:
            lock.release()
            raise StorageError(
                f"The database {path} has {path.stat().st_nlink} names (hard links): a gateway in the folder "
                "of another one would write to it, too. Copy it, or remove the other name.",
                code="data_locked",
                retryable=False,
            )
        return lock

    def release(self) -> None:
        """Lets another process have the folder. Once only."""
        while self._descriptors:
            os.close(self._descriptors.pop())

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


def _hold(folder: int) -> None:
    """Raises BlockingIOError: another process holds it. Some network file systems cannot hold a folder."""
    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return


def _taken(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
