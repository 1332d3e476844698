"""The operations on what is remembered of a user. They check whose it is, and whose session is named."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from gateway.auth import Principal
from gateway.events.content import Omission
from gateway.ids import now_ms
from gateway.memory.changes import Changed, Details
from gateway.memory.corrections.corrections import Action
from gateway.memory.export import export
from gateway.memory.memories import not_found
from gateway.memory.retrieval_gate.gate import RetrievalDecision
from gateway.memory.search.as_typed import find_as_typed
from gateway.memory.search.query import Hit, MemoryQuery, SearchResult
from gateway.memory.search.ranking import freshness, rendered_tokens
from gateway.memory.services import MemoryServices
from gateway.memory.validation import NewMemory
from gateway.model.side_calls import CallContext
from gateway.service.dependencies import Dependencies
from gateway.service.memory_access import MemoryAccess, ScopeIds
from gateway.service.session_events import SessionEvents
from gateway.storage.memories import Evidence, Filter, MemoryRow, MemoryVersion, Tombstone, Viewer


class UserMemories:
    """One per process. With the memory switched off every operation raises errors.NotFound (memory_off)."""

    def __init__(self, deps: Dependencies, events: SessionEvents) -> None:
        self._deps = deps
        self._events = events
        self._for = MemoryAccess(deps)

    @property
    def services(self) -> MemoryServices:
        """What the tool `manage_memory` works on. Raises errors.NotFound (memory_off)."""
        return self._for.services

    # What a message needs, and what there is for it

    async def decide(
        self, who: Principal, scope_ids: ScopeIds, message: str, message_count: int
    ) -> RetrievalDecision:
        """Whether memories help with a message, of which kind, and how much of them. Raises errors.NotFound,
        errors.Forbidden."""
        scope = await self._for.scope(who, scope_ids)
        return await self._for.services.retrieval_gate.decide(
            message,
            message_count=message_count,
            project_id=scope.project_id,
            context=CallContext(who.user_id, scope.session_id),
        )

    async def find(self, who: Principal, scope_ids: ScopeIds, query: MemoryQuery) -> SearchResult:
        """What fits the query. Raises errors.NotFound, errors.Forbidden, errors.StorageError."""
        return await self._for.services.searcher.find(await self._for.scope(who, scope_ids), query)

    async def recall(
        self, who: Principal, scope_ids: ScopeIds, ids: Sequence[str], budget_tokens: int
    ) -> SearchResult:
        """Those of `ids` that may be recalled there, in this order: in full as far as they fit the budget,
        else by their summary. They do not count as used: a person looks at them. Raises as `find` does."""
        rows = await self._for.services.store.get(await self._for.scope(who, scope_ids), *ids)
        now, tokens, hits, omissions = now_ms(), 0, list[Hit](), list[Omission]()
        for row in rows:
            if not row.recallable:
                continue
            full = Hit(row, 0, None, None, freshness(row, now))
            fitting = (full, replace(full, form="summary"))
            hit = next((each for each in fitting if tokens + rendered_tokens(each) <= budget_tokens), None)
            if hit is not full:
                omissions.append(Omission(id=row.id, reason="too_long" if hit else "budget"))
            if hit is not None:
                tokens += rendered_tokens(hit)
                hits.append(hit)
        return SearchResult(hits, omissions, sum(each.reason == "budget" for each in omissions), tokens)

    async def quotes(self, who: Principal, row: MemoryRow) -> Sequence[Evidence]:
        """The user's messages that are evidence for `row`."""
        store = self._for.services.store
        return await store.evidence(self._for.own(who), row.id) if row.evidence_count else ()

    # One memory

    async def save(
        self,
        who: Principal,
        scope_ids: ScopeIds,
        new: NewMemory,
        *,
        evidence: Sequence[Evidence],
        depends_on: Sequence[str],
        reason: str,
    ) -> Changed:
        """Remembers something, in the place of what it corrects, or reinforces what is remembered word for
        word already.

        Raises:
            errors.NotFound, errors.Forbidden: a session, a user, or a memory that it depends on, that is not
                the caller's.
            errors.InvalidRequest: what `validation.make` raises; (evidence_not_found) the quote is in no
                message.
            errors.MemoryFull: with candidates for a merge.
        """
        editor = self._for.editor(who, await self._for.scope(who, scope_ids))
        if new.owner_type == "session" and new.owner_id is not None:
            await self._deps.sessions.get(new.owner_id, who.user_id)
        evidence = await self._for.checked(who, evidence)
        changed = await editor.save(new, reason, evidence=evidence, depends_on=depends_on)
        if scope_ids.session_id is not None:
            await self._events.add_changes(scope_ids.session_id, who.user_id, changed)
        return changed[0]

    async def list(
        self,
        who: Principal,
        scope_ids: ScopeIds,
        which: Filter,
        *,
        limit: int,
        before: tuple[int, str] | None = None,
        words: str | None = None,
    ) -> Sequence[MemoryRow]:
        """All of the user's memories, or those that a role, a project or a session sees; the last changed
        first, those with any of `words` the best match first, the last word counting from its beginning.
        Raises errors.NotFound, errors.Forbidden."""
        services, scope = self._for.services, await self._for.scope(who, scope_ids)
        narrowed = scope.role_id or scope.project_id or scope.session_id
        viewer: Viewer = scope if narrowed else self._for.all_scopes(who)
        if words is None:
            return await services.memories.list(viewer, which, limit=limit, before=before)
        return await find_as_typed(services.store, viewer, words, which, limit=limit)

    async def deleted(
        self, who: Principal, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[Tombstone]:
        """Deleted memories that can be restored or erased, the last first. Raises errors.NotFound."""
        return await self._for.services.store.tombstones(
            self._for.all_scopes(who), limit=limit, before=before
        )

    async def read(self, who: Principal, memory_id: str) -> Details:
        """Everything about a memory, or a document. Raises errors.NotFound."""
        return await self._for.services.memories.details(await self._for.viewer(who, memory_id), memory_id)

    async def versions(self, who: Principal, memory_id: str) -> Sequence[MemoryVersion]:
        """All that a memory was, the oldest first, also of a deleted one. Raises errors.NotFound."""
        services = self._for.services
        versions = await services.store.versions(self._for.all_scopes(who), memory_id)
        if not versions:
            raise not_found(memory_id)
        return versions

    async def update(
        self, who: Principal, memory_id: str, changes: dict[str, Any], *, version: int | None, reason: str
    ) -> Changed:
        """Raises what `Memories.edit` raises."""
        changed = await self._for.editor(who).edit(memory_id, changes, reason, version=version)
        return changed[0]

    async def delete(
        self, who: Principal, memory_id: str, *, version: int | None, session_id: str | None = None
    ) -> None:
        """The log of `session_id` gets an event of it. Raises errors.NotFound, errors.MemoryChanged."""
        deleting = partial(self._for.editor(who).delete, memory_id, "Deleted by its user.", version=version)
        await self._logged(who, session_id, deleting)

    async def restore(
        self,
        who: Principal,
        memory_id: str,
        *,
        to: int | None,
        version: int | None,
        session_id: str | None = None,
    ) -> Changed:
        """The log of `session_id` gets an event of it. Raises what `Memories.restore` raises."""
        editor = self._for.editor(who)
        restoring = partial(editor.restore, memory_id, "Restored by its user.", to=to, version=version)
        return await self._logged(who, session_id, restoring)

    async def erase(self, who: Principal, memory_id: str, *, version: int | None) -> None:
        """Raises what `Editor.erase` raises."""
        await self._for.editor(who).erase(memory_id, "Erased by its user.", version=version)

    async def forget_session(self, owner: str, session_id: str) -> None:
        """Erases what is remembered for a session that was deleted. Raises errors.StorageError."""
        if (services := self._deps.memory) is not None:
            await services.store.forget_session(owner, session_id)

    async def confirm(
        self, who: Principal, memory_id: str, *, version: int | None, session_id: str | None = None
    ) -> Changed:
        """As `delete`."""
        confirming = partial(
            self._for.editor(who).confirm, memory_id, "Confirmed by its user.", version=version
        )
        return await self._logged(who, session_id, confirming)

    async def _logged(
        self, who: Principal, session_id: str | None, change: Callable[[], Awaitable[Changed]]
    ) -> Changed:
        """What `change` gives; the log of that session of theirs gets an event. Raises errors.NotFound."""
        if session_id is None:
            return await change()
        await self._deps.sessions.get(session_id, who.user_id)
        changed = await change()
        if changed.repeated:
            return changed
        await self._events.add_changes(session_id, who.user_id, [changed])
        return changed

    # Several at once

    async def correct(
        self,
        who: Principal,
        memory_id: str,
        action: Action,
        *,
        evidence: Evidence | None,
        new_content: str | None,
        version: int | None,
        reason: str,
    ) -> Sequence[Changed]:
        """As `Editor.correct`. Raises errors.InvalidRequest (evidence_not_found) when the quote is in no
        message."""
        checked = await self._for.checked(who, [evidence] if evidence else [])
        return await self._for.editor(who).correct(
            memory_id,
            action,
            reason,
            evidence=checked[0] if checked else None,
            new_content=new_content,
            version=version,
        )

    async def merge(self, who: Principal, ids: Sequence[str]) -> Sequence[Changed]:
        """The new memory, then those that it replaces. Raises what `Editor.merge` raises."""
        return await self._for.editor(who).merge(ids, "Merged by their user.")

    def export(self, who: Principal) -> AsyncGenerator[bytes]:
        """The user's memories as a file (see gateway/memory/export.py), in pieces. Raises
        errors.StorageError on the way."""
        return export(self._for.services.store, self._for.all_scopes(who))
