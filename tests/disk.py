"""The disk under SQLite: power cuts, and reads and writes that fail.

A VFS (sqlite.org/vfs.html) that is the default one but for a few calls, which it passes on:

    xSync     notes the file as it is now in the folder `synced`: that much outlives a power cut
    xDelete   a deleted file outlives it, too, until something is synced after the deletion
    xWrite    (only with `failing`) may be told to fail, as may xSync

What was written and not synced is lost by `power_cut`, all of it: no disk loses more, and kill -9 shows the
other end, where nothing is lost. Files are noted atomically, so a process may be killed at any moment.

It is made with ctypes from the library that `_sqlite3` has loaded. Where that cannot be reached `unreachable`
says why, and what needs it fails unless it is left out with GATEWAY_TEST_WITHOUT_POWER_CUTS=1, as `make test`
does then.

`python -m tests.disk` says by its exit code whether there can be one.
"""

import ctypes
import os
import shutil
import sqlite3
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

WITHOUT = "GATEWAY_TEST_WITHOUT_POWER_CUTS"
LEFT_OUT: Any = {"condition": os.environ.get(WITHOUT) == "1", "reason": f"{WITHOUT}=1 leaves power cuts out"}
"""For `pytest.mark.skipif`."""

POINTER = ctypes.c_void_p
INT = ctypes.c_int
OPEN = ctypes.CFUNCTYPE(INT, POINTER, POINTER, POINTER, INT, POINTER)
DELETE = ctypes.CFUNCTYPE(INT, POINTER, POINTER, INT)
TRANSFER = ctypes.CFUNCTYPE(INT, POINTER, POINTER, INT, ctypes.c_int64)
SIZE = ctypes.CFUNCTYPE(INT, POINTER, POINTER)
SYNC = ctypes.CFUNCTYPE(INT, POINTER, INT)

DURABLE = 0x100 | 0x800 | 0x80000
"""SQLITE_OPEN_MAIN_DB, _MAIN_JOURNAL and _WAL: the files that hold what was committed."""


class Vfs(ctypes.Structure):
    """sqlite3_vfs, version 3."""

    _fields_ = [
        ("iVersion", INT),
        ("szOsFile", INT),
        ("mxPathname", INT),
        ("pNext", POINTER),
        ("zName", ctypes.c_char_p),
        ("pAppData", POINTER),
        ("xOpen", POINTER),
        ("xDelete", POINTER),
        *((name, POINTER) for name in ("xAccess", "xFullPathname", "xDlOpen", "xDlError", "xDlSym")),
        *((name, POINTER) for name in ("xDlClose", "xRandomness", "xSleep", "xCurrentTime", "xGetLastError")),
        *((name, POINTER) for name in ("xCurrentTimeInt64", "xSetSystemCall", "xGetSystemCall")),
        ("xNextSystemCall", POINTER),
    ]


class Methods(ctypes.Structure):
    """sqlite3_io_methods, version 3: those of shared memory are the default VFS's."""

    _fields_ = [
        ("iVersion", INT),
        *((name, POINTER) for name in ("xClose", "xRead", "xWrite", "xTruncate", "xSync", "xFileSize")),
        *((name, POINTER) for name in ("xLock", "xUnlock", "xCheckReservedLock", "xFileControl")),
        *((name, POINTER) for name in ("xSectorSize", "xDeviceCharacteristics", "xShmMap", "xShmLock")),
        *((name, POINTER) for name in ("xShmBarrier", "xShmUnmap", "xFetch", "xUnfetch")),
    ]


class File(ctypes.Structure):
    """sqlite3_file: what follows the methods is the VFS's own."""

    _fields_ = [("methods", ctypes.POINTER(Methods))]


_for_ever: list[object] = []
"""What SQLite may still call: a connection keeps its VFS for as long as it is open."""


@cache
def unreachable() -> str | None:
    """Why SQLite's own functions cannot be called from here, None where they can."""
    if not sys.platform.startswith("linux"):
        return f"SQLite's library is looked for in /proc, which {sys.platform} does not have"
    try:
        library = _library()
        version = library.sqlite3_libversion
        version.restype = ctypes.c_char_p
        find = library.sqlite3_vfs_find
        find.restype = ctypes.POINTER(Vfs)
        default = find(None).contents
    except (OSError, AttributeError) as error:
        return f"SQLite's functions are hidden in this Python: {error}"
    if version().decode() != sqlite3.sqlite_version:
        return f"there is another SQLite ({version().decode()}) beside Python's {sqlite3.sqlite_version}"
    return None if default.iVersion == 3 else f"the default VFS is of version {default.iVersion}, not 3"


def _library() -> ctypes.CDLL:
    sqlite3.connect(":memory:").close()
    loaded = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/" in line}
    shared = sorted(path for path in loaded if "libsqlite3" in Path(path).name)
    # Else it is part of Python's own module, or of Python itself.
    module = sys.modules["_sqlite3"]
    return ctypes.CDLL(shared[0] if shared else getattr(module, "__file__", None))


