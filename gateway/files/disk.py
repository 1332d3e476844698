"""The disk on which files lie: that names have reached it, and that it is full."""

import errno
import os
from pathlib import Path

_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}  # no room, a quota, or a limit of one file's size


def reach_disk(path: Path) -> None:
    """Waits until a file's content, or the names in a folder, are on the disk. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_full(error: OSError) -> bool:
    """Whether a write failed for want of room."""
    return error.errno in _FULL
