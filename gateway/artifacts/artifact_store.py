"""Keeps contents and gives them back: what is read was checked to be what was written.

    measure -> what is in it -> suspect the blob -> write it -> add the row, which claims it

So a cancel or a crash leaves at most an orphan candidate, which `sweep` removes. What an owner has already is
read instead of written again.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any

import structlog

from gateway.artifacts.compact import compact_of
from gateway.artifacts.content import ArtifactContent, Measured, measure_as_kept, plain_name
from gateway.artifacts.kinds import kind_of
from gateway.artifacts.store_events import ArtifactEvent, Damaged, Stored, StoreFailed, Swept, source_of
from gateway.errors import ArtifactDamaged, BlobMissing, Conflict, GatewayError, StorageError
from gateway.ids import new_artifact_ref, now_ms
from gateway.settings import Settings
from gateway.storage.artifacts import CHUNK, EXAMPLES, TEXTS, ArtifactRow, blob_path
from gateway.storage.blobs import Blobs
from gateway.storage.refusals import no_artifact

if TYPE_CHECKING:
    from gateway.storage.artifacts.store import Artifacts
    from gateway.storage.orphans import Orphans

log = structlog.get_logger(__name__)

CANDIDATE_TIME = 3_600_000
"""Milliseconds that a blob is left alone after it became a candidate: no write of one takes as long."""
MAX_PER_TURN = 500
"""Artifacts of a turn among which one that a call made before is looked for."""
ROUND = 500
"""Artifacts, and blobs, that one `sweep` removes at most."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Whose an artifact is, and where it was made, as far as there was such."""

    owner: str
    session_id: str | None = None
    turn_id: str | None = None
    tool_call_id: str | None = None
    project_id: str | None = None


