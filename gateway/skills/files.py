"""The files of a skill's folder, read and listed without ever leaving it.

Errors hold no absolute path: they reach the model.
"""

import errno
import hashlib
import os
import re
from collections import deque
from itertools import islice
from pathlib import Path

from gateway.files.confined_read import as_text as inside_text
from gateway.files.confined_read import read_real, real_path
from gateway.tools.wrapping import visible

MAX_NAME = 256
"""Characters of a file's path within its folder."""
MAX_LISTED, LIST_DEPTH, MAX_FOLDERS, _MAX_ENTRIES = 100, 4, 100, 1000
"""Of a skill's folder: files that are listed, how far down, in how many folders, and entries of each."""

_NOT_IN_NAMES = re.compile(r"[\\:<>|*?\"]")  # what Windows or a wrapper tag would read something into


class NotNow(ValueError):
    """A file could not be read for a reason that may be over the next time: too many open files, a disk."""


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
    if not relative.isprintable() or visible(relative) != relative or _NOT_IN_NAMES.search(relative):
        raise ValueError("the path has a character that is not allowed: use letters, digits, -, _, . and /")
    if relative.startswith(("/", "~")):
        raise ValueError("the path is not relative to the skill's folder")
    if any(part.startswith(".") or not part for part in relative.split("/")):
        raise ValueError("no part of the path may be empty or begin with a dot")
    return relative


def read_inside(folder: Path, path: str, most: int, root: Path | None = None) -> bytes:
    """The content of the file `path` that really lies in `folder`, also when links within it are followed.
    With a `root`, no link may lie on the way from there to `folder`.

    Raises:
        ValueError: it cannot be read: no such file, outside, not a regular file, more than `most` bytes; or
            NotNow, which is one.
    """
    try:
        base, home = _home(folder, root)
        return read_real(base, real_path(home, inside(path)), most).content
    except RuntimeError:  # Python before 3.13
        raise ValueError("it is a link to itself") from None
    except OSError as error:
        lasting = error.errno in {errno.ENOENT, errno.ENOTDIR, errno.ELOOP}
        reason = f"it cannot be read: {error.strerror or type(error).__name__}"
        raise (ValueError if lasting else NotNow)(reason) from None


def is_file_of(folder: Path, path: str, name: str) -> bool:
    """Whether `path` leads to the very file `name` of `folder`, by a link or another spelling too."""
    try:
        return (folder / inside(path)).samefile(folder / name)
    except (ValueError, OSError):
        return False


def digest_of(folder: Path, most: int, root: Path | None = None) -> str | None:
    """The SHA-256 in hex of what can be read in a folder, SKILL.md excepted: names and contents, of files of
    at most `most` bytes. None when there is more than a listing holds, or what cannot be read."""
    files = listing(folder, root)
    if len(files) == MAX_LISTED:
        return None
    digest = hashlib.sha256()
    for path in files:
        try:
            content = hashlib.sha256(read_inside(folder, path, most, root)).hexdigest()
        except ValueError:
            return None
        digest.update(f"{path}\n{content}\n".encode())
    return digest.hexdigest()


def as_text(content: bytes) -> str:
    """The content as text. Raises ValueError when it is not UTF-8 or has NUL characters."""
    text = inside_text(content)
    if "\x00" in text:
        raise ValueError("it is not text: it has NUL characters")
    return text


def listing(folder: Path, root: Path | None = None) -> list[str]:
    """The files of a folder that can be read, but SKILL.md itself, sorted: MAX_LISTED at most, to a depth of
    LIST_DEPTH folders, of the nearest MAX_FOLDERS ones. Empty when a link lies on the way from `root`."""
    try:
        _, home = _home(folder, root)
    except (ValueError, OSError, RuntimeError):
        return []
    found: list[str] = []
    folders, seen = deque([("", 1)]), 1
    while folders and len(found) < MAX_LISTED:
        prefix, depth = folders.popleft()
        for entry in _entries(home / prefix):
            path = f"{prefix}{entry.name}"
            if not _is_name(path) or path == "SKILL.md":
                continue
            if _is_file(entry, home):
                found.append(path)
            elif depth < LIST_DEPTH and seen < MAX_FOLDERS and entry.is_dir(follow_symlinks=False):
                seen += 1
                folders.append((f"{path}/", depth + 1))
    return sorted(found[:MAX_LISTED])


def _home(folder: Path, root: Path | None) -> tuple[Path, Path]:
    """The real places of `root`, which links may lead to, since the operator named it, and of `folder`."""
    base = (root or folder).resolve(strict=True)
    home = base / folder.relative_to(root or folder)
    if home.resolve(strict=True) != home:
        raise ValueError("a link lies on the way to the skill's folder")
    return base, home


def _is_name(path: str) -> bool:
    try:
        inside(path)
    except ValueError:
        return False
    return True


def _is_file(entry: os.DirEntry[str], home: Path) -> bool:
    """Whether it is a file, or a link to one that stays in `home`, a real path."""
    try:
        if not entry.is_file():
            return False
    except OSError:  # a link to itself
        return False
    return not entry.is_symlink() or Path(entry.path).resolve().is_relative_to(home)


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as entries:
            return sorted(islice(entries, _MAX_ENTRIES), key=lambda entry: entry.name)
    except OSError:
        return []
