"""Memories of one user, the short way, and who corrects them."""

from collections.abc import Sequence
from typing import Any

from gateway.memory.changes import Attribution, Changed
from gateway.memory.corrections.corrections import Action
from gateway.memory.editor import Editor
from gateway.memory.memories import Memories
from gateway.memory.validation import NewMemory
from gateway.storage.memories import Evidence, Viewer
from tests.product import Filter, MemoryRow, Scope

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


class Corrections:
    """Corrections by several users, whoever `by` says."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories

    async def correct(
        self, viewer: Viewer, memory_id: str, action: Action, by: Attribution, **more: Any
    ) -> Sequence[Changed]:
        return await self._editor(viewer, by).correct(memory_id, action, by.reason, **more)

    async def edit(
        self, viewer: Viewer, memory_id: str, changes: dict[str, Any], by: Attribution
    ) -> Sequence[Changed]:
        return await self._editor(viewer, by).edit(memory_id, changes, by.reason)

    async def merge(self, viewer: Viewer, memory_ids: Sequence[str], by: Attribution) -> Sequence[Changed]:
        return await self._editor(viewer, by).merge(memory_ids, by.reason)

    def _editor(self, viewer: Viewer, by: Attribution) -> Editor:
        scope = viewer if isinstance(viewer, Scope) else Scope(viewer.user_id, households=viewer.households)
        return Editor(self._memories, scope, viewer, by.actor, by.turn_id)
