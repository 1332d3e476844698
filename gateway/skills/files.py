"""The files of a skill's folder, read and listed without ever leaving it.

What goes wrong is told in words that hold no absolute path: they reach the model.
"""

import os
import re
import stat
from collections import deque
from itertools import islice
from pathlib import Path

MAX_NAME = 256
"""Characters of a file's path within its folder."""
MOST_LISTED, LIST_DEPTH, _MOST_ENTRIES = 100, 4, 1000

_NOT_IN_NAMES = re.compile(r"[\\:<>|*?\"]")  # what Windows or a wrapper tag would read something into


def inside(path: str) -> str:
    """`path`, when it can be that of a file within a folder; it does not have to exist.

    Raises:
        ValueError: it is empty, too long, absolute, leads upwards, has a hidden part or a character that has
            no place in a file's name.
    """
    relative = path.removeprefix("./")
    if not relative:
        raise ValueError("the path is empty")
    if len(relative) > MAX_NAME:
        raise ValueError(f"the path is longer than {MAX_NAME} characters")
    if not relative.isprintable() or _NOT_IN_NAMES.search(relative):
        raise ValueError("the path has a character that is not allowed: use letters, digits, -, _, . and /")
    if relative.startswith(("/", "~")):
        raise ValueError("the path is not relative to the skill's folder")
    if any(part.startswith(".") or not part for part in relative.split("/")):
        raise ValueError("no part of the path may be empty or begin with a dot")
    return relative


def read_inside(folder: Path, path: str, most: int) -> bytes:
    """The content of the file `path` that really lies in `folder`, also when links are followed.

    Raises:
        ValueError: it cannot be read: no such file, outside, not a regular file, more than `most` bytes.
    """
    try:
        root = folder.resolve(strict=True)
        real = (root / inside(path)).resolve(strict=True)
        if not real.is_relative_to(root):
            raise ValueError("it is a link that leads out of the skill's folder")
        return _read(real, most)
    except RuntimeError:  # Python before 3.13
        raise ValueError("it is a link to itself") from None
    except OSError as error:
        raise ValueError(f"it cannot be read: {error.strerror or type(error).__name__}") from None


def as_text(content: bytes) -> str:
    """UTF-8, with or without byte order mark, in LF lines.

    Raises:
        ValueError: it is not UTF-8, or has NUL characters.
    """
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"it is not UTF-8 text at byte {error.start}") from None
    if "\x00" in text:
        raise ValueError("it is not text: it has NUL characters")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def listing(folder: Path) -> list[str]:
    """The files of a folder that can be read, but SKILL.md itself, sorted: MOST_LISTED at most, to a depth of
    LIST_DEPTH folders."""
    found: list[str] = []
    folders = deque([("", 1)])
    while folders and len(found) < MOST_LISTED:
        prefix, depth = folders.popleft()
        for entry in _entries(folder / prefix):
            path = f"{prefix}{entry.name}"
            if not _is_name(path) or path == "SKILL.md":
                continue
            if _is_file(entry, folder):
                found.append(path)
            elif depth < LIST_DEPTH and entry.is_dir(follow_symlinks=False):
                folders.append((f"{path}/", depth + 1))
    return sorted(found[:MOST_LISTED])


def _read(real: Path, most: int) -> bytes:
    # Neither waits for a writer (a FIFO) nor follows a link that was put there since.
    descriptor = os.open(real, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        state = os.fstat(descriptor)
        if not stat.S_ISREG(state.st_mode):
            raise ValueError("it is not a regular file")
        content = b""
        if state.st_size <= most:
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                content = file.read(most + 1)
    finally:
        os.close(descriptor)
    if max(state.st_size, len(content)) > most:
        raise ValueError(f"it is larger than {most} bytes")
    return content


def _is_name(path: str) -> bool:
    try:
        inside(path)
    except ValueError:
        return False
    return True


def _is_file(entry: os.DirEntry[str], folder: Path) -> bool:
    """Whether it is a file, or a link to one that stays in `folder`."""
    try:
        if not entry.is_file():
            return False
    except OSError:  # a link to itself
        return False
    return not entry.is_symlink() or Path(entry.path).resolve().is_relative_to(folder.resolve())


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(islice(entries, _MOST_ENTRIES), key=lambda entry: entry.name)
    except OSError:
        return []
