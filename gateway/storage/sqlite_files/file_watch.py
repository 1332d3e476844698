"""The identity of a database's file, and whether it is still that one.

SQLite applies a write-ahead log to whatever file lies beside it under the right name, and goes on with a file
that has no name any more. So a backup that was put in place of a running gateway's file is destroyed by the
log of the other one, and what is written to a file that was moved away is lost. Two things tell files apart:

    the inode     another one after `mv`
    the header    another one after `cp` over that inode. It has a number of the schema, which we draw by lot
                  and each change of the schema raises by one (PRAGMA schema_version): SQLite's own backup
                  begins again at 1. And a number of changes: VACUUM INTO begins again with that

    gateway.db.identity    which file the log beside it belongs to, as of the last opening
"""

import fcntl
import logging
import os
import struct
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Self

import orjson

from gateway.errors import StorageError
from gateway.files.disk import reach_disk

SUFFIX = ".identity"
LOGS = ("-wal", "-journal")
"""What SQLite applies to a file that it opens (sqlite.org/tempfiles.html)."""
LIVE = ("-wal", "-shm")
"""What connections of several processes have to find under its name for as long as they are open."""
HEADER = 100
CHANGES, SCHEMA = slice(24, 28), slice(40, 44)
"""Where the header has them (sqlite.org/fileformat2.html, 1.3)."""
FIRST_ID, LAST_ID = 2**20, 2**31 - 2**20
"""Of those that are drawn by lot: far from what a new file has."""
MAX_SCHEMA_CHANGES = 1000
"""While a file is open: of its memories by a newer version, of any by its operators."""
LOOK_AGAIN = 0.02
"""Seconds until a header that does not fit is read once more: the log may be written into it just now."""
SHARED_BYTE = 0x40000000 + 2
"""The first of the bytes that SQLite locks alone to write the log into the file (os.h, SHARED_FIRST)."""
FILE_TROUBLES = ("database_replaced", "storage_damaged")
"""Codes of what may be wrong with an open file until the process ends."""
TOLD_EVERY = 300.0
"""Seconds between two lines in the log about the same."""
WHAT_TO_DO = "docs/operations.md#the-database-file-is-replaced-or-damaged"

log = logging.getLogger(__name__)

_descriptors: dict[tuple[int, int], list[int]] = {}
_lock = threading.Lock()
"""Descriptors of files that are open here, with how many have them: whoever closes one lets go of all locks
that this process has on the file (fcntl(2)), SQLite's too."""


class Header(NamedTuple):
    """The numbers of the schema and of changes in a file's header."""

    schema: int = 0
    changes: int = 0


class KnownHeader(NamedTuple):
    """The knowledge of a file's header: its number of the schema is one of `ids`, or shortly behind it, and
    it has had so many `changes`."""

    ids: Sequence[int]
    changes: int

    def fits(self, header: Header | None) -> bool:
        """Whether a header may be that file's."""
        return (
            header is not None
            and header.changes >= self.changes
            and any(each <= header.schema < each + MAX_SCHEMA_CHANGES for each in self.ids)
        )


class Identity(NamedTuple):
    """`own`: the inode of the file that says this; another one after a copy of the whole folder, whose inodes
    tell nothing. `file`: the database's."""

    own: int
    file: int
    known: KnownHeader


