"""What becomes of something worth remembering: new, known already, or in the place of what it contradicts."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Sequence

from gateway.errors import DuplicateMemory, MemoryFull
from gateway.ids import now_ms
from gateway.lexical import plain_form, query_tokens
from gateway.memory.corrections import Corrections
from gateway.memory.keeper.extract import Extract
from gateway.memory.memories import By, Changed, Memories
from gateway.memory.nearness import Nearness, compare
from gateway.memory.record import NewMemory
from gateway.storage.memories import Evidence, Filter, MemoryRow, OwnerType, Scope

NEAR = 10
"""Memories that a new one is compared with."""
MOST_WORDS = 64
"""Words by which these are looked for."""

Near = tuple[MemoryRow, Nearness]

_KNOWN = Filter(statuses=("active", "suppressed", "frozen"))
_OF_WORK = frozenset({"project_decision", "discussion_conclusion", "action_item", "constraint", "risk"})


class Keeping:
    """Keeps what one session holds; `said_at` is when its last message was said, Unix ms. `changed` is what
    came of it, `untouched` why the rest changed nothing, `full` that there was no room for something."""

    def __init__(
        self, memories: Memories, corrections: Corrections, scope: Scope, *, session_id: str, said_at: int
    ) -> None:
        self._memories = memories
        self._corrections = corrections
        self._scope = scope
        self._session_id = session_id
        self._said_at = said_at
        self._began = now_ms()
        self._seen: Counter[tuple[int, str]] = Counter()
        self.changed: list[Changed] = []
        self.untouched: Counter[str] = Counter()
        self.full: MemoryFull | None = None

    async def keep(self, found: Extract, by: By) -> None:
        """Reinforces the memory that says the same, replaces one that it contradicts, else adds one. Raises
        StorageError."""
        key = self._key(found)
        near = await near_to(self._memories, self._scope, found.content)
        changed = await self._keep(found, by, key, near)
        if isinstance(changed, str):
            self.untouched[changed] += 1
        else:
            self.changed += changed

    async def _keep(self, found: Extract, by: By, key: str, near: Sequence[Near]) -> Sequence[Changed] | str:
        for row, nearness in near:
            if nearness == "same":
                return await self._again(row, found, by)
        for row, nearness in near:
            if nearness == "contradicts" and self._is_own(row):
                return await self._instead_of(row, found, by)
        return await self._add(found, by, key)

    async def _again(self, row: MemoryRow, found: Extract, by: By) -> Sequence[Changed] | str:
        # What a person froze stays frozen, and one message is evidence once, however often it is read.
        if row.source == "document" or row.status == "frozen" or found.position in await self._places(row):
            return "known"
        again = NewMemory(
            row.content,
            row.type,
            owner_type=row.owner_type,
            owner_id=row.owner_id,
            visibility=row.visibility,
            source="conversation",
            importance=row.importance,
            confidence=found.candidate.confidence,
        )
        return [await self._memories.save(self._scope, again, by, evidence=[self._evidence(found)])]

    async def _instead_of(self, row: MemoryRow, found: Extract, by: By) -> Sequence[Changed] | str:
        places = await self._places(row)
        if max(places) >= found.position if places else row.updated_at > self._said_at:
            return "outdated"
        return await self._corrections.correct(
            self._scope,
            row.id,
            "replace",
            by,
            evidence=self._evidence(found),
            new_content=found.content,
            source="conversation",
        )

    async def _add(self, found: Extract, by: By, key: str) -> Sequence[Changed] | str:
        candidate = found.candidate
        new = NewMemory(
            candidate.content,
            candidate.type,
            owner_type=self._owner(candidate.type),
            source="conversation",
            importance=candidate.importance,
            confidence=candidate.confidence,
            tags=candidate.tags,
        )
        try:
            changed = await self._memories.save(
                self._scope, new, by, evidence=[self._evidence(found)], key=key
            )
        except DuplicateMemory:
            return "forgotten"  # what these words made was deleted since
        except MemoryFull as full:
            self.full = full
            return "full"
        return "known" if changed.repeated else [changed]

    def _owner(self, kind: str) -> OwnerType:
        """What is about work belongs to the project, or to the role that it was done with."""
        if kind not in _OF_WORK:
            return "user"
        if self._scope.project_id is not None:
            return "project"
        return "role" if self._scope.role_id is not None else "user"

    def _is_own(self, row: MemoryRow) -> bool:
        """Whether what the user says may replace it without being asked."""
        return row.user_id == self._scope.user_id and row.recallable and row.source != "document"

    def _evidence(self, found: Extract) -> Evidence:
        return Evidence(self._session_id, found.position, found.quote)

    async def _places(self, row: MemoryRow) -> Sequence[int]:
        """Positions of this session's messages that are evidence of it."""
        evidence = await self._memories.store.evidence(row.id)
        return [each.position for each in evidence if each.session_id == self._session_id]

    def _key(self, found: Extract) -> str:
        """The same for the n-th thing that a sentence of a message tells, in whatever words it is told."""
        place = (found.position, plain_form(found.sentence))
        number = self._seen[place]
        self._seen[place] += 1
        named = "\0".join((self._session_id, *map(str, place), str(number)))
        return hashlib.sha256(named.encode()).hexdigest()


async def near_to(memories: Memories, scope: Scope, content: str) -> Sequence[Near]:
    """The memories that the scope sees, also those in quarantine and frozen ones, with the most words of
    `content`, and how they stand to it."""
    words = (await asyncio.to_thread(query_tokens, content))[:MOST_WORDS]
    rows = [match.row for match in await memories.store.match(scope, words, _KNOWN, limit=NEAR)]
    # In a thread: long texts are compared word by word.
    return await asyncio.to_thread(lambda: [(row, compare(row.content, content)) for row in rows])