class ArtifactStore:
    """The artifacts of all users. One for a process. `on_event` is called with each event of
    store_events.py."""

    def __init__(
        self,
        store: "Artifacts",
        orphans: "Orphans",
        blobs: Blobs,
        settings: Settings,
        *,
        on_event: Callable[[ArtifactEvent], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._orphans = orphans
        self._blobs = blobs
        self._settings = settings
        self.on_event = on_event

    async def put(
        self,
        content: ArtifactContent,
        origin: Origin,
        *,
        metadata: Mapping[str, Any] | None = None,
        expires_at: int | None = None,
    ) -> ArtifactRow:
        """Stores a content; the session of its origin uses it from then on. After a cancellation it is stored
        whole or not at all. What the same tool call has stored before is returned. It expires when settings
        say so, or before, `expires_at` (Unix milliseconds).

        Raises:
            errors.TooLarge: it has more bytes than settings allow; only so many of them were read.
            errors.ArtifactsFull: it does not fit into its owner's quota.
            errors.NotFound: (session_not_found) the owner has no such session.
            errors.Conflict: (content_removed) writing it took so long that it was swept.
            errors.StorageError: it could not be stored; code storage_full when a disk is full.
        """
        began, source = monotonic(), source_of(origin.turn_id, origin.tool_call_id)
        try:
            row = await self._put(content, origin, metadata or {}, expires_at)
        except GatewayError as error:
            took = monotonic() - began
            self.on_event(StoreFailed(source, error.code, took, origin.session_id, origin.turn_id))
            raise
        self.on_event(Stored(row, source, monotonic() - began))
        return row

    async def get(self, owner: str, ref: str, *, within: str | None = None) -> ArtifactRow:
        """`within`: one that this session uses, which is the owner's. Raises errors.NotFound
        (artifact_not_found), errors.StorageError."""
        if within is None:
            return await self._store.get(owner, ref)
        row = (await self._store.used(within, [ref])).get(ref)
        if row is None or row.owner != owner:
            raise no_artifact(ref)
        return row

    async def use(self, owner: str, session_id: str, refs: Collection[str]) -> None:
        """The session refers to these from now on: they stay as long as it does."""
        await self._store.use(owner, session_id, refs)

    async def delete(self, owner: str, ref: str) -> None:
        """Removes it, also while it is used, and its content unless another artifact has the same.

        Raises:
            errors.NotFound: (artifact_not_found) there is none.
            errors.StorageError: it could not be removed.
        """
        row = await self._store.get(owner, ref)
        await self._store.delete(owner, ref, now_ms())
        with suppress(StorageError):  # it stays a candidate, and `sweep` finds it
            await self._orphans.remove(self._blobs, row.path, now_ms())

    async def read(self, row: ArtifactRow, start: int, length: int) -> bytes:
        """At most `length` bytes from `start` on; none behind the end.

        Raises:
            errors.ArtifactDamaged: the content is missing, or not what was written; the message names it.
            errors.NotFound: (artifact_not_found) it was deleted meanwhile.
            errors.StorageError: it could not be read.
        """
        return b"".join([piece async for piece in self.stream(row, start, start + length)])

    async def stream(self, row: ArtifactRow, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        """The bytes from `start` up to, and without, `end`, in pieces of at most CHUNK. Iterating raises what
        `read` raises, before it gives anything of the damaged part."""
        end = row.size if end is None else min(end, row.size)
        for number in range(start // CHUNK, -(-end // CHUNK) if end > start else 0):
            first = number * CHUNK
            part = await self._part(row, number)
            yield part[max(start - first, 0) : end - first]

    async def sweep(self, now: int) -> Swept:
        """A bounded round: removes artifacts whose time is over and that no session uses, and blobs that have
        been candidates for CANDIDATE_TIME. Who is still writing one is refused its row.

        Raises:
            errors.StorageError: the database cannot do its work. A blob that cannot be removed waits for
                another round.
        """
        expired = await self._store.expire(now, ROUND)
        candidates = await self._orphans.candidates(now - CANDIDATE_TIME, ROUND)
        swept = Swept(expired, await self.clear(candidates, now))
        self.on_event(swept)
        return swept

    async def clear(self, paths: Iterable[str], now: int) -> int:
        """Removes those of the candidates that are orphans; how many that were. Ends at the first one that
        cannot be removed, as the others may fail for the same reason: they stay candidates, that one from now
        on, and `sweep` comes back to them. Raises errors.StorageError as `sweep` does."""
        removed = 0
        for path in paths:
            try:
                removed += await self._orphans.remove(self._blobs, path, now)
            except StorageError as error:
                log.warning("blob_not_removed", code=error.code, error=str(error))
                break
        return removed

    async def _put(
        self, content: ArtifactContent, origin: Origin, metadata: Mapping[str, Any], expires_at: int | None
    ) -> ArtifactRow:
        most = self._settings.artifact_max_size
        content, measured = await asyncio.to_thread(measure_as_kept, content, most)
        row = await asyncio.to_thread(self._row_of, content, measured, origin, metadata)
        if expires_at is not None:
            row = replace(row, expires_at=min(row.expires_at, expires_at))
        if (known := await self._made_before(row)) is not None:
            return known
        settings = self._settings
        add = partial(
            self._store.add, quota=settings.artifact_quota, tenant_quota=settings.artifact_tenant_quota
        )
        path = await self._store.path_of(row.owner, row.sha256)
        if path is not None and await self._is_whole(replace(row, path=path)):
            with suppress(Conflict):  # it was removed meanwhile
                await add(replace(row, path=path))
                return replace(row, path=path)
            path = None
        await self._orphans.suspect([row.path], row.created_at)
        try:
            await self._blobs.put(row.path, content.chunks())
            await add(row, instead_of=path)
        except Exception:
            with suppress(StorageError):  # it stays a candidate, and `sweep` finds it
                await self._orphans.remove(self._blobs, row.path, now_ms())
            raise
        return row

    async def _is_whole(self, row: ArtifactRow) -> bool:
        try:
            for number in range(len(row.chunks)):
                await self._checked(row, number)
        except (BlobMissing, ArtifactDamaged):
            return False
        return True

    async def _made_before(self, row: ArtifactRow) -> ArtifactRow | None:
        """The artifact that the same tool call made of the same content: it was run again, as a process that
        ran it before ended before its result was recorded."""
        if row.turn_id is None or row.tool_call_id is None:
            return None
        made = await self._store.find(row.owner, limit=MAX_PER_TURN, turn_id=row.turn_id)
        same = [each for each in made if (each.tool_call_id, each.name) == (row.tool_call_id, row.name)]
        return next((each for each in same if each.sha256 == row.sha256), None)

    def _row_of(
        self, content: ArtifactContent, measured: Measured, origin: Origin, metadata: Mapping[str, Any]
    ) -> ArtifactRow:
        content = replace(content, name=plain_name(content.name))
        kind, mime = kind_of(measured, content.name, content.mime)
        compact = compact_of(content, measured, kind)
        now = now_ms()
        return ArtifactRow(
            owner=origin.owner,
            ref=new_artifact_ref(),
            mime=mime,
            kind=kind,
            size=measured.size,
            lines=measured.lines if kind in TEXTS or not measured.damaged else None,
            sha256=measured.sha256,
            chunks=measured.chunks,
            path=blob_path(origin.owner, measured.sha256),
            compact=compact.text,
            created_at=now,
            expires_at=now + int(self._settings.artifact_ttl * 1000),
            name=content.name,
            session_id=origin.session_id,
            turn_id=origin.turn_id,
            tool_call_id=origin.tool_call_id,
            project_id=origin.project_id,
            metadata={**metadata, EXAMPLES: dict(compact.examples)},
        )

    async def _part(self, row: ArtifactRow, number: int) -> bytes:
        try:
            return await self._checked(row, number)
        except BlobMissing:
            await self._store.get(row.owner, row.ref)  # it is not there: it was deleted meanwhile
            self.on_event(Damaged(row, missing=True))
            raise _damaged(row, "is missing") from None
        except ArtifactDamaged:
            self.on_event(Damaged(row, missing=False))
            raise

    async def _checked(self, row: ArtifactRow, number: int) -> bytes:
        part = await self._blobs.read(row.path, start=number * CHUNK, length=CHUNK)
        if await asyncio.to_thread(_sha256, part) != row.chunks[number].sha256:
            raise _damaged(row, "is not what was written")
        return part


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _damaged(row: ArtifactRow, how: str) -> ArtifactDamaged:
    return ArtifactDamaged(
        f"The content of {row.ref} {how} (SHA-256 {row.sha256}).",
        details={"ref": row.ref, "sha256": row.sha256},
    )