class HeldFile:
    """An open descriptor of a file, for as long as SQLite has it open too. Raises OSError."""

    def __init__(self, path: Path) -> None:
        with _lock:
            found = path.stat()
            self._key = (found.st_dev, found.st_ino)
            entry = _descriptors.get(self._key)
            if entry is None:
                descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
                opened = os.fstat(descriptor)
                self._key = (opened.st_dev, opened.st_ino)
                entry = _descriptors.setdefault(self._key, [descriptor, 0])
            entry[1] += 1
            self.descriptor = entry[0]

    @property
    def inode(self) -> int:
        return self._key[1]

    def is_at(self, path: str) -> bool:
        """Whether the path leads to it. Raises OSError."""
        found = os.stat(path)  # noqa: PTH116 - twice in each commit
        return (found.st_dev, found.st_ino) == self._key

    def header(self) -> Header | None:
        """The numbers in its header now; None where there is none. Raises OSError."""
        found = os.pread(self.descriptor, HEADER, 0)
        if len(found) < HEADER:
            return None
        return Header(int.from_bytes(found[SCHEMA]), int.from_bytes(found[CHANGES]))

    def close(self) -> None:
        """Once, when no connection of its owner is open any more."""
        with _lock:
            entry = _descriptors[self._key]
            entry[1] -= 1
            if not entry[1]:
                del _descriptors[self._key]
                os.close(entry[0])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def check_before_opening(path: Path) -> None:
    """Call it before SQLite opens the file `path`.

    Raises:
        StorageError: the log beside it is another file's (code database_replaced), or the file is gone and
            what belonged to it is there (database_missing).
    """
    real = path.resolve()
    logs = [each for each in map(real.with_name, (f"{real.name}{suffix}" for suffix in LOGS)) if _size(each)]
    known = _read_identity(real)
    if not real.exists():
        if known is not None or logs:
            raise missing(
                real, "it was there when a gateway ran last" if known else f"{logs[0].name} is there"
            )
        return
    if known is None or not logs:
        return
    try:
        with HeldFile(real) as held:
            is_same = known.known.fits(held.header())
            if known.own == _inode(_identity_path(real)):
                is_same = is_same and held.inode == known.file
    except OSError:
        return  # whoever opens it says why
    if not is_same:
        beside = " and ".join(each.name for each in logs)
        raise StorageError(
            f"The database {real} is not the one that {beside} beside it belongs to: it was replaced without "
            "the log, which would destroy it. If it is a backup that you restore, move "
            f"{real.name}-wal, {real.name}-shm and {real.name}{SUFFIX} away (they and the former "
            "file have what was written since the backup); else put the former file back.",
            code="database_replaced",
            retryable=False,
        )


def missing(path: Path, why: str) -> StorageError:
    """The refusal of a folder whose database is gone."""
    return StorageError(
        f"There is no database {path}, but {why}: put it back, or restore a backup (`gateway restore`). To "
        f"begin with an empty one, move the files of {path.parent} away whose names begin with {path.name}, "
        "and with gateway.db the folder blobs.",
        code="database_missing",
        retryable=False,
    )


