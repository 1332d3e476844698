"""What was deleted or replaced: what somebody said before must not bring it back."""

from collections.abc import Sequence

from sqlalchemy import Connection, and_, case, or_, select

from gateway.storage.memories import Forgotten, Viewer
from gateway.storage.memory.conditions import DOCUMENT, seen
from gateway.storage.memory_schema import memories

REPLACED = "replaced"


def of(connection: Connection, viewer: Viewer, since: int, limit: int) -> Sequence[Forgotten]:
    """See `MemoryStore.forgotten`."""
    c = memories.c
    at = case((c.deleted_at.is_not(None), c.deleted_at), else_=c.updated_at)
    gone = or_(c.deleted_at > since, and_(c.status == REPLACED, c.updated_at > since))
    rows = connection.execute(
        select(c.content, c.digest, at)
        .where(gone, c.source != DOCUMENT, seen(viewer))
        .order_by(at.desc(), c.number.desc())
        .limit(limit)
    )
    return [Forgotten(*row) for row in rows]
