"""The checks that `gateway doctor` makes of the files of the databases."""

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from gateway.cli.findings import Finding, State
from gateway.errors import StorageError
from gateway.ids import now_ms
from gateway.settings import Settings
from gateway.storage.backups.last_backup import last_backup
from gateway.storage.sqlite_files.checking import problems_of
from gateway.storage.sqlite_files.file_watch import check_before_opening

MIN_FREE_SHARE = 0.1
"""Of the size of the databases: with less left the next day's growth may fill the disk."""
MIN_FREE = 500_000_000
MAX_LOG = 256_000_000
"""Bytes of a write-ahead log, which is emptied at some MB unless a reader stays in its way."""
OLD_BACKUP_DAYS = 7
DAY_MS = 86_400_000
RESTORE = "restore a backup: docs/operations.md#the-database-file-is-replaced-or-damaged"


def check_files(settings: Settings) -> list[Finding]:
    """Each file that is there is read whole: its pages, its log, and the disk it is on."""
    files = {
        "the database": settings.database_path,
        "the memory": settings.memory_path,
        "Slack's journal": settings.database_path.with_name("slack.db"),
    }
    found = [each for name, path in files.items() for each in _file(name, path)]
    if found:
        found += [*_disk(settings), *_backup(settings)]
    return found


def _file(name: str, path: Path) -> Iterator[Finding]:
    try:
        check_before_opening(path)
        if not path.exists():
            return
        problems = problems_of(path)
    except StorageError as error:
        yield _finding("bad", error.message.removesuffix("."))
        return
    size = path.stat().st_size
    if problems:
        yield _finding("bad", f"{name} is damaged ({'; '.join(problems)}): {RESTORE}")
    else:
        yield _finding("good", f"{name} is sound: {size / 1_000_000:.1f} MB were checked")
    log = path.with_name(f"{path.name}-wal")
    if log.exists() and (length := log.stat().st_size) > MAX_LOG:
        yield _finding(
            "warning",
            f"{log.name} has grown to {length / 1_000_000:.0f} MB: another program reads the file "
            "all the time",
        )


def _disk(settings: Settings) -> Iterator[Finding]:
    folder = settings.database_path.parent
    free = shutil.disk_usage(folder).free
    size = sum(each.stat().st_size for each in folder.glob("*.db*") if each.is_file())
    least = max(MIN_FREE, int(MIN_FREE_SHARE * size))
    state: State = "warning" if free < least else "good"
    advice = ": make room before it is full" if free < least else ""
    yield _finding(state, f"{free / 1_000_000_000:.1f} GB are free on the disk of {folder}{advice}")


def _backup(settings: Settings) -> Iterator[Finding]:
    if (last := last_backup(settings.database_path.parent)) is None:
        return
    state: State = "warning" if now_ms() - last.made_at > OLD_BACKUP_DAYS * DAY_MS else "good"
    made = datetime.fromtimestamp(last.made_at / 1000, UTC)
    yield _finding(state, f"the last `gateway backup` was made at {made:%Y-%m-%d %H:%M} UTC, in {last.path}")


def _finding(state: State, says: str) -> Finding:
    return Finding(state, "storage", says)
