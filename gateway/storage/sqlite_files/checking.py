"""Whether a SQLite file is sound."""

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from gateway.errors import StorageError
from gateway.storage.sqlite_files.failures import is_damage
from gateway.storage.sqlite_files.file_watch import check_before_opening

MAX_PROBLEMS = 5
"""Problems that are named."""
CHECK_TIMEOUT = 300.0
"""Seconds after which a check is given up: 200 MB take less than one where the disk is not the bound."""
STEPS = 100_000
"""Of SQLite's machine between two looks at the clock."""


def problems_of(path: Path, *, immutable: bool = False) -> Sequence[str]:
    """At most MAX_PROBLEMS of what SQLite's quick_check finds wrong with the file, none of a sound one.
    Nothing is written, and others may use it meanwhile; one that nobody uses may be read as `immutable`, with
    nothing beside it.

    Raises:
        StorageError: the log beside it is another file's, or it cannot be opened here: its disk is read-only,
            say.
    """
    if not immutable:
        check_before_opening(path)
    mode = "immutable=1" if immutable else "mode=ro"
    until = time.monotonic() + CHECK_TIMEOUT
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?{mode}", uri=True)) as database:
            database.set_progress_handler(lambda: int(time.monotonic() > until), STEPS)
            found = [str(row[0]) for row in database.execute(f"PRAGMA quick_check({MAX_PROBLEMS})")]
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_INTERRUPT:
            return [f"the check did not end within {CHECK_TIMEOUT:g} seconds"]
        if not is_damage(error):
            raise StorageError(f"{path} cannot be checked here ({error}).") from None
        return [str(error)]
    return [] if found == ["ok"] else [" ".join(each.split()) for each in found]
