"""Whether a backup is whole."""

import sqlite3
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Connection, NullPool, create_engine

from gateway.storage.backups import OnProgress
from gateway.storage.backups.manifest import (
    BLOBS,
    BackupManifest,
    entries_of,
    entry_of,
    not_a_backup,
    read_manifest,
)
from gateway.storage.migrations import CHAINS, MOVING, schema_of
from gateway.storage.moving import MoveProgress
from gateway.storage.moving.blobs import each_named_blob
from gateway.storage.sqlite_files.checking import problems_of

REPORT_EVERY = 50


class CheckedBackup(NamedTuple):
    """The result of a check: the manifest, and blobs that rows name and that were missing when it was
    made."""

    manifest: BackupManifest
    missing: int


def check_backup(folder: Path, report: OnProgress) -> CheckedBackup:
    """Reads every byte of a backup.

    Raises:
        StorageError: it is not complete, or something in it is not what was written (code backup_damaged); a
            database in it is damaged or of a newer version; a row names a blob that is not in it.
    """
    manifest = read_manifest(folder)
    _check_files(folder, manifest, report)
    if manifest.engine == "sqlite":
        for name in (*CHAINS, "slack.db"):
            if (folder / name).exists():
                _check_database(folder / name, manifest)
        _check_blobs(folder, manifest)
    return CheckedBackup(manifest, manifest.missing_count)


def _check_files(folder: Path, manifest: BackupManifest, report: OnProgress) -> None:
    number = 0
    for number, entry in enumerate(entries_of(folder, manifest), 1):
        try:
            found = entry_of(folder, entry.path)
        except OSError as error:
            raise not_a_backup(f"{folder / entry.path} cannot be read: {error.strerror}") from error
        if found != entry:
            raise not_a_backup(f"{folder / entry.path} is not what was written")
        if number % REPORT_EVERY == 0 or number == manifest.files:
            report(MoveProgress("checked files", number, manifest.files))
    if number != manifest.files:
        raise not_a_backup(f"{folder} has {number} of {manifest.files} files")


def _check_database(path: Path, manifest: BackupManifest) -> None:
    with unchanged(path) as connection:
        connection.exec_driver_sql("SELECT count(*) FROM sqlite_master").close()
    if problems := problems_of(path, immutable=True):
        raise not_a_backup(f"{path} is damaged ({'; '.join(problems)})")
    if (chain := CHAINS.get(path.name)) is None:
        return
    found = schema_of(path, immutable=True)
    if (
        found.revision is None
        or found.revision == MOVING
        or found.revision != manifest.revisions[chain.holds]
    ):
        raise not_a_backup(f"{path} is at revision {found.revision}, not {manifest.revisions[chain.holds]}")
    found.is_newer(chain, str(path))


def _check_blobs(folder: Path, manifest: BackupManifest) -> None:
    if not manifest.blobs:
        return
    known = manifest.missing_count
    with unchanged(folder / "gateway.db") as connection:
        absent = [path for path, _ in each_named_blob(connection) if not (folder / BLOBS / path).is_file()]
    if len(absent) > known:
        raise not_a_backup(f"{folder} lacks {len(absent) - known} blobs that rows name, such as {absent[0]}")


@contextmanager
def unchanged(path: Path) -> Generator[Connection]:
    """Reads a SQLite file that nobody writes, and writes nothing beside it. Raises StorageError."""
    uri = f"{path.resolve().as_uri()}?immutable=1"
    engine = create_engine("sqlite://", creator=lambda: sqlite3.connect(uri, uri=True), poolclass=NullPool)
    try:
        with engine.connect() as connection:
            yield connection
    except sqlite3.Error as error:
        raise not_a_backup(f"{path} cannot be read ({error})") from error
    finally:
        engine.dispose()
