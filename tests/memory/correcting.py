"""Memories of one user, the short way, and who corrects them."""

from typing import Any

from gateway.memory.memories import Attribution, Memories
from gateway.memory.validation import NewMemory
from gateway.storage.memories import Evidence, Filter, MemoryRow, Scope

ANN = Scope("ann")
COACH = Scope("ann", role_id="coach")
BY = Attribution("ann", "She said so.", "t_1")
RECALLABLE = Filter(recallable=True)


async def saved(
    memories: Memories, content: str, *on: str, scope: Scope = ANN, quote: str | None = None, **fields: Any
) -> MemoryRow:
    """A new memory, which depends on those of `on`."""
    evidence = [Evidence("s", 1, quote)] if quote else []
    new = NewMemory(content, **fields)
    return (await memories.save(scope, new, BY, evidence=evidence, depends_on=on)).row


async def recalled(memories: Memories, scope: Scope = ANN) -> list[str]:
    return [row.content for row in await memories.list(scope, RECALLABLE, limit=50)]
