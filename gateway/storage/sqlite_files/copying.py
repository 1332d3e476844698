"""A copy of a SQLite file that may be in use: SQLite's own backup of one moment."""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

PAGES = 2048
"""Copied at a time: 8 MB in the pages that SQLite has by default."""

OnPages = Callable[[int, int], None]
"""Is called with the pages that are copied, and how many there are."""


def copy_database(source: Path, target: Path, on_pages: OnPages = lambda _done, _total: None) -> None:
    """Copies `source`, as it is now, into the new file `target`, which its owner alone may read. Others may
    write to the source meanwhile. On the disk when it returns; after a failure there is no `target`.

    Raises:
        OSError, sqlite3.Error: it cannot be read or written.
    """
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    try:
        with closing(sqlite3.connect(source, isolation_level=None)) as here:
            # In a transaction: else the copy begins anew whenever another process commits.
            here.execute("BEGIN")
            here.execute("SELECT count(*) FROM sqlite_master").fetchone()
            with closing(sqlite3.connect(target, isolation_level=None)) as there:
                there.execute("PRAGMA synchronous = OFF")  # the whole file is synced below

                def copied(_status: int, remaining: int, total: int) -> None:
                    on_pages(total - remaining, total)

                here.backup(there, pages=PAGES, progress=copied)
            here.execute("ROLLBACK")
        with target.open("rb") as file:
            os.fsync(file.fileno())
    except BaseException:
        target.unlink(missing_ok=True)
        raise
