"""Archives and artifacts from one blob store into another: all that the rows name."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping
from tempfile import SpooledTemporaryFile
from typing import NamedTuple

from sqlalchemy import Connection, false, select, true, union

from gateway.errors import ArchiveDamaged, BlobMissing, StorageError
from gateway.storage import schema
from gateway.storage.archives.segments import unpacked
from gateway.storage.blobs import Blobs
from gateway.storage.blobs.encrypted import MAGIC
from gateway.storage.blobs.objects import CHUNK
from gateway.storage.moving import MoveProgress, OnProgress

CONCURRENT_BLOBS = 4
"""Blobs under way."""
FETCHED = 1000
"""Rows that are read at a time."""
HELD = 16 * CHUNK
"""Bytes of a blob in memory; the rest lies in a temporary file."""


class MovedBlobs(NamedTuple):
    """How many were copied, or were there already; what its source has lost or damaged, by path."""

    copied: int
    present: int
    missing: tuple[str, ...]
    damaged: tuple[str, ...]


class Digests(NamedTuple):
    """The hash of what is stored, and that of its row: None where there is no blob, it cannot be unzipped, or
    it is encrypted, as only its keys tell then."""

    stored: str | None
    of_row: str | None
    encrypted: bool = False


class Hashed(NamedTuple):
    """The SHA-256 that a row gives for its blob: with `lines` of what was zipped, else of the blob itself."""

    sha256: str
    lines: bool


def named_blobs(connection: Connection) -> dict[str, Hashed]:
    """Path and hash of each blob that a row names."""
    return dict(each_named_blob(connection))


def each_named_blob(connection: Connection) -> Iterator[tuple[str, Hashed]]:
    """The same, some at a time."""
    compressions, archives = schema.compressions.c, schema.session_archives.c
    artifacts = schema.artifacts.c
    found = union(
        select(compressions.archive_path, compressions.sha256, true()),
        select(archives.events_path, archives.events_sha256, true()),
        select(archives.messages_path, archives.messages_sha256, true()),
        select(artifacts.path, artifacts.sha256, false()),
    )
    for path, sha256, lines in connection.execute(found, execution_options={"yield_per": FETCHED}):
        yield path, Hashed(sha256, bool(lines))


async def move_blobs(
    named: Mapping[str, Hashed], source: Blobs, target: Blobs, report: OnProgress
) -> MovedBlobs:
    """Copies what `target` does not have, and reads it there again. Blobs that are missing or damaged in the
    source are reported and are no failure: the move leaves them as they were. Encrypted ones are
    copied as they are: whether their contents are damaged is not known without their keys.

    Raises:
        StorageError: a store failed, or the target gives back something else; called again it goes on.
    """
    copied, present = 0, 0
    missing: list[str] = []
    damaged: list[str] = []
    places = asyncio.Semaphore(CONCURRENT_BLOBS)

    async def one(path: str, row: Hashed) -> None:
        nonlocal copied, present
        async with places:
            there = await _digests(target, path, lines=row.lines)
            if there.of_row == row.sha256 or (
                there.encrypted and there == await _digests(source, path, lines=row.lines)
            ):
                present += 1
                return
            try:
                written = await _copy(source, target, path)
            except BlobMissing:
                missing.append(path)
                return
            there = await _digests(target, path, lines=row.lines)
            if there.stored != written:
                raise StorageError(f"The blob {path} is not what was written to the target.")
            copied += 1
            if there.of_row != row.sha256 and not there.encrypted:
                damaged.append(path)
        report(MoveProgress("blobs", copied + present, len(named)))

    try:
        async with asyncio.TaskGroup() as tasks:
            for path, row in named.items():
                tasks.create_task(one(path, row))
    except BaseExceptionGroup as failed:  # several at a time, for one reason as a rule
        raise failed.exceptions[0] from failed
    return MovedBlobs(copied, present, tuple(sorted(missing)), tuple(sorted(damaged)))


async def _copy(source: Blobs, target: Blobs, path: str) -> str:
    """The hash of what was copied."""
    digest = hashlib.sha256()
    with SpooledTemporaryFile(max_size=HELD) as held:
        async for chunk in source.stream(path):
            digest.update(chunk)
            held.write(chunk)
        held.seek(0)
        await target.put(path, iter(lambda: held.read(CHUNK), b""))
    return digest.hexdigest()


async def _digests(blobs: Blobs, path: str, *, lines: bool) -> Digests:
    stored, hashed = hashlib.sha256(), hashlib.sha256()

    async def read() -> AsyncIterator[bytes]:
        async for chunk in blobs.stream(path):
            stored.update(chunk)
            yield chunk

    chunks = read()
    try:
        if await blobs.read(path, length=len(MAGIC)) == MAGIC:
            async for _ in chunks:
                pass
            return Digests(stored.hexdigest(), None, encrypted=True)
        async for piece in unpacked(path, chunks) if lines else chunks:
            hashed.update(piece)
    except BlobMissing:
        return Digests(None, None)
    except ArchiveDamaged:
        async for _ in chunks:
            pass
        return Digests(stored.hexdigest(), None)
    return Digests(stored.hexdigest(), hashed.hexdigest())
