"""No blob of a data folder is removed while a backup is made of it: a lock on a file, which the operating
system releases when the process ends that has it, however it ends.

    removal of a blob    shared, from before its row is looked for until it is gone
    backup               exclusive, from before the databases are copied until the blobs are
"""

import fcntl
import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from gateway.errors import StorageError

NAME = "backup.lock"
WAIT = 60.0
"""Seconds that a backup waits for removals that are under way."""


@contextmanager
def removing(folder: Path | None) -> Generator[bool]:
    """Whether blobs may be removed within. Never raises: where nothing can be locked nothing is backed up."""
    if folder is None:
        yield True
        return
    try:
        descriptor = os.open(folder / NAME, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:  # no backup was ever made
        yield True
        return
    try:
        yield _taken(descriptor, fcntl.LOCK_SH)
    finally:
        os.close(descriptor)


@contextmanager
def held(folder: Path) -> Generator[None]:
    """No blob is removed within. Raises StorageError: another backup is being made; OSError."""
    descriptor = os.open(folder / NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        until = time.monotonic() + WAIT
        while not _taken(descriptor, fcntl.LOCK_EX):
            if time.monotonic() > until:
                raise StorageError(f"Another backup of {folder} is being made.", retryable=False)
            time.sleep(0.05)
        yield
    finally:
        os.close(descriptor)


def _taken(descriptor: int, how: int) -> bool:
    try:
        fcntl.flock(descriptor, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return how == fcntl.LOCK_SH
    return True
