"""Putting a backup in place."""

import asyncio
import shutil
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from gateway.errors import StorageError
from gateway.files.disk import is_full, reach_disk
from gateway.storage.backups import OnProgress
from gateway.storage.backups.manifest import BLOBS, READ, BackupFile, BackupManifest, entries_of, not_a_backup
from gateway.storage.blobs import Blobs
from gateway.storage.data_folder_lock import RESTORING, FolderLock
from gateway.storage.moving import MoveProgress

DATABASES = ("memory.db", "slack.db", "gateway.db")
"""In the order in which they are put in place."""
KEPT_HERE = ("gateway.lock", "backup.lock")
"""Files of a data folder that belong to no state."""
CONCURRENT_BLOBS = 4
REPORT_EVERY = 50


class Restored(NamedTuple):
    """`aside` is where the former files are, if there were any."""

    files: int
    aside: Path | None


def restore_files(
    folder: Path,
    manifest: BackupManifest,
    path: Path,
    store: Callable[[], Blobs],
    *,
    replace: bool,
    report: OnProgress,
) -> Restored:
    """Puts the SQLite files of a checked backup in place of the database `path` and of what is beside it, and
    its blobs into the `store`, which is opened then. With `replace` what is there is moved into a folder
    beside it.

    Raises:
        StorageError: a gateway has the data folder (data_locked); something is there, and `replace` is not
            given (target_not_empty); the disk is full, or a file cannot be written. A restore that was
            interrupted leaves a folder that no gateway starts on: call it again with `replace`.
    """
    path = path.resolve()
    try:
        with FolderLock.of_file(path):
            return _restored(folder, manifest, path, store, replace=replace, report=report)
    except OSError as error:
        raise StorageError(
            f"The restore into {path.parent} is not complete: {error.strerror} ({error.filename or 'disk'}). "
            "Call it again with --replace.",
            code="storage_full" if is_full(error) else None,
            retryable=False,
        ) from error


def _restored(
    folder: Path,
    manifest: BackupManifest,
    path: Path,
    store: Callable[[], Blobs],
    *,
    replace: bool,
    report: OnProgress,
) -> Restored:
    data = path.parent
    there = [each for each in _state(data, path) if each.exists()]
    if there and not replace:
        raise StorageError(
            f"{data} is not empty: it has {there[0].name}. Restore into an empty folder (GATEWAY_DATA_DIR), "
            "or call it with --replace, which keeps what is there in a folder beside it.",
            code="target_not_empty",
            retryable=False,
        )
    former = [each for each in there if each.name != RESTORING]
    aside = _folder_beside(data) if former else None
    # Before anything moves: on a part of the former files no gateway may start.
    data.joinpath(RESTORING).touch()
    reach_disk(data)
    if aside is not None:
        for each in former:
            each.rename(aside / each.name)
        reach_disk(data)
    files = asyncio.run(put_blobs(folder, manifest, store(), report))
    for name in DATABASES:
        if (folder / name).exists():
            part = data / f"{name}.part"
            report(MoveProgress(name, 0, 1))
            shutil.copyfile(folder / name, part)
            part.chmod(0o600)
            reach_disk(part)
            part.replace(path if name == "gateway.db" else data / name)
            report(MoveProgress(name, 1, 1))
            files += 1
    reach_disk(data)
    data.joinpath(RESTORING).unlink()
    reach_disk(data)
    return Restored(files, aside)


def _state(data: Path, path: Path) -> Iterator[Path]:
    """All in the data folder that is of a database: their logs and copies too, and the blobs."""
    names = {path.name, "memory.db", "slack.db"}
    for each in sorted(data.iterdir()):
        if each.name in KEPT_HERE or (each.name == BLOBS and not any(each.iterdir())):
            continue
        if each.name in {BLOBS, RESTORING} or any(
            each.name == name or each.name.startswith((f"{name}-", f"{name}.")) for name in names
        ):
            yield each


def _folder_beside(data: Path) -> Path:
    aside = data / f"replaced-{datetime.now():%Y%m%d-%H%M%S-%f}"  # noqa: DTZ005 - for the operator's eyes
    aside.mkdir(mode=0o700)
    return aside


async def put_blobs(folder: Path, manifest: BackupManifest, blobs: Blobs, report: OnProgress) -> int:
    """Puts the blobs of a checked backup into a store, in place of those of the same names; how many they
    were. Raises StorageError, OSError."""
    entries = (each for each in entries_of(folder, manifest) if each.path.startswith(f"{BLOBS}/"))
    done = 0

    async def work() -> None:
        nonlocal done
        for entry in entries:
            size = await blobs.put(entry.path.removeprefix(f"{BLOBS}/"), _read(folder, entry))
            if size != entry.size:
                raise not_a_backup(f"{folder / entry.path} is not what was written")
            done += 1
            if done % REPORT_EVERY == 0:
                report(MoveProgress("blobs", done, manifest.files))

    try:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(CONCURRENT_BLOBS):
                tasks.create_task(work())
    except BaseExceptionGroup as failed:
        raise failed.exceptions[0] from failed
    report(MoveProgress("blobs", done, done))
    return done


def _read(folder: Path, entry: BackupFile) -> Iterator[bytes]:
    with (folder / entry.path).open("rb") as file:
        while chunk := file.read(READ):
            yield chunk
