"""What depends on a memory, and on whom it depends once that is said by another one."""

from collections.abc import Sequence

import structlog

from gateway.storage.memories import AllScopes, Link, MemoryRow, Viewer
from gateway.storage.memories.contract import MemoryStore

MAX_VISITED = 500
"""Memories that one correction reaches, directly or through others; beyond them nothing is flagged."""

log = structlog.get_logger(__name__)


async def dependants(
    store: MemoryStore, viewer: Viewer, root: MemoryRow, but: MemoryRow | None
) -> Sequence[MemoryRow]:
    """What depends on `root`, directly or through others, in all of the user's roles and projects; not `but`,
    nor what depends on `root` through it alone."""
    everything = AllScopes(viewer.user_id, viewer.households)
    walked, waiting, found = {root.id, *([but.id] if but else [])}, [root.id], list[MemoryRow]()
    while waiting and len(walked) < MAX_VISITED:
        links = await store.links(waiting.pop(0))
        reached = [link.from_id for link in links if link.relation == "depends_on"]
        new = [each for each in dict.fromkeys(reached) if each not in walked]
        walked.update(new)
        waiting += new
        found += await store.get(everything, *new)
    if waiting:
        log.warning("memory_cascade_cut", memory_id=root.id, reached=len(walked))
    return found


async def inherited(store: MemoryStore, rows: Sequence[MemoryRow], heir: MemoryRow) -> list[Link]:
    """The links by which others depend on `rows`, with their heir instead; and, where it says all that they
    said, those by which they depend on others."""
    old = {row.id for row in rows}
    found: list[Link] = []
    for row in rows:
        for link in await store.links(row.id):
            if link.relation != "depends_on":
                continue
            if link.to_id == row.id and link.from_id not in {*old, heir.id}:
                found.append(Link(link.from_id, heir.id, "depends_on"))
            if link.from_id == row.id and len(rows) > 1 and link.to_id not in old:
                found.append(Link(heir.id, link.to_id, "depends_on"))
    return list(dict.fromkeys(found))
