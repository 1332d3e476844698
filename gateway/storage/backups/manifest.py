"""The files of a backup, and what says that they are all there."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import orjson
from pydantic import BaseModel, ConfigDict, ValidationError

from gateway.errors import StorageError
from gateway.files.replacement import replacing
from gateway.storage.backups import Engine

MANIFEST, LISTING, BLOBS = "manifest.json", "files.jsonl", "blobs"
FORMAT = 1
MAX_NAMED = 100
"""Blobs that were missing at the source and are named."""
READ = 1_048_576
"""Bytes that are read at a time."""


class BackupFile(NamedTuple):
    """A file of a backup; its path is relative to the folder."""

    path: str
    size: int
    sha256: str


class BackupManifest(BaseModel):
    """`made_at` is in Unix milliseconds; `keys` are ids of the encryption keys that it may need; `blobs` says
    whether they are in it, else they stay in the store `blob_url`; `missing` names those that were not there
    when it was made."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    format: int
    made_at: int
    version: str
    engine: Engine
    revisions: Mapping[str, str]
    keys: Sequence[str]
    blobs: bool
    blob_url: str | None
    files: int
    bytes: int
    missing: Sequence[str]
    missing_count: int
    listing_sha256: str


class Listing:
    """The list of files while it is written."""

    def __init__(self, folder: Path) -> None:
        self.files = self.bytes = 0
        self._digest = hashlib.sha256()
        self._file = (folder / LISTING).open("wb")

    def add(self, entry: BackupFile) -> None:
        """Adds a file that is complete."""
        line = orjson.dumps(entry._asdict()) + b"\n"
        self._file.write(line)
        self._digest.update(line)
        self.files += 1
        self.bytes += entry.size

    def close(self) -> str:
        """The list is on the disk; returns its SHA-256."""
        self._file.flush()
        os.fsync(self._file.fileno())
        self._file.close()
        return self._digest.hexdigest()


def write_manifest(folder: Path, manifest: BackupManifest) -> None:
    """Writes the manifest as a whole or not at all: on the disk when it returns, as is all else that the
    folder has."""
    os.sync()
    with replacing(folder / MANIFEST, private=True) as file:
        file.write(orjson.dumps(manifest.model_dump(), option=orjson.OPT_INDENT_2) + b"\n")
    os.sync()


def read_manifest(folder: Path) -> BackupManifest:
    """Raises StorageError: there is none, so that the folder is no complete backup, or none that this version
    understands."""
    try:
        found = BackupManifest.model_validate_json((folder / MANIFEST).read_bytes())
    except FileNotFoundError:
        raise not_a_backup(
            f"{folder} has no {MANIFEST}: it is no backup, or one that was not completed"
        ) from None
    except OSError as error:
        raise not_a_backup(f"{folder / MANIFEST} cannot be read: {error.strerror}") from error
    except ValidationError:
        raise not_a_backup(f"{folder / MANIFEST} is damaged") from None
    if found.format > FORMAT:
        raise not_a_backup(f"{folder} was made by version {found.version}: use that one, or a newer one")
    return found


def entries_of(folder: Path, manifest: BackupManifest) -> Iterator[BackupFile]:
    """The files of a backup. Raises StorageError, at the end at the latest: the list is damaged."""
    digest = hashlib.sha256()
    try:
        with (folder / LISTING).open("rb") as file:
            for line in file:
                digest.update(line)
                entry = BackupFile(**orjson.loads(line))
                if Path(entry.path).is_absolute() or ".." in Path(entry.path).parts:
                    raise not_a_backup(f"{folder / LISTING} names a file outside of it")
                yield entry
    except OSError as error:
        raise not_a_backup(f"{folder / LISTING} cannot be read: {error.strerror}") from error
    except (ValueError, TypeError):
        raise not_a_backup(f"{folder / LISTING} is damaged") from None
    if digest.hexdigest() != manifest.listing_sha256:
        raise not_a_backup(f"{folder / LISTING} is damaged")


def entry_of(folder: Path, path: str) -> BackupFile:
    """A file of the folder, as it is. Raises OSError."""
    digest, size = hashlib.sha256(), 0
    with (folder / path).open("rb") as file:
        while chunk := file.read(READ):
            digest.update(chunk)
            size += len(chunk)
    return BackupFile(path, size, digest.hexdigest())


def not_a_backup(why: str) -> StorageError:
    """The refusal of a folder that is no whole backup."""
    return StorageError(f"{why}.", code="backup_damaged", retryable=False)
