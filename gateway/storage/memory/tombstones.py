"""What is left of memories that were deleted."""

from collections.abc import Sequence

from sqlalchemy import Connection, select, tuple_

from gateway.storage.memories import Tombstone, Viewer
from gateway.storage.memory.conditions import seen
from gateway.storage.memory_schema import memories


def of(
    connection: Connection, viewer: Viewer, limit: int, before: tuple[int, str] | None
) -> Sequence[Tombstone]:
    """See `MemoryStore.tombstones`."""
    c = memories.c
    last = tuple_(c.deleted_at, c.id)
    page = select(c.id, c.type, c.deleted_at).where(c.deleted_at.is_not(None), seen(viewer))
    if before is not None:
        page = page.where(last < before)
    rows = connection.execute(page.order_by(c.deleted_at.desc(), c.id.desc()).limit(limit))
    return [Tombstone(*row) for row in rows]
