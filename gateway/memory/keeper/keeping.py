"""What becomes of something worth suggestions: new, known already, or in the place of what it contradicts."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from gateway.errors import DuplicateMemory, MemoryFull, RequestRefused
from gateway.ids import now_ms
from gateway.lexical import plain_form, query_tokens
from gateway.memory.corrections.corrections import Corrections
from gateway.memory.keeper.extract import Extract, content_words
from gateway.memory.likeness.nearness import Nearness, compare, is_same, replaces
from gateway.memory.memories import By, Changed, Memories
from gateway.memory.record import NewMemory, digest_of
from gateway.storage.memories import Evidence, Filter, Forgotten, MemoryRow, OwnerType, Scope

NEAR = 10
"""Memories that a new one is compared with."""
MAX_WORDS = 64
"""Words by which these are looked for."""
MAX_FORGOTTEN = 2_000
"""Memories that were forgotten since, the last ones, that are heeded."""

Near = tuple[MemoryRow, Nearness]

When = Callable[[str], Awaitable[int]]
"""When the turn of that id began, Unix ms."""

_KNOWN = Filter(statuses=("active", "suppressed", "frozen"))
_OF_WORK = frozenset({"project_decision", "discussion_conclusion", "action_item", "constraint", "risk"})


class Keeping:
    """Keeps what one session holds, in the order in which it was said. `changed` is what came of it,
    `untouched` why the rest changed nothing, `full` that there was no room for something."""

    def __init__(
        self,
        memories: Memories,
        corrections: Corrections,
        scope: Scope,
        *,
        session_id: str,
        when: When | None,
    ) -> None:
        self._memories = memories
        self._corrections = corrections
        self._scope = scope
        self._session_id = session_id
        self._when = when
        self._began = now_ms()
        self._times: dict[str, int] = {}
        self._forgotten: Sequence[Forgotten] | None = None
        self._seen: Counter[tuple[int, str]] = Counter()
        self.changed: list[Changed] = []
        self.untouched: Counter[str] = Counter()
        self.full: MemoryFull | None = None

    async def keep(self, found: Extract, by: By) -> None:
        """Reinforces the memory that says the same, replaces one that it corrects, else adds one. What is
        refused is passed over. Raises StorageError."""
        key = self._key(found)
        near = await near_to(self._memories, self._scope, found.content)
        try:
            changed = await self._keep(found, by, key, near)
        except MemoryFull as full:
            self.full, changed = full, "full"
        except RequestRefused as refused:  # somebody else changed what is near meanwhile, for instance
            changed = refused.code
        if isinstance(changed, str):
            self.untouched[changed] += 1
        else:
            self.changed += changed

    async def _keep(self, found: Extract, by: By, key: str, near: Sequence[Near]) -> Sequence[Changed] | str:
        for row, nearness in near:
            if nearness == "same":
                return await self._again(row, found, by)
        said_at = await self._said_at(by)
        if await self._is_forgotten(found, said_at):
            return "forgotten"
        for row, _ in near:
            if self._is_own(row) and replaces(row.content, found.content, found.clause):
                return await self._instead_of(row, found, by, said_at)
        return await self._add(found, by, key)

    async def _said_at(self, by: By) -> int:
        if self._when is None or by.turn_id is None:
            return self._began
        if by.turn_id not in self._times:
            self._times[by.turn_id] = await self._when(by.turn_id)
        return self._times[by.turn_id]

    async def _is_forgotten(self, found: Extract, said_at: int) -> bool:
        """Whether the same was forgotten, or replaced, after it was said."""
        if self._forgotten is None:  # by then: what follows was said later
            self._forgotten = await self._memories.store.forgotten(
                self._scope, since=said_at, limit=MAX_FORGOTTEN
            )
        later = [each for each in self._forgotten if each.at > said_at]
        return bool(later) and await asyncio.to_thread(_says_one_of, found, later)

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

    async def _instead_of(
        self, row: MemoryRow, found: Extract, by: By, said_at: int
    ) -> Sequence[Changed] | str:
        places = await self._places(row)
        if max(places) >= found.position if places else row.updated_at > said_at:
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
        evidence = await self._memories.store.evidence(self._scope, row.id)
        return [each.position for each in evidence if each.session_id == self._session_id]

    def _key(self, found: Extract) -> str:
        """The same for the n-th thing that a sentence of a message tells, in whatever words it is told."""
        place = (found.position, plain_form(found.sentence))
        number = self._seen[place]
        self._seen[place] += 1
        named = "\0".join((self._session_id, *map(str, place), str(number)))
        return hashlib.sha256(named.encode()).hexdigest()


def _says_one_of(found: Extract, forgotten: Sequence[Forgotten]) -> bool:
    digests = {digest_of(found.content), digest_of(found.quote)}
    words = content_words(found.content)
    return any(
        each.digest in digests
        or (
            2 * len(words & content_words(each.content)) >= len(words)
            and is_same(each.content, found.content)
        )
        for each in forgotten
    )


async def near_to(memories: Memories, scope: Scope, content: str) -> Sequence[Near]:
    """The memories that the scope sees, also those in quarantine and frozen ones, with the most words of
    `content`, and how they stand to it."""
    words = (await asyncio.to_thread(query_tokens, content))[:MAX_WORDS]
    rows = [match.row for match in await memories.store.match(scope, words, _KNOWN, limit=NEAR)]
    # In a thread: long texts are compared word by word.
    return await asyncio.to_thread(lambda: [(row, compare(row.content, content)) for row in rows])
