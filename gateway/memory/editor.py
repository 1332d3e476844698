"""The changes that a person makes to memories, over HTTP or on the command line, or a model with its tool.
The words of an erased memory are taken out of the sessions as well."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gateway.errors import StorageError
from gateway.memory.corrections import saving
from gateway.memory.corrections.corrections import Action, Corrections
from gateway.memory.memories import Attribution, Changed, Memories
from gateway.memory.validation import NewMemory
from gateway.storage.memories import Evidence, Scope, Viewer
from gateway.storage.sessions import Sessions


@dataclass(frozen=True, slots=True)
class Editor:
    """`scope` is where new memories are made, `viewer` sees those that can be changed; `actor` and `turn_id`
    are as in `Attribution`. `owners` are the users whose sessions may have the words of these memories, and
    `sessions` theirs, if they are open in this process.

    All methods raise what those of `Memories` and `Corrections` raise, errors.NotFound and
    errors.MemoryChanged among them. `version` changes a memory only while it is at that one.
    """

    memories: Memories
    scope: Scope
    viewer: Viewer
    actor: str
    turn_id: str | None = None
    owners: frozenset[str] = frozenset()
    sessions: Sessions | None = None

    async def save(
        self,
        new: NewMemory,
        reason: str,
        *,
        evidence: Sequence[Evidence] = (),
        depends_on: Sequence[str] = (),
        key: str | None = None,
        stated: str = "",
    ) -> Sequence[Changed]:
        """Remembers something, or reinforces what is remembered word for word already; then what it replaced
        and flagged (see `saving.save`)."""
        return await saving.save(
            self.memories,
            self.scope,
            new,
            self._by(reason),
            stated=stated,
            viewer=self.viewer,
            evidence=evidence,
            depends_on=depends_on,
            key=key,
        )

    async def edit(
        self,
        memory_id: str,
        changes: dict[str, Any],
        reason: str,
        *,
        version: int | None = None,
        depends_on: Sequence[str] = (),
    ) -> Sequence[Changed]:
        """The memory as it is now; with another content then those that depended on it, flagged."""
        return await Corrections(self.memories).edit(
            await self._viewer(memory_id),
            memory_id,
            changes,
            self._by(reason),
            version=version,
            depends_on=depends_on,
        )

    async def delete(self, memory_id: str, reason: str, *, version: int | None = None) -> Changed:
        viewer = await self._viewer(memory_id)
        return await self.memories.delete(viewer, memory_id, self._by(reason), version=version)

    async def erase(self, memory_id: str, reason: str, *, version: int | None = None) -> Changed:
        """Erases a memory, deleted or not, and takes its words out of the sessions of `owners`. The upkeep of
        the process that has these sessions does so once more (see `Upkeep`), and settles the erasure.

        Raises:
            errors.StorageError: the memory is not erased; or it is, and its words are still in sessions,
                which the message says.
        """
        changed = await self.memories.erase(
            self.viewer, memory_id, self._by(reason), owners=self.owners, version=version
        )
        if self.sessions is not None:
            await self._take_out(memory_id, self.sessions)
        return changed

    async def confirm(self, memory_id: str, reason: str, *, version: int | None = None) -> Changed:
        viewer = await self._viewer(memory_id)
        return await self.memories.confirm(viewer, memory_id, self._by(reason), version=version)

    async def correct(
        self,
        memory_id: str,
        action: Action,
        reason: str,
        *,
        evidence: Evidence | None = None,
        new_content: str | None = None,
        version: int | None = None,
    ) -> Sequence[Changed]:
        """The corrected memory, the one that says it now, and those that depended on it, flagged."""
        return await Corrections(self.memories).correct(
            await self._viewer(memory_id),
            memory_id,
            action,
            self._by(reason),
            evidence=evidence,
            new_content=new_content,
            version=version,
        )

    async def merge(self, memory_ids: Sequence[str], reason: str) -> Sequence[Changed]:
        """The new memory, then those that it replaces."""
        return await Corrections(self.memories).merge(self.viewer, memory_ids, self._by(reason))

    async def _viewer(self, memory_id: str) -> Viewer:
        """Documents are nobody's own, and seen from every scope: so they are found, and the refusal to change
        them says what they are."""
        if self.viewer is self.scope or await self.memories.store.get(self.viewer, memory_id):
            return self.viewer
        return self.scope

    async def _take_out(self, memory_id: str, sessions: Sessions) -> None:
        failed: Exception | None = None
        for owner in self.owners:
            try:
                await sessions.forget_memory(owner, memory_id)
            except Exception as error:  # noqa: BLE001 - whatever it is, the memory is erased: raised below
                failed = error
        if failed is not None:
            known = failed if isinstance(failed, StorageError) else StorageError("The server made a mistake.")
            raise StorageError(
                f"{memory_id} is erased, but its words are still in sessions, until the gateway can take "
                f"them out: {known.message}",
                code=known.code,
            ) from failed

    def _by(self, reason: str) -> Attribution:
        return Attribution(self.actor, reason, self.turn_id)
