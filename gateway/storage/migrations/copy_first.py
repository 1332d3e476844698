"""The copy of a database that is made before it is migrated: there is no other way back."""

import logging
import shutil
import sqlite3
from pathlib import Path

from gateway.files.disk import reach_disk
from gateway.storage.sqlite_files.copying import copy_database

ROOM = 3
"""Times its size that must be free on its disk: for the copy, and for a migration that writes all of it to
the log and then to the file."""

log = logging.getLogger(__name__)


def copy_path(path: Path, revision: str) -> Path:
    """The path of the copy of a database at that revision."""
    return path.with_name(f"{path.name}.before-{revision}")


def copy_first(path: Path, revision: str, head: str) -> None:
    """Copies the file `path` beside it, unless the same was done before. Where there is no room, or the copy
    fails, the log says so, and nothing is left of it."""
    target = copy_path(path, revision)
    if target.exists():
        log.warning("%s is kept from an earlier attempt to go from %s to %s", target, revision, head)
        return
    part = target.with_name(f"{target.name}.part")
    try:
        files = (path, path.with_name(f"{path.name}-wal"))
        size = sum(each.stat().st_size for each in files if each.exists())
        free = shutil.disk_usage(path.parent).free
        if free < ROOM * size:
            log.warning(
                "%s is not copied before its migration: %d MB are free beside it, and %d MB were needed",
                *(path, free // 1_000_000, ROOM * size // 1_000_000),
            )
            return
        part.unlink(missing_ok=True)
        copy_database(path, part)
        part.replace(target)
        reach_disk(target.parent)
    except (OSError, sqlite3.Error) as error:
        log.warning("%s could not be copied before its migration: %s", path, error)
        return
    log.warning("%s is %s as it was at %s: remove it when nothing is missed", target, path.name, revision)
