"""The changes that a person makes to memories, over HTTP or on the command line, or a model with its tool.
The words of an erased memory are taken out of the sessions as well."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from gateway.errors import DuplicateMemory, InvalidRequest, StorageError
from gateway.events.memory_skill_artifact import Cause
from gateway.memory import validation
from gateway.memory.changes import Attribution, Changed, MemorySources
from gateway.memory.corrections.cascade import flags, replacement_changes
from gateway.memory.corrections.contradictions import Answer, answer_changes
from gateway.memory.corrections.corrections import OUTCOMES, Action, Correction, merge_of
from gateway.memory.corrections.merging import MAX_MERGED, MIN_MERGED
from gateway.memory.memories import Memories
from gateway.memory.sentences import clause_on
from gateway.memory.similarity.change_cues import cue_of
from gateway.memory.similarity.comparison import replaces
from gateway.memory.validation import NewMemory
from gateway.memory.versions import retry_conflicts
from gateway.storage.memories import (
    ELSEWHERE,
    Change,
    Evidence,
    Filter,
    Link,
    MemoryRow,
    MemorySource,
    Scope,
    Viewer,
)
from gateway.storage.sessions.store import Sessions

MAX_COMPARED = 10
"""Memories that a new one is compared with: those with the most of its words."""

_CORRECTABLE = Filter(recallable=True, runtime=True)


@dataclass(frozen=True, slots=True)
class Editor:
    """`scope` is where new memories are made, `viewer` sees those that can be changed; `actor`, `turn_id`,
    `cause` and `sources` are as in `Attribution`. `owners` are the users whose sessions may have the words of
    these memories, and `sessions` theirs, if they are open in this process.

    All methods raise what those of `Memories` raise, errors.NotFound and errors.MemoryChanged among them.
    `version` changes a memory only while it is at that one.
    """

    memories: Memories
    scope: Scope
    viewer: Viewer
    actor: str
    turn_id: str | None = None
    cause: Cause | None = None
    sources: tuple[str, ...] = ()
    owners: frozenset[str] = frozenset()
    sessions: Sessions | None = None

    async def save(
        self, new: NewMemory, reason: str, *, stated: str = "", **basis: Unpack[MemorySources]
    ) -> Sequence[Changed]:
        """Stores a memory; if one has the same content already, that one is reinforced. In the same
        transaction the memory replaces those for which `comparison.replaces` holds, of the same user and with
        the same audience; their pin and their importance stay. `stated` is the user's message that led to it,
        "" when there is none. What waits to be confirmed or comes from elsewhere replaces nothing.

        Returns:
            The memory; then those that it replaced, and those that were flagged, as far as the scope sees
            them.
        """
        by = self._by(reason)

        async def once() -> Sequence[Changed]:
            old = await self._replaced_by(new, stated)
            if not old:
                return [await self.memories.save(self.scope, new, by, viewer=self.viewer, **basis)]
            others: list[Change] = []

            async def companion_changes(row: MemoryRow) -> tuple[Sequence[Change], Sequence[Link]]:
                others[:], links = await replacement_changes(self.memories, self.viewer, old, row, by)
                return others, links

            heavy = replace(
                new,
                pinned=new.pinned or any(row.pinned for row in old),
                importance=max(new.importance, *(row.importance for row in old)),
            )
            saved = await self.memories.save(
                self.scope, heavy, by, viewer=self.viewer, companion_changes=companion_changes, **basis
            )
            if saved.repeated or others[0].row.superseded_by != saved.row.id:
                return [saved]
            seen = [each for each in others if _sees(self.scope, each.row)]
            return [
                saved,
                *(Changed(each.row, each.operation, replace(by, reason=each.reason)) for each in seen),
            ]

        return await retry_conflicts(once)

    async def edit(
        self,
        memory_id: str,
        changes: dict[str, Any],
        reason: str,
        *,
        version: int | None = None,
        depends_on: Sequence[str] = (),
    ) -> Sequence[Changed]:
        """Changes fields of a memory as `Memories.edit` does, without a successor. The memory as it is now;
        with another content then those that depended on it, flagged, as far as the viewer sees them."""
        viewer, by = await self._viewer(memory_id), self._by(reason)

        async def entailed_changes(row: MemoryRow) -> Sequence[Change]:
            return await flags(self.memories, viewer, row, "updated", by)

        edited, *flagged = await self.memories.edit(
            viewer,
            memory_id,
            changes,
            by,
            version=version,
            depends_on=depends_on,
            entailed_changes=entailed_changes,
        )
        return [edited, *(each for each in flagged if _sees(viewer, each.row))]

    async def delete(self, memory_id: str, reason: str, *, version: int | None = None) -> Changed:
        viewer = await self._viewer(memory_id)
        return await self.memories.delete(viewer, memory_id, self._by(reason), version=version)

    async def restore(
        self, memory_id: str, reason: str, *, to: int | None = None, version: int | None = None
    ) -> Changed:
        """As `Memories.restore`."""
        return await self.memories.restore(self.viewer, memory_id, self._by(reason), to=to, version=version)

    async def erase(self, memory_id: str, reason: str, *, version: int | None = None) -> Changed:
        """Erases a memory, deleted or not, and takes its words out of the sessions of `owners`. The upkeep of
        the process that has these sessions does that a second time (see `Upkeep`), and then marks the erasure
        as done.

        Raises:
            errors.StorageError: the memory is not erased; or it is, and its words are still in sessions; the
                message tells which.
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
        source: MemorySource = "user",
        version: int | None = None,
        other_rows: Sequence[MemoryRow] = (),
    ) -> Sequence[Changed]:
        """Corrects one memory, in one transaction with all that follows from it; with `version` only while it
        is at that one.

        suppress: it is kept, weighs less, and its confidence is lower. freeze: it is kept, and not recalled.
        activate: neither any more, nor flagged. replace: `new_content`, which stems from `source`, is
        remembered instead of it, and of those `other_rows`, which have its audience; if that is remembered
        already, that memory takes their place. `evidence` is of the correction: the caller has checked that
        it is a quote.

        Returns:
            The memory as it is now; after a replacement its successor; then those that were flagged, as far
            as the viewer sees them.

        Raises:
            errors.NotFound (memory_not_found), errors.MemoryChanged.
            errors.InvalidRequest: new_content is missing, or given where it has no place; it has the same
                content; the memory is a document, or was replaced before (`details` has superseded_by).
            errors.DuplicateMemory: (activate) another memory has the same content meanwhile.
            errors.MemoryFull: (activate)
        """
        viewer, quotes = await self._viewer(memory_id), (evidence,) if evidence else ()
        plan = Correction(self.memories, viewer, memory_id, self._by(reason), quotes, version, other_rows)
        if action != "replace":
            if new_content is not None:
                raise InvalidRequest(f"new_content is for action replace, not {action}.")
            return await self._write(viewer, lambda: plan.restated(*OUTCOMES[action]), plan.by)
        if new_content is None:
            raise InvalidRequest("new_content is missing: say what is true instead.")
        content = validation.checked_content(new_content)
        try:
            return await self._write(viewer, lambda: plan.replaced(content, source), plan.by)
        except DuplicateMemory as duplicate:
            known = str((duplicate.details or {})["id"])
        return await self._write(viewer, lambda: plan.replaced_by_known(known), plan.by)

    async def merge(self, memory_ids: Sequence[str], reason: str) -> Sequence[Changed]:
        """Makes one memory of several that the same people see: their contents without repetition, from the
        oldest on; the highest importance and confidence; all tags, decisions and references, and what the
        viewer is quoted with. Its other fields (owner, type, …) are those of the most important memory.

        Returns:
            The new memory, then those that it replaces.

        Raises:
            errors.NotFound: one of them is not there.
            errors.InvalidRequest: fewer than MIN_MERGED or more than MAX_MERGED, and all that `merged`
                refuses.
            errors.DuplicateMemory: another memory has just their merged content.
        """
        ids = list(dict.fromkeys(memory_ids))
        if not MIN_MERGED <= len(ids) <= MAX_MERGED:
            raise InvalidRequest(
                f"{MIN_MERGED} to {MAX_MERGED} different memories can be merged, not {len(ids)}."
            )
        by = self._by(reason)
        return await self._write(self.viewer, lambda: merge_of(self.memories, self.viewer, ids, by), by)

    async def answer(self, earlier_id: str, later_id: str, answer: Answer, reason: str) -> Sequence[Changed]:
        """Says which of two memories holds that contradict each other (see `contradictions`), in one
        transaction with all that follows from it. The memory that holds (after `both` and `undecided`: the
        later one), then those that were replaced or flagged, as far as the viewer sees them. Raises
        errors.NotFound (contradiction_not_found)."""
        by = self._by(reason)
        return await self._write(
            self.viewer,
            lambda: answer_changes(self.memories, self.viewer, (earlier_id, later_id), answer, by),
            by,
        )

    async def _write(
        self, viewer: Viewer, plan: Callable[[], Awaitable[Sequence[Change]]], by: Attribution
    ) -> Sequence[Changed]:
        """Plans again when one of the memories was changed meanwhile."""

        async def once() -> Sequence[Changed]:
            return await self.memories.apply(await plan(), by)

        return [each for each in await retry_conflicts(once) if _sees(viewer, each.row)]

    async def _replaced_by(self, new: NewMemory, stated: str) -> list[MemoryRow]:
        if new.quarantined or new.origin in ELSEWHERE:
            return []
        row = validation.make(new, self.scope, "", 0)
        clause = await asyncio.to_thread(clause_on, row.content, stated)
        if cue_of(row.content, clause) is None:
            return []
        near = await self.memories.resembling(self.scope, row.content, _CORRECTABLE, limit=MAX_COMPARED)
        own = [each for each in near if (each.audience, each.user_id) == (row.audience, self.scope.user_id)]
        return await asyncio.to_thread(
            lambda: [each for each in own if replaces(each.content, row.content, clause)]
        )

    async def _viewer(self, memory_id: str) -> Viewer:
        """Documents have no owner and are visible from every scope: so they are found, and the refusal to
        change them names them as documents."""
        if self.viewer is self.scope or await self.memories.store.get(self.viewer, memory_id):
            return self.viewer
        return self.scope

    async def _take_out(self, memory_id: str, sessions: Sessions) -> None:
        failed: Exception | None = None
        for owner in self.owners:
            try:
                await sessions.forget_memory(owner, memory_id)
            except Exception as error:  # noqa: BLE001 - the memory is erased in any case: raised below
                failed = error
        if failed is not None:
            known = failed if isinstance(failed, StorageError) else StorageError("The server made a mistake.")
            raise StorageError(
                f"{memory_id} is erased, but its words are still in sessions, until the gateway can take "
                f"them out: {known.message}",
                code=known.code,
                cause=known.cause,
            ) from failed

    def _by(self, reason: str) -> Attribution:
        return Attribution(self.actor, reason, self.turn_id, self.cause, self.sources)


def _sees(viewer: Viewer, row: MemoryRow) -> bool:
    """A user's own correction may flag a memory of another of their roles; this role is not shown it."""
    return not isinstance(viewer, Scope) or row.audience in viewer.audiences
