"""The verb of encryption at rest: to have everything under the first key."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, runtime_checkable

import orjson
import structlog

from gateway.auth import Principal
from gateway.errors import BlobMissing, DecryptionFailed, Forbidden, InvalidRequest
from gateway.service.keys import is_operator
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


class RotationSlice(NamedTuple):
    """What was encrypted anew, what did not open, and where to go on; None: that was all."""

    rows: int
    blobs: int
    unreadable: int
    after: str | None


class SecretRotation:
    """One per process."""

    def __init__(self, secrets: Secrets, blobs: Blobs) -> None:
        self._secrets = secrets
        self._blobs = blobs

    async def rotate(self, who: Principal, after: str | None) -> RotationSlice:
        """One slice, rows first, then blobs: what is under the first key already is passed over, so that it
        can be begun anew at any time. When a whole round found nothing that does not open, the other keys
        count as unused.

        Raises:
            errors.Forbidden: the caller is not the operator. errors.EncryptionOff.
        """
        if not is_operator(who):
            raise Forbidden("Only an admin of the tenant default can do this.", details={"scope": "admin"})
        place = _Place.of(after)
        if place.blobs is None:
            done = await self._secrets.rotate(place.rows, ROWS)
            unreadable = place.unreadable + done.unreadable
            following = _Place(done.after, "" if done.after is None else None, unreadable)
            return RotationSlice(done.rows, 0, done.unreadable, following.text())
        paths = await self._secrets.blob_paths(place.blobs, BLOBS)
        rotated, unreadable = await self._rotate(paths)
        if len(paths) == BLOBS:
            following = _Place(None, paths[-1], place.unreadable + unreadable)
            return RotationSlice(0, rotated, unreadable, following.text())
        if not place.unreadable + unreadable:
            await self._secrets.end_rotation()
        return RotationSlice(0, rotated, unreadable, None)

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
    """Where a round is: behind which row, or (not None) behind which blob."""

    rows: str | None
    blobs: str | None
    unreadable: int

    @classmethod
    def of(cls, text: str | None) -> "_Place":
        if text is None:
            return cls(None, None, 0)
        try:
            rows, blobs, unreadable = orjson.loads(text)
        except (ValueError, TypeError):
            raise InvalidRequest("after is not one that this route gave.") from None
        if not (isinstance(rows or "", str) and isinstance(blobs or "", str) and isinstance(unreadable, int)):
            raise InvalidRequest("after is not one that this route gave.")
        return cls(rows, blobs, unreadable)

    def text(self) -> str:
        return orjson.dumps([*self]).decode()