class Disk:
    """Where SQLite's files in `folder` are written while it is `plugged_in`; `synced` holds them as of their
    last sync. With `failing`, writes and syncs may be told to fail: see `fails`."""

    def __init__(self, folder: Path, synced: Path, *, failing: bool = False) -> None:
        if reason := unreachable():
            raise RuntimeError(f"{reason}. Leave out what needs it with {WITHOUT}=1.")
        synced.mkdir(parents=True, exist_ok=True)
        self.folder, self.synced = folder.resolve(), synced
        self.syncs = 0
        """How many there were, of any file."""
        self.syncing = True
        """While it is False a sync is answered and not done, as of a process that is killed before it."""
        self.fails: Callable[[str, Path], int] = lambda call, path: sqlite3.SQLITE_OK
        """Is asked before each write ("write") and sync ("sync") of a file, and answers with the error code
        that SQLite is to meet."""
        self._failing = failing
        self._library = _library()
        find = self._library.sqlite3_vfs_find
        find.restype = ctypes.POINTER(Vfs)
        self._default: Any = find(None)
        self._paths: dict[int, Path] = {}
        self._methods: dict[int, Methods] = {}
        self._deleted: set[Path] = set()
        self._lock = threading.Lock()
        self._vfs = self._made()

    @contextmanager
    def plugged_in(self) -> Generator["Disk"]:
        """Connections that are opened in this context are on this disk."""
        self._register(ctypes.byref(self._vfs))
        try:
            yield self
        finally:
            self._register(self._default)

    def cut(self, into: Path) -> Path:
        """Makes the folder `into`, with the files as the power's end at this moment would leave them."""
        into.mkdir()
        with self._lock:
            power_cut(into, self.synced)
        return into

    def _register(self, vfs: Any) -> None:
        if code := self._library.sqlite3_vfs_register(vfs, 1):
            raise RuntimeError(f"SQLite does not take the VFS: {code}")

    def _made(self) -> Vfs:
        """A copy of the default VFS with calls of ours in it."""
        vfs = Vfs()
        ctypes.memmove(ctypes.byref(vfs), self._default, ctypes.sizeof(Vfs))
        vfs.pNext, vfs.zName = None, b"power-cut-%x" % id(self)
        open_, delete = OPEN(vfs.xOpen), DELETE(vfs.xDelete)

        def opened(this: int, name: int | None, file: int, flags: int, out: int) -> int:
            code = open_(this, name, file, flags, out)
            if code == sqlite3.SQLITE_OK and name is not None and flags & DURABLE:
                path = _path_at(name)  # the name itself is passed on: the VFS keeps the pointer
                if path.parent == self.folder:
                    self._paths[file] = path
                    self._take_over(file)
            return code

        def deleted(this: int, name: int, sync_folder: int) -> int:
            code = delete(this, name, sync_folder)
            path = _path_at(name)
            if code == sqlite3.SQLITE_OK and path.parent == self.folder:
                with self._lock:
                    self._deleted.add(path)
                    if sync_folder:
                        self._forget_deleted()
            return code

        calls = OPEN(opened), DELETE(deleted)
        vfs.xOpen, vfs.xDelete = (ctypes.cast(call, POINTER) for call in calls)
        _for_ever.extend((self, vfs, *calls))
        return vfs

    def _take_over(self, file: int) -> None:
        """Has an open file use our calls: the methods of files like it are copied once."""
        this = File.from_address(file)
        theirs = ctypes.addressof(this.methods.contents)
        if theirs not in self._methods:
            self._methods[theirs] = self._made_methods(this.methods.contents)
        this.methods = ctypes.pointer(self._methods[theirs])

    def _made_methods(self, theirs: Methods) -> Methods:
        ours = Methods.from_buffer_copy(theirs)
        sync, write = SYNC(theirs.xSync), TRANSFER(theirs.xWrite)
        read, size_of = TRANSFER(theirs.xRead), SIZE(theirs.xFileSize)

        def contents(file: int) -> bytes:
            # Not by a path: whoever closes a file lets go of all locks that the process has on it.
            size = ctypes.c_int64()
            buffer = b""
            if size_of(file, ctypes.addressof(size)) == sqlite3.SQLITE_OK and size.value:
                kept = ctypes.create_string_buffer(size.value)
                if read(file, ctypes.addressof(kept), size.value, 0) != sqlite3.SQLITE_OK:
                    raise OSError("a file that was synced cannot be read")
                buffer = kept.raw
            return buffer

        def synced(file: int, flags: int) -> int:
            if not self.syncing:
                return sqlite3.SQLITE_OK
            path = self._paths[file]
            code = self.fails("sync", path) or sync(file, flags)
            if code == sqlite3.SQLITE_OK:
                self._note(path, contents(file))
            return code

        def written(file: int, data: int, size: int, at: int) -> int:
            return self.fails("write", self._paths[file]) or write(file, data, size, at)

        # Each call from SQLite has to win the interpreter lock: a page costs much more with one.
        calls = [SYNC(synced), *([TRANSFER(written)] if self._failing else ())]
        for name, call in zip(("xSync", "xWrite"), calls, strict=False):
            setattr(ours, name, ctypes.cast(call, POINTER))
        _for_ever.extend((ours, *calls))
        return ours

    def _note(self, path: Path, contents: bytes) -> None:
        new = self.synced / f"{path.name}.new"
        new.write_bytes(contents)
        with self._lock:
            new.replace(self.synced / path.name)
            self._deleted.discard(path)
            self._forget_deleted()
            self.syncs += 1

    def _forget_deleted(self) -> None:
        while self._deleted:
            (self.synced / self._deleted.pop().name).unlink(missing_ok=True)


def _path_at(name: int) -> Path:
    return Path(os.fsdecode(ctypes.string_at(name)))


def power_cut(folder: Path, synced: Path) -> None:
    """Leaves of SQLite's files in `folder` what was synced of them. Nobody may have them open."""
    for path in folder.glob("*.db*"):
        path.unlink()
    for path in synced.iterdir():
        if path.suffix != ".new":
            shutil.copyfile(path, folder / path.name)


if __name__ == "__main__":
    sys.exit(unreachable())
