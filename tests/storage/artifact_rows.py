"""Rows of artifacts, and how they get into the storage."""

import hashlib

from gateway.storage.artifacts import MIN_COUNTED, ArtifactRow, Chunk, blob_paths
from tests.product import Storage
from tests.storage.writing import OWNER

QUOTA = 20 * MIN_COUNTED
LATER = 1_000


def artifact(
    number: int = 1,
    content: str = "rows",
    *,
    owner: str = OWNER,
    session_id: str | None = None,
    size: int = 100,
    created_at: int = 5,
    expires_at: int = LATER,
) -> ArtifactRow:
    sha256 = hashlib.sha256(content.encode()).hexdigest()
    return ArtifactRow(
        owner=owner,
        ref=f"ART-{number:010}",
        mime="text/csv",
        kind="csv",
        size=size,
        lines=3,
        sha256=sha256,
        chunks=(Chunk(sha256, 2),),
        path=blob_paths(owner, sha256)[0],
        compact="CSV, 2 rows",
        created_at=created_at,
        expires_at=expires_at,
        session_id=session_id,
    )


async def add(
    storage: Storage, *rows: ArtifactRow, quota: int = QUOTA, tenant_quota: int | None = None
) -> None:
    """Adds the rows, with their blobs as candidates before, as `ArtifactStore.put` does."""
    for row in rows:
        await storage.orphans.suspect([row.path], row.created_at)
        await storage.artifacts.add(row, quota=quota, tenant_quota=tenant_quota)


async def begin(storage: Storage, *sessions: str, owner: str = OWNER) -> None:
    for session_id in sessions:
        await storage.sessions.create(session_id, owner, None, 1)
