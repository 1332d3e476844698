"""The operations on memories: for the model's tool, HTTP, MCP, the command line and the extractor."""

import asyncio
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Unpack

from gateway.errors import DuplicateMemory, InvalidRequest, MemoryFull, NotFound
from gateway.ids import new_memory_id, now_ms
from gateway.lexical import query_tokens
from gateway.memory import validation
from gateway.memory.changes import (
    Attribution,
    Changed,
    CompanionChanges,
    Details,
    EntailedChanges,
    MemorySources,
)
from gateway.memory.reinforcement import is_stated, reinforced, statements
from gateway.memory.validation import NewMemory
from gateway.memory.versions import apply_changes, check_version, next_version, retry_conflicts
from gateway.storage.memories import AllScopes, Change, Filter, Link, MemoryRow, Operation, Scope, Viewer

if TYPE_CHECKING:
    from gateway.storage.memories.store import MemoryStore

MAX_DEPENDS_ON = 20
"""Memories on which one call may make another one depend."""
CONFIRMED_FIELDS = frozenset({"content", "summary", "context", "decisions", "refs"})
"""The fields that a person reads before they confirm a memory."""
MAX_WORDS = 64
"""Words of a text that are searched for at most, to find the memories that resemble it."""
CANDIDATES = 5
"""Candidates for a merge that a refusal at the limit names."""
REPLACEABLE = Filter(statuses=("active", "suppressed"), quarantined=False, runtime=True)
"""The memories that count for the limit."""


