"""Making a backup."""

import asyncio
import hashlib
import os
import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from gateway import __version__
from gateway.errors import BlobMissing, StorageError
from gateway.files.disk import is_full
from gateway.ids import now_ms
from gateway.storage.backups import BackedUpDatabases, OnProgress
from gateway.storage.backups.manifest import (
    BLOBS,
    FORMAT,
    LISTING,
    MAX_NAMED,
    BackupFile,
    BackupManifest,
    Listing,
    entry_of,
    write_manifest,
)
from gateway.storage.blobs import Blobs
from gateway.storage.moving import MoveProgress

CONCURRENT_BLOBS = 4
"""Blobs that are copied at a time, each in pieces of a megabyte."""
REPORT_EVERY = 50


class SourceGateway(NamedTuple):
    """The facts of a gateway that stand in its backups' `BackupManifest`."""

    keys: Sequence[str]
    blob_url: str | None


def back_up(
    folder: Path, databases: BackedUpDatabases, blobs: Blobs | None, origin: SourceGateway, report: OnProgress
) -> BackupManifest:
    """Writes a backup into `folder`, which is made, or empty; without `blobs` these stay where they are. The
    gateway may run. Returns what it came to.

    Raises:
        StorageError: the folder is not empty, or cannot be written; a database or the store failed. There is
            no manifest then.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise StorageError(f"{folder} is not empty: name a new folder.", retryable=False)
        with databases.hold():
            return _written(folder, databases, blobs, origin, report)
    except OSError as error:
        raise StorageError(
            f"The backup in {folder} is not complete: {error.strerror}.",
            code="storage_full" if is_full(error) else None,
            retryable=False,
        ) from error
    except sqlite3.Error as error:
        raise StorageError(f"The backup in {folder} is not complete: {error}.", retryable=False) from error


def _written(
    folder: Path, databases: BackedUpDatabases, blobs: Blobs | None, origin: SourceGateway, report: OnProgress
) -> BackupManifest:
    made_at = now_ms()
    listing, copy = Listing(folder), None
    with databases.copied(folder, report) as moment:
        for path in sorted(each.name for each in folder.iterdir() if each.name != LISTING):
            listing.add(entry_of(folder, path))
        if blobs is not None:
            copy = BlobCopy(blobs, folder, listing, report)
            asyncio.run(copy.run(moment.blobs()))
    missing = copy.missing if copy is not None else []
    manifest = BackupManifest(
        format=FORMAT,
        made_at=made_at,
        version=__version__,
        engine=databases.engine,
        revisions=dict(moment.revisions),
        keys=list(origin.keys),
        blobs=blobs is not None,
        blob_url=origin.blob_url,
        missing=missing[:MAX_NAMED],
        missing_count=len(missing),
        listing_sha256=listing.close(),
        files=listing.files,
        bytes=listing.bytes,
    )
    write_manifest(folder, manifest)
    return manifest


class BlobCopy:
    """Blobs of a store on their way into the folder of a backup, as they are stored, encrypted or not."""

    def __init__(self, blobs: Blobs, folder: Path, listing: Listing, report: OnProgress) -> None:
        self.missing: list[str] = []
        self._blobs = blobs
        self._folder = folder / BLOBS
        self._listing = listing
        self._report = report
        self._done = 0

    async def run(self, paths: Iterator[str]) -> None:
        """Copies all. Raises StorageError, OSError."""
        self._folder.mkdir(mode=0o700)

        async def work() -> None:
            for path in paths:
                await self._one(path)

        try:
            async with asyncio.TaskGroup() as tasks:
                for _ in range(CONCURRENT_BLOBS):
                    tasks.create_task(work())
        except BaseExceptionGroup as failed:  # several at a time, for one reason as a rule
            raise failed.exceptions[0] from failed
        self._report(MoveProgress("blobs", self._done, self._done))

    async def _one(self, path: str) -> None:
        target, digest, size = self._folder / path, hashlib.sha256(), 0
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
                async for chunk in self._blobs.stream(path):
                    digest.update(chunk)
                    file.write(chunk)
                    size += len(chunk)
        except BlobMissing:  # it was lost before: its rows say so when they are read
            target.unlink()
            self.missing.append(path)
            return
        self._listing.add(BackupFile(f"{BLOBS}/{path}", size, digest.hexdigest()))
        self._done += 1
        if self._done % REPORT_EVERY == 0:
            self._report(MoveProgress("blobs", self._done, self._done + 1))