def write_identity(path: Path, inode: int, known: KnownHeader) -> None:
    """Notes that the log beside `path` belongs to this file. Durable when it returns, since what follows may
    change the header. Raises OSError."""
    target = _identity_path(path)
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "wb") as file:
        own = os.fstat(file.fileno()).st_ino
        file.write(orjson.dumps({"own": own, "file": inode, **known._asdict()}) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(target)
    reach_disk(target.parent)


class FileWatch:
    """The files of a database that is open: `path`, its log and the index of that. What is found to be wrong
    stays so until the process ends. May be called on any thread."""

    def __init__(self, path: Path, held: HeldFile, known: KnownHeader) -> None:
        self.trouble: StorageError | None = None
        self.path = path
        self._held = held
        self._known = known
        real = path.resolve()
        beside = (real.with_name(f"{real.name}{suffix}") for suffix in LIVE)
        # Texts, as each commit looks at them twice.
        self._at = str(path)
        self._live = {str(each): inode for each in beside if (inode := _inode(each)) is not None}
        self._seen: Header | None = None
        self._told_at: float | None = None

    def require(self) -> None:
        """Raises StorageError (code database_replaced) when a commit would be lost. Some microseconds."""
        if self.trouble is not None and self.trouble.code == "database_replaced":
            raise self._again(self.trouble)
        if (what := self._missing()) is not None:
            self._found(
                f"{what} while the gateway runs: nothing more is stored. Stop the gateway, put the file back "
                f"or restore a backup, and start it ({WHAT_TO_DO}).",
                "database_replaced",
            )
            self._keep_log_apart()
            self.require()

    def look(self) -> None:
        """The same now and then. Raises StorageError also for a damage that was met (storage_damaged), and
        has the log tell it once more."""
        try:
            self.require()
        except StorageError:
            self.tell()
            raise
        if self.trouble is not None:
            self.tell()
            raise self._again(self.trouble)

    async def check(self) -> None:
        """`look`, for /readyz."""
        self.look()

    @property
    def is_read_only(self) -> bool:
        """Whether the disk takes no writes."""
        try:
            return bool(os.fstatvfs(self._held.descriptor).f_flag & os.ST_RDONLY)
        except OSError:
            return False

    def met_damage(self, message: str) -> None:
        """SQLite has found the file damaged."""
        if self.trouble is None:
            self._found(
                f"The database {self.path} is damaged ({message}): what lies in the damaged pages cannot be "
                f"read or stored. `gateway doctor` says what is wrong; restore a backup ({WHAT_TO_DO}).",
                "storage_damaged",
            )

    def tell(self) -> None:
        """A line in the log, at most one in TOLD_EVERY seconds."""
        if self.trouble is None or (
            self._told_at is not None and time.monotonic() < self._told_at + TOLD_EVERY
        ):
            return
        self._told_at = time.monotonic()
        log.error("%s: %s", self.trouble.code, self.trouble.message)

    def close(self) -> None:
        """After the last connection."""
        self._held.close()

    def _missing(self) -> str | None:
        try:
            if not self._held.is_at(self._at):
                return f"The database {self.path} was replaced by another file"
            if not self._is_known():
                return f"The database {self.path} was overwritten by another one"
            for path, inode in self._live.items():
                if os.stat(path).st_ino != inode:  # noqa: PTH116
                    return f"{path}, which belongs to the open database, was replaced"
        except FileNotFoundError as error:
            return f"{error.filename or self.path} was deleted or renamed"
        except OSError:
            return None  # not to be seen is not gone: what is open is still the file
        return None

    def _is_known(self) -> bool:
        header = self._held.header()
        if header is not None and header == self._seen:
            return True
        if not self._known.fits(header):
            time.sleep(LOOK_AGAIN)
            header = self._held.header()
        if header is None or not self._known.fits(header):
            return False
        if header.changes != self._known.changes:
            self._known = self._known._replace(changes=header.changes)
        self._seen = header
        return True

    def _found(self, message: str, code: str) -> None:
        self.trouble = StorageError(message, code=code, retryable=False)
        self._told_at = None
        self.tell()

    def _keep_log_apart(self) -> None:
        """Keeps SQLite from writing the log into the file when it is closed: what lies there now may be a
        backup. A lock of this descriptor's own stands in its way."""
        lock = struct.pack("hhqqi4x", fcntl.F_RDLCK, os.SEEK_SET, SHARED_BYTE, 1, 0)
        try:
            fcntl.fcntl(self._held.descriptor, fcntl.F_OFD_SETLK, lock)
        except (AttributeError, OSError) as error:  # of an old system
            log.warning("the log of %s may be written into what replaced it: %s", self.path, error)

    def _again(self, trouble: StorageError) -> StorageError:
        return StorageError(trouble.message, code=trouble.code, retryable=False)


def _identity_path(path: Path) -> Path:
    return path.with_name(f"{path.name}{SUFFIX}")


def _read_identity(path: Path) -> Identity | None:
    """The identity that stands beside the file; None where there is none, or it cannot be understood."""
    try:
        found = orjson.loads(_identity_path(path).read_bytes())
        known = KnownHeader([int(each) for each in found["ids"]], int(found["changes"]))
        return Identity(int(found["own"]), int(found["file"]), known)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def forget_identity(path: Path) -> None:
    """For a restore: the file that will lie there is another one."""
    _identity_path(path.resolve()).unlink(missing_ok=True)


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except OSError:
        return None


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0
