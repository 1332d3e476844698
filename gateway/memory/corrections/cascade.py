"""Dependent memories: which are affected by a correction, and the links that a successor inherits."""

from collections.abc import Sequence

import structlog

from gateway.storage.memories import AllScopes, Link, MemoryRow, Viewer
from gateway.storage.memories.contract import MemoryStore

MAX_VISITED = 500
"""Memories that one correction reaches, directly or transitively; beyond them nothing is flagged."""

log = structlog.get_logger(__name__)


async def dependants(
    store: MemoryStore, viewer: Viewer, root: MemoryRow, but: MemoryRow | None
) -> Sequence[MemoryRow]:
    """The memories that depend on `root`, directly or transitively, in all of the user's scopes; without
    `but`, and without those that depend on `root` through it alone."""
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
    """The links by which others depend on `rows`, with their heir as the target; after a merge also the links
    by which the rows depend on others."""
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
