"""Archives and artifacts from one blob store into another: all that the rows name."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from tempfile import SpooledTemporaryFile
from typing import NamedTuple, cast

from sqlalchemy import Connection, select, union

from gateway.errors import BlobMissing, StorageError
from gateway.storage import schema
from gateway.storage.blobs import Blobs
from gateway.storage.blobs.objects import CHUNK
from gateway.storage.moving import MoveProgress, Told

AT_ONCE = 4
"""Blobs under way."""
HELD = 16 * CHUNK
"""Bytes of a blob in memory; the rest lies in a temporary file."""


class MovedBlobs(NamedTuple):
    """How many were copied, or were there already; what its source has lost or damaged, by path."""

    copied: int
    present: int
    missing: tuple[str, ...]
    damaged: tuple[str, ...]


def named_blobs(connection: Connection) -> dict[str, str]:
    """Path and SHA-256 of each blob that a row names."""
    compressions, archives = schema.compressions.c, schema.session_archives.c
    artifacts = schema.artifacts.c
    found = union(
        select(compressions.archive_path, compressions.sha256),
        select(archives.events_path, archives.events_sha256),
        select(archives.messages_path, archives.messages_sha256),
        select(artifacts.path, artifacts.sha256),
    )
    return dict(cast("Sequence[tuple[str, str]]", connection.execute(found).all()))


async def move_blobs(named: Mapping[str, str], source: Blobs, target: Blobs, told: Told) -> MovedBlobs:
    """Copies what `target` does not have, and reads it there again. What the source itself has no more, or
    not as it was written, is told and no failure: it is no worse after the move than before.

    Raises:
        StorageError: a store failed, or the target gives back something else; called again it goes on.
    """
    copied, present = 0, 0
    missing: list[str] = []
    damaged: list[str] = []
    places = asyncio.Semaphore(AT_ONCE)

    async def one(path: str, sha256: str) -> None:
        nonlocal copied, present
        async with places:
            if await _digest(target, path) == sha256:
                present += 1
                return
            try:
                written = await _copy(source, target, path)
            except BlobMissing:
                missing.append(path)
                return
            if await _digest(target, path) != written:
                raise StorageError(f"The blob {path} is not what was written to the target.")
            copied += 1
            if written != sha256:
                damaged.append(path)
        told(MoveProgress("blobs", copied + present, len(named)))

    async with asyncio.TaskGroup() as tasks:
        for path, sha256 in named.items():
            tasks.create_task(one(path, sha256))
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


async def _digest(blobs: Blobs, path: str) -> str | None:
    """The hash of a blob; None when there is none."""
    digest = hashlib.sha256()
    try:
        async for chunk in blobs.stream(path):
            digest.update(chunk)
    except BlobMissing:
        return None
    return digest.hexdigest()