class Memories:
    """One per process. `on_change` is called with every change."""

    def __init__(
        self, store: "MemoryStore", *, most: int, on_change: Callable[[Changed], None] = lambda _: None
    ) -> None:
        self.store = store
        self.most = most
        self._on_change = on_change

    async def save(
        self,
        scope: Scope,
        new: NewMemory,
        by: Attribution,
        *,
        viewer: Viewer | None = None,
        companion_changes: CompanionChanges | None = None,
        **basis: Unpack[MemorySources],
    ) -> Changed:
        """Stores a memory. A known memory with the same words is reinforced instead: its evidence grows, and
        with the quotes its confidence; a repetition with the same `key` changes nothing. The memories that it
        `depends_on` must be seen by the viewer (absent: the scope): when one of them is corrected, the new
        one is flagged. `companion_changes` gives the other changes of its transaction, and further links of
        it; also for a known memory that is reinforced, unless it is frozen.

        Raises:
            errors.InvalidRequest: see `validation.make`.
            errors.NotFound: there is no memory that it could depend on.
            errors.MemoryFull: see `MemoryStore.write`; of live ones, `details` has candidates for a merge.
            errors.DuplicateMemory: the `key` made a memory that was forgotten since.
        """
        evidence, key = basis.get("evidence", ()), basis.get("key")
        row = validation.make(new, scope, new_memory_id(), now_ms())
        row = replace(row, evidence_count=statements(evidence))
        links = await self._dependence(viewer or scope, row.id, basis.get("depends_on", ()))
        others, more = await companion_changes(row) if companion_changes else ((), ())
        links = [*links, *more]
        step = await self.plan(
            row, "remembered", by, evidence=evidence, stated_by=scope.user_id, links=links, key=key
        )
        try:
            await self.apply([*others, step], by)
        except DuplicateMemory as duplicate:
            return await self._existing(scope, duplicate, step, by, companion_changes)
        except MemoryFull as full:
            raise await self._full(scope, full) from None
        return Changed(row, "remembered", by)

    async def get(self, viewer: Viewer, memory_id: str) -> MemoryRow:
        """Raises errors.NotFound (memory_not_found)."""
        found = await self._seen(viewer, memory_id)
        if found is None:
            raise not_found(memory_id)
        return found

    async def details(self, viewer: Viewer, memory_id: str) -> Details:
        """Raises errors.NotFound."""
        row = await self.get(viewer, memory_id)
        return Details(
            row,
            await self.store.versions(viewer, memory_id),
            await self.store.evidence(viewer, memory_id),
            await self.store.links(memory_id),
        )

    async def list(
        self, viewer: Viewer, which: Filter, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[MemoryRow]:
        """Newest first."""
        return await self.store.list(viewer, which, limit=limit, before=before)

    async def resembling(
        self, viewer: Viewer, text: str, which: Filter, *, limit: int
    ) -> Sequence[MemoryRow]:
        """Those with the most words of a text, the best first."""
        words = (await asyncio.to_thread(query_tokens, text))[:MAX_WORDS]
        return [match.row for match in await self.store.match(viewer, words, which, limit=limit)]

    async def edit(
        self,
        viewer: Viewer,
        memory_id: str,
        changes: dict[str, Any],
        by: Attribution,
        *,
        version: int | None = None,
        operation: Operation = "updated",
        depends_on: Sequence[str] = (),
        entailed_changes: EntailedChanges | None = None,
    ) -> Sequence[Changed]:
        """Changes fields of a memory by name: content, summary, type, importance, confidence, tags, pinned,
        visibility, context, decisions, refs, status, quarantined, flagged. With `version` only while it is
        at that one. From now on it follows from those that it `depends_on` too. With another content the
        `entailed_changes`, those of what the old one entails, are made in the same transaction.

        Raises:
            errors.NotFound, errors.MemoryChanged, errors.InvalidRequest; (memory_unconfirmed) it waits for a
                person to confirm it, and only its user may change it meanwhile;
            errors.DuplicateMemory: another one has the same content.
        """

        def change(row: MemoryRow) -> MemoryRow:
            if row.quarantined and changes.keys() & CONFIRMED_FIELDS and by.actor != viewer.user_id:
                raise InvalidRequest(
                    f"{row.id} waits for its user to confirm it: what it says cannot be changed before that.",
                    code="memory_unconfirmed",
                )
            if "content" in changes and by.actor == viewer.user_id:
                return apply_changes(row, {"origin": "user", "tools": (), **changes})
            if operation == "confirmed" and row.origin != "user":
                return apply_changes(row, {"origin": "confirmed", **changes})
            return apply_changes(row, changes)

        links = await self._dependence(viewer, memory_id, depends_on)
        return await self._change(
            viewer,
            memory_id,
            change,
            by,
            operation,
            version=version,
            entailed_changes=entailed_changes,
            links=links,
        )

    async def confirm(
        self, viewer: Viewer, memory_id: str, by: Attribution, *, version: int | None = None
    ) -> Changed:
        """Takes it out of quarantine: from now on it is recalled. Raises errors.NotFound,
        errors.MemoryChanged, errors.MemoryFull."""
        changes = {"quarantined": False, "flagged": None}
        return (await self.edit(viewer, memory_id, changes, by, version=version, operation="confirmed"))[0]

    async def delete(
        self, viewer: Viewer, memory_id: str, by: Attribution, *, version: int | None = None
    ) -> Changed:
        """Forgets it: it is out of every list and index. It can be restored until it is erased, or removed
        RESTORABLE_FOR later. Raises errors.NotFound, errors.MemoryChanged."""
        return (await self._change(viewer, memory_id, lambda row: row, by, "deleted", version=version))[0]

    async def restore(
        self,
        viewer: Viewer,
        memory_id: str,
        by: Attribution,
        *,
        to: int | None = None,
        version: int | None = None,
    ) -> Changed:
        """Makes a memory again what it was at the version `to`; None: what it was when it was deleted, which
        changes nothing where it is not. What was corrected because of it stays so.

        Raises:
            errors.NotFound: it is not there, or was erased; (memory_version_not_found) it has no such version
                any more.
            errors.MemoryChanged; errors.MemoryFull; errors.DuplicateMemory: another one has that content.
        """

        async def once() -> Changed:
            versions = await self.store.versions(viewer, memory_id)
            if not versions:
                raise not_found(memory_id)
            last = versions[-1]
            check_version(memory_id, last.version, version)
            if to is None and last.operation != "deleted":
                return Changed(last.row, "restored", by, repeated=True)
            was = next((each.row for each in versions if each.version == (to or last.version)), None)
            if was is None:
                raise NotFound(f"{memory_id} has no version {to} any more.", code="memory_version_not_found")
            if was.superseded_by is not None and await self._seen(viewer, was.superseded_by) is None:
                was = replace(was, superseded_by=None)  # it was erased since
            after = next_version(replace(was, version=last.version))
            return (await self.apply([await self.plan(after, "restored", by)], by))[0]

        return await retry_conflicts(once)

    async def erase(
        self,
        viewer: Viewer,
        memory_id: str,
        by: Attribution,
        *,
        owners: Collection[str] = (),
        version: int | None = None,
    ) -> Changed:
        """Removes it for good, from its versions too; also one that was deleted. `owners` are the users whose
        sessions may have its words. Raises errors.NotFound, errors.MemoryChanged."""
        versions = await self.store.versions(viewer, memory_id)
        if not versions or not await self.store.erase(viewer, memory_id, owners=owners, version=version):
            raise not_found(memory_id)
        changed = Changed(versions[-1].row, "erased", by)
        self._on_change(changed)
        return changed

    async def apply(self, steps: Sequence[Change], by: Attribution | None = None) -> Sequence[Changed]:
        """Several changes in one transaction, with the cause that `by` names. Raises what `MemoryStore.write`
        raises."""
        await self.store.write(steps, most=self.most)
        changed = [
            Changed(
                each.row,
                each.operation,
                Attribution(each.actor, each.reason, each.turn_id, by and by.cause, by.sources if by else ()),
            )
            for each in steps
        ]
        for each in changed:
            self._on_change(each)
        return changed

    async def plan(self, row: MemoryRow, operation: Operation, by: Attribution, **more: Any) -> Change:
        """A change for `apply`, with the words by which the memory is found."""
        words = await asyncio.to_thread(validation.indexed, row)
        return Change(row, operation, by.actor, by.reason, words, turn_id=by.turn_id, **more)

    async def _change(
        self,
        viewer: Viewer,
        memory_id: str,
        change: Callable[[MemoryRow], MemoryRow],
        by: Attribution,
        operation: Operation,
        *,
        version: int | None = None,
        entailed_changes: EntailedChanges | None = None,
        others: Sequence[Change] = (),
        **more: Any,
    ) -> Sequence[Changed]:
        async def once() -> Sequence[Changed]:
            row = await self.get(viewer, memory_id)
            if row.source == "document":
                raise InvalidRequest(f"{memory_id} is a document: its file is what can be changed.")
            check_version(memory_id, row.version, version)
            after = next_version(change(row))
            step = await self.plan(after, operation, by, stated_by=viewer.user_id, **more)
            entailed = (
                await entailed_changes(row)
                if entailed_changes is not None and after.digest != row.digest
                else ()
            )
            return await self.apply([step, *others, *entailed], by)

        return await retry_conflicts(once)

    async def _existing(
        self,
        scope: Scope,
        duplicate: DuplicateMemory,
        step: Change,
        by: Attribution,
        companion_changes: CompanionChanges | None,
    ) -> Changed:
        new, evidence, details = step.row, step.evidence, duplicate.details or {}
        # One with the same content has the same audience. The right to write for it is no right to read it: a
        # user may save for a role in which they are not. So it is looked for among all that the user has.
        viewer = AllScopes(scope.user_id, scope.households) if details["same"] == "digest" else scope
        known = await self._seen(viewer, str(details["id"]))
        if known is None:
            raise duplicate  # the request is an old one: what it made was forgotten since
        stated = is_stated(new, evidence)
        if details["same"] == "key" or ((new.quarantined or known.quarantined) and not stated):
            # A repetition of the request; or a tool or model repeats what is known, or claimed.
            return Changed(known, "remembered", by, repeated=True)

        def reinforce(row: MemoryRow) -> MemoryRow:
            return reinforced(
                row,
                evidence,
                importance=max(row.importance, new.importance),
                confidence=max(row.confidence, new.confidence),
                # A person's own words confirm what a tool only claimed.
                quarantined=row.quarantined and new.quarantined,
                origin="confirmed" if stated and row.origin != "user" else row.origin,
            )

        own = [each for each in step.links if each.relation == "depends_on" and each.from_id == new.id]
        links = [replace(link, from_id=known.id) for link in own if link.to_id != known.id]
        others: Sequence[Change] = ()
        if companion_changes is not None and known.status != "frozen":
            others, further = await companion_changes(known)
            links += further
        more: dict[str, Any] = {"evidence": evidence, "links": links, "key": step.key, "others": others}
        try:
            return (await self._change(viewer, known.id, reinforce, by, "reinforced", **more))[0]
        except DuplicateMemory:  # of the key: the same request came twice at once
            return Changed(known, "remembered", by, repeated=True)

    async def _dependence(self, viewer: Viewer, memory_id: str, on: Sequence[str]) -> Sequence[Link]:
        """Raises errors.NotFound, errors.InvalidRequest."""
        on = list(dict.fromkeys(on))
        if memory_id in on or len(on) > MAX_DEPENDS_ON:
            raise InvalidRequest(f"A memory depends on at most {MAX_DEPENDS_ON} others at once.")
        there = {row.id for row in await self.store.get(viewer, *on)}
        if missing := [each for each in on if each not in there]:
            raise not_found(missing[0])
        return [Link(memory_id, each, "depends_on") for each in on]

    async def _seen(self, viewer: Viewer, memory_id: str) -> MemoryRow | None:
        found = await self.store.get(viewer, memory_id)
        return found[0] if found else None

    async def _full(self, scope: Scope, full: MemoryFull) -> MemoryFull:
        if (full.details or {}).get("of") != "live":
            return full  # no merge makes room
        # Not the households': those may be others', and make no room here.
        own = scope._replace(households=())
        weakest = await self.store.weighed(own, REPLACEABLE, limit=CANDIDATES, lightest=True)
        examples = "; ".join(f"{row.id} ({row.summary[:60]})" for row in weakest)
        return MemoryFull(
            f"{full.message} Merge or delete some first{f', for example: {examples}' if examples else ''}.",
            details={**(full.details or {}), "candidates": [row.id for row in weakest]},
        )


def not_found(memory_id: str) -> NotFound:
    return NotFound(
        f"There is no memory {memory_id[:64]}. List or search memories to see their ids.",
        code="memory_not_found",
    )
