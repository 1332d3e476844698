"""The operation of encryption at rest: to have everything under the first key."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import orjson
import structlog

from gateway.errors import BlobMissing, DecryptionFailed, InvalidRequest
from gateway.storage.blobs import Blobs
from gateway.storage.secrets import Secrets

ROWS, BLOBS = 200, 20
"""Of one slice."""

log = structlog.get_logger(__name__)


@runtime_checkable
class RotatingBlobs(Protocol):
    """Blobs of which some are encrypted."""

    async def rotate(self, path: str) -> bool:
        """As `EncryptedBlobs.rotate`."""
        ...


class RotatedMemories(NamedTuple):
    """What one slice came to: whether their key was stored anew (1), memories that were encrypted, whether
    nothing of them opens (1), and the number behind which to go on; None: that was all."""

    keys: int
    memories: int
    unreadable: int
    after: int | None


class RotatingMemories(Protocol):
    """The memories, of which some may be encrypted."""

    async def rotate(self, after: int) -> RotatedMemories:
        """Their key first, then those behind the number `after` that are not encrypted and are to be."""
        ...


class RotationSlice(NamedTuple):
    """What was encrypted anew, what did not open, and where to go on; None: that was all."""

    rows: int
    memories: int
    blobs: int
    unreadable: int
    after: str | None


class SecretRotation:
    """One per process."""

    def __init__(self, secrets: Secrets, memories: RotatingMemories, blobs: Blobs) -> None:
        self._secrets = secrets
        self._memories = memories
        self._blobs = blobs

    async def rotate(self, after: str | None) -> RotationSlice:
        """One slice, rows first, then memories, then blobs: what is under the first key already is passed
        over, so that it can be begun anew at any time. When a whole round found nothing that does not open,
        the other keys count as unused.

        Raises:
            errors.EncryptionOff.
        """
        place = _Place.of(after)
        if place.blobs is not None:
            return await self._blobs_from(place.blobs, place)
        if place.memories is not None:
            done = await self._memories.rotate(place.memories)
            unreadable = place.unreadable + done.unreadable
            following = _Place(None, done.after, "" if done.after is None else None, unreadable)
            return RotationSlice(done.keys, done.memories, 0, done.unreadable, following.text())
        rotated = await self._secrets.rotate(place.rows, ROWS)
        unreadable = place.unreadable + rotated.unreadable
        following = _Place(rotated.after, 0 if rotated.after is None else None, None, unreadable)
        return RotationSlice(rotated.rows, 0, 0, rotated.unreadable, following.text())

    async def _blobs_from(self, path: str, place: "_Place") -> RotationSlice:
        paths = await self._secrets.blob_paths(path, BLOBS)
        rotated, unreadable = await self._rotate(paths)
        if len(paths) == BLOBS:
            following = _Place(None, None, paths[-1], place.unreadable + unreadable)
            return RotationSlice(0, 0, rotated, unreadable, following.text())
        if not place.unreadable + unreadable:
            await self._secrets.end_rotation()
        return RotationSlice(0, 0, rotated, unreadable, None)

    async def _rotate(self, paths: Sequence[str]) -> tuple[int, int]:
        """How many were encrypted anew, and how many do not open."""
        blobs, done, unreadable = self._blobs, 0, 0
        if not isinstance(blobs, RotatingBlobs):
            return 0, 0
        for path in paths:
            try:
                done += await blobs.rotate(path)
            except BlobMissing:
                continue  # it was removed meanwhile
            except DecryptionFailed as error:
                unreadable += 1
                log.error("blob_unreadable", path=path, error=error.message)
        return done, unreadable


class _Place(NamedTuple):
    """Where a round is: behind which row, or (not None) behind which memory, or behind which blob."""

    rows: str | None
    memories: int | None
    blobs: str | None
    unreadable: int

    @classmethod
    def of(cls, text: str | None) -> "_Place":
        if text is None:
            return cls(None, None, None, 0)
        try:
            rows, memories, blobs, unreadable = orjson.loads(text)
        except (ValueError, TypeError):
            raise InvalidRequest("after is not one that this route gave.") from None
        texts, numbers = (rows or "", blobs or ""), (memories or 0, unreadable)
        if not (all(isinstance(each, str) for each in texts) and all(map(_is_number, numbers))):
            raise InvalidRequest("after is not one that this route gave.")
        return cls(rows, memories, blobs, unreadable)

    def text(self) -> str:
        return orjson.dumps([*self]).decode()


def _is_number(given: object) -> bool:
    return isinstance(given, int) and 0 <= given < 2**62
