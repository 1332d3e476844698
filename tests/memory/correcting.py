"""Memories of one user, the short way, and who corrects them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gateway.memory.memories import By, Memories
from gateway.memory.record import NewMemory
from gateway.storage.memories import Evidence, Filter, Link, MemoryRow, Scope

ANN = Scope("ann")
COACH = Scope("ann", role_id="coach")
BY = By("ann", "She said so.", "t_1")
RECALLABLE = Filter(recallable=True)


async def saved(
    memories: Memories, content: str, *on: str, scope: Scope = ANN, quote: str | None = None, **fields: Any
) -> MemoryRow:
    """A new memory, which depends on those of `on`."""
    evidence = [Evidence("s", 1, quote)] if quote else []
    changed = await memories.save(scope, NewMemory(content, **fields), BY, evidence=evidence)
    return await linked(memories, changed.row, on) if on else changed.row


async def linked(memories: Memories, row: MemoryRow, on: Sequence[str]) -> MemoryRow:
    """The memory, which from now on depends on those of `on`."""
    links = [Link(row.id, each, "depends_on") for each in on]
    step = await memories.step(replace(row, version=row.version + 1), "updated", BY, links=links)
    (changed,) = await memories.apply([step])
    return changed.row


async def recalled(memories: Memories, scope: Scope = ANN) -> list[str]:
    return [row.content for row in await memories.list(scope, RECALLABLE, limit=50)]
