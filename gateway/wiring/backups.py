"""Backups of what a configuration keeps, and their way back."""

import asyncio
from functools import partial
from pathlib import Path

from gateway.errors import SettingsError
from gateway.ids import now_ms
from gateway.settings import Settings
from gateway.storage.backups import BackedUpDatabases, OnProgress
from gateway.storage.backups.backup import SourceGateway, back_up
from gateway.storage.backups.check import CheckedBackup, check_backup
from gateway.storage.backups.last_backup import LastBackup, note_backup
from gateway.storage.backups.manifest import BackupManifest, not_a_backup
from gateway.storage.backups.restore import Restored, put_blobs, restore_files
from gateway.storage.blobs.addresses import is_bucket, open_blobs
from gateway.wiring.database_server import driver_needed
from gateway.wiring.encryption import open_keyring


def back_up_everything(
    settings: Settings, folder: Path, report: OnProgress, *, with_blobs: bool
) -> BackupManifest:
    """Everything into the folder, while gateways may run. Without `with_blobs`, for a store that has copies
    of its own, the blobs stay where they are.

    Raises:
        SettingsError: a program or a driver that it takes is not installed, or the blobs are in no store of
            their own and were to stay.
        StorageError: see `back_up`.
    """
    if not with_blobs and not is_bucket(settings.blob_url):
        raise SettingsError("--without-blobs is for blobs in a bucket (GATEWAY_BLOB_URL=s3://…).")
    keyring = open_keyring(settings)
    origin = SourceGateway(sorted(keyring.ids) if keyring is not None else (), settings.blob_url)
    blobs = open_blobs(settings.blob_url, settings.data_dir) if with_blobs else None
    made = back_up(folder, _databases(settings), blobs, origin, report)
    if not settings.is_shared:
        note_backup(settings.database_path.resolve().parent, LastBackup(now_ms(), str(folder.resolve())))
    return made


def check(folder: Path, report: OnProgress) -> CheckedBackup:
    """Reads all of a backup. Raises StorageError: it is not whole; SettingsError: what it takes to read a
    dump is not installed."""
    checked = check_backup(folder, report)
    if checked.manifest.engine == "postgresql":
        with driver_needed():
            from gateway.storage.postgres.dumps import DUMP, check_dump  # noqa: PLC0415 - an extra
        check_dump(folder / DUMP)
    return checked


def restore(settings: Settings, folder: Path, report: OnProgress, *, replace: bool) -> Restored:
    """Checks the backup, and puts it where the settings say.

    Raises:
        SettingsError: the settings name another engine than that of the backup.
        StorageError: the backup is not whole, a gateway runs, or there is something already.
    """
    manifest = check(folder, report).manifest
    if settings.is_shared != (manifest.engine == "postgresql"):
        raise SettingsError(
            f"The backup is of {manifest.engine}, and GATEWAY_DATABASE_URL names the other engine: restore "
            "into the same one, then `gateway move`."
        )
    store = partial(open_blobs, settings.blob_url, settings.data_dir)
    if not settings.is_shared:
        return restore_files(folder, manifest, settings.database_path, store, replace=replace, report=report)
    if replace:
        raise SettingsError("--replace is for files: make a new database (createdb), and restore into that.")
    with driver_needed():
        from gateway.storage.postgres.dumps import DUMP, restore_dump  # noqa: PLC0415 - an extra
    if not manifest.blobs and settings.blob_url != manifest.blob_url:
        raise not_a_backup(
            f"{folder} has no blobs: they are in {manifest.blob_url}. Set GATEWAY_BLOB_URL to it"
        )
    files = asyncio.run(put_blobs(folder, manifest, store(), report))
    restore_dump(folder / DUMP, settings.database_direct_url or settings.database_url or "")
    return Restored(files + 1, None)


def _databases(settings: Settings) -> BackedUpDatabases:
    if not settings.is_shared:
        from gateway.storage.sqlite.backup import SqliteBackup  # noqa: PLC0415 - that engine's alone

        path = settings.database_path
        return SqliteBackup(path, settings.memory_path, path.with_name("slack.db"))
    with driver_needed():
        from gateway.storage.postgres.dumps import PostgresBackup  # noqa: PLC0415 - an extra
    return PostgresBackup(settings.database_direct_url or settings.database_url or "")
