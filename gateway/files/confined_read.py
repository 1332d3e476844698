"""The files of a folder, read without ever leaving it. Links are followed as long as they stay in the folder,
as those of a mounted ConfigMap do.

Messages about faults of a file have no absolute path: they reach users and the model.
"""

import errno
import os
import stat
from pathlib import Path
from typing import NamedTuple

State = tuple[int, ...]


class Read(NamedTuple):
    """The bytes of a file, and when they were written, in Unix milliseconds."""

    content: bytes
    written_at: int


def state_at(path: str | os.PathLike[str]) -> State:
    """A value that is another one once the file was edited or replaced: its times, size and inode. Empty
    where no file can be looked at: absent, a link that leads nowhere, no possible path."""
    try:
        found = os.stat(path)  # noqa: PTH116 - pathlib takes three times as long
    except (OSError, ValueError):
        return ()
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


def read_file(folder: Path, name: str, limit: int, *, cut: bool = False) -> Read:
    """A file of `folder`, which may itself be a link. One of more than `limit` bytes is refused, or read up
    to there with `cut`.

    Raises:
        ValueError: it is nothing to be read: outside of the folder, a link to itself, not a regular file, too
            large.
        OSError: it cannot be read; FileNotFoundError: it is not there, or a link that leads nowhere.
    """
    home = folder.resolve(strict=True)
    return read_real(home, real_path(home, name), limit, cut=cut)


def real_path(home: Path, name: str) -> Path:
    """Where `name` in `home`, a real path, leads to. Raises what `read_file` does."""
    try:
        real = (home / name).resolve(strict=True)
    except RuntimeError:  # Python before 3.13
        raise ValueError("it is a link to itself") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise ValueError("it is a link to itself") from None
        raise
    if not real.is_relative_to(home):
        raise ValueError("it leads out of the folder")
    return real


def read_real(base: Path, real: Path, limit: int, *, cut: bool = False) -> Read:
    """The file `real` in `base`, both real paths; see `read_file`. It is opened part by part, so that no link
    is followed that was put in the place of one since; nor is a writer waited for (a FIFO)."""
    plain = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
    *folders, name = real.relative_to(base).parts or (".",)
    descriptor = os.open(base, plain | os.O_DIRECTORY)
    try:
        for part in folders:
            inner = os.open(part, plain | os.O_DIRECTORY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = inner
        file = os.open(name, plain | os.O_NONBLOCK, dir_fd=descriptor)
    finally:
        os.close(descriptor)
    try:
        found = os.fstat(file)
        if not stat.S_ISREG(found.st_mode):
            raise ValueError("it is not a regular file")
        content = b""
        if cut or found.st_size <= limit:
            with os.fdopen(file, "rb", closefd=False) as opened:
                content = opened.read(limit + 1)
    finally:
        os.close(file)
    if max(found.st_size, len(content)) > limit and not cut:
        raise ValueError(f"it is larger than {limit} bytes")
    return Read(content[:limit], max(0, found.st_mtime_ns // 1_000_000))


def as_text(content: bytes) -> str:
    """UTF-8, with or without byte order mark, in LF lines. Raises ValueError when it is not UTF-8."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 text at byte {error.start}") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")
