"""Reconciling a candidate with the memories: it reinforces one, replaces one, or becomes a new one."""

import asyncio
import hashlib
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

from gateway.errors import DuplicateMemory, MemoryFull, RequestRefused
from gateway.ids import now_ms
from gateway.lexical import plain_form
from gateway.memory.changes import Attribution, Changed
from gateway.memory.editor import Editor
from gateway.memory.extraction.faithfulness import content_words
from gateway.memory.extraction.grounding import GroundedCandidate
from gateway.memory.extraction.report import LearningReport
from gateway.memory.memories import Memories
from gateway.memory.similarity.comparison import Similarity, compare, is_same, replaces
from gateway.memory.validation import MAX_TAGS, WORK_TYPES, NewMemory, digest_of
from gateway.storage.memories import Evidence, Filter, Forgotten, MemoryRow, OwnerType, Scope
from gateway.tools.policy import BROUGHT_ALONG

MAX_NEIGHBOURS = 10
"""Memories that a candidate is compared with."""
MAX_FORGOTTEN = 2_000
"""Memories that were forgotten since, the last ones, that a candidate is compared with."""

Neighbour = tuple[MemoryRow, Similarity]
"""A memory with many words of a text, and how its content compares with it."""

TurnTimes = Callable[[str], Awaitable[int]]
"""Gives the beginning of the turn of that id, Unix ms."""

_COMPARED_STATUSES = Filter(statuses=("active", "suppressed", "frozen"))


class Reconciler:
    """Reconciles the candidates of one session, in the order of their positions, and reports the changes, and
    why others changed nothing; `full` is the refusal at the limit of memories."""

    def __init__(
        self,
        memories: Memories,
        scope: Scope,
        report: LearningReport,
        turn_times: TurnTimes | None,
        label: str | None = None,
    ) -> None:
        """`label` is a tag of each memory that is new."""
        self._memories = memories
        self._scope, self._session_id = scope, report.session_id
        self._report = report
        self._turn_times = turn_times
        self._labels = () if label is None else (label,)
        self._began = now_ms()
        self._times: dict[str, int] = {}
        self._forgotten: Sequence[Forgotten] | None = None
        self._seen: Counter[tuple[int, str]] = Counter()
        self.full: MemoryFull | None = None

    def begin_excerpt(self) -> None:
        """What was forgotten is read anew: the user may forget something while the model is asked."""
        self._forgotten = None

    async def reconcile(self, candidate: GroundedCandidate, by: Attribution) -> None:
        """Reinforces the memory with the same content, replaces one that the candidate corrects, or adds one.
        A refused change is counted as dropped. Raises StorageError."""
        key = self._key(candidate)
        neighbours = await find_neighbours(self._memories, self._scope, candidate.content)
        try:
            changed = await self._reconcile(candidate, by, key, neighbours)
        except MemoryFull as full:
            self.full, changed = self.full if candidate.doubt else full, "full"
        except RequestRefused as refused:  # for instance a neighbour was changed meanwhile
            changed = refused.code
        if isinstance(changed, str):
            self._report.dropped[changed] += 1
        else:
            self._report.changed += changed

    async def _reconcile(
        self, candidate: GroundedCandidate, by: Attribution, key: str, neighbours: Sequence[Neighbour]
    ) -> Sequence[Changed] | str:
        replaced = self._replaced_by(candidate, neighbours)
        for row, similarity in neighbours:
            if similarity == "same":
                if replaced and self._is_own(row) and row.audience == replaced[0].audience:
                    return await self._replace(
                        replaced, row.content, candidate, by, await self._stated_at(by)
                    )
                return "known" if candidate.doubt else await self._reinforce(row, candidate, by)
        stated_at = await self._stated_at(by)
        if await self._is_forgotten(candidate, stated_at):
            return "forgotten"
        if replaced:
            return await self._replace(replaced, candidate.content, candidate, by, stated_at)
        return await self._add(candidate, by, key)

    def _replaced_by(
        self, candidate: GroundedCandidate, neighbours: Sequence[Neighbour]
    ) -> Sequence[MemoryRow]:
        """The user's own memories that the candidate corrects, of one audience."""
        found = [
            row
            for row, _ in neighbours
            if candidate.doubt is None
            and self._is_own(row)
            and replaces(row.content, candidate.content, candidate.clause)
        ]
        return [row for row in found if row.audience == found[0].audience]

    async def _stated_at(self, by: Attribution) -> int:
        if self._turn_times is None or by.turn_id is None:
            return self._began
        if by.turn_id not in self._times:
            self._times[by.turn_id] = await self._turn_times(by.turn_id)
        return self._times[by.turn_id]

    async def _is_forgotten(self, candidate: GroundedCandidate, stated_at: int) -> bool:
        """Whether the same content was forgotten, or replaced, after the user stated it."""
        if self._forgotten is None:  # once for an excerpt: later candidates were stated later
            self._forgotten = await self._memories.store.forgotten(
                self._scope, since=stated_at, limit=MAX_FORGOTTEN
            )
        later = [each for each in self._forgotten if each.at > stated_at]
        return bool(later) and await asyncio.to_thread(_matches_any, candidate, later)

    async def _reinforce(
        self, row: MemoryRow, candidate: GroundedCandidate, by: Attribution
    ) -> Sequence[Changed] | str:
        # A memory that a person froze stays frozen; one message is evidence once, however often it is read.
        if row.source == "document" or row.status == "frozen":
            return "known"
        if candidate.position in await self._evidence_positions(row):
            return "known"
        again = NewMemory(
            row.content,
            row.type,
            owner_type=row.owner_type,
            owner_id=row.owner_id,
            visibility=row.visibility,
            source="conversation",
            importance=row.importance,
            confidence=candidate.candidate.confidence,
        )
        return [await self._memories.save(self._scope, again, by, evidence=self._evidence(candidate))]

    async def _replace(
        self,
        rows: Sequence[MemoryRow],
        content: str,
        candidate: GroundedCandidate,
        by: Attribution,
        stated_at: int,
    ) -> Sequence[Changed] | str:
        for row in rows:
            positions = await self._evidence_positions(row)
            if max(positions) >= candidate.position if positions else row.updated_at > stated_at:
                return "outdated"
        editor = Editor(self._memories, self._scope, self._scope, by.actor, by.turn_id, by.cause, by.sources)
        return await editor.correct(
            rows[0].id,
            "replace",
            by.reason,
            evidence=self._evidence(candidate)[0],
            new_content=content,
            source="conversation",
            other_rows=rows[1:],
        )

    async def _add(self, candidate: GroundedCandidate, by: Attribution, key: str) -> Sequence[Changed] | str:
        proposed = candidate.candidate
        new = NewMemory(
            proposed.content,
            proposed.type,
            owner_type=self._owner(proposed.type),
            source="conversation",
            importance=proposed.importance,
            confidence=proposed.confidence,
            tags=(*self._labels, *proposed.tags)[:MAX_TAGS],
            quarantined=candidate.doubt is not None,
            context=proposed.context,
            decisions=proposed.decisions,
            refs=proposed.refs,
            origin="outside" if candidate.is_brought else None,
            tools=(BROUGHT_ALONG,) if candidate.is_brought else (),
        )
        try:
            changed = await self._memories.save(
                self._scope,
                new,
                by,
                evidence=() if candidate.is_brought else self._evidence(candidate),
                depends_on=proposed.based_on,
                key=key,
            )
        except DuplicateMemory:
            return "forgotten"  # the memory of these words was deleted since
        return "known" if changed.repeated else [changed]

    def _owner(self, kind: str) -> OwnerType:
        """Memories about work belong to the project, or else to the role."""
        if kind not in WORK_TYPES:
            return "user"
        if self._scope.project_id is not None:
            return "project"
        return "role" if self._scope.role_id is not None else "user"

    def _is_own(self, row: MemoryRow) -> bool:
        """Whether a statement of the user may replace the memory without a question."""
        return row.user_id == self._scope.user_id and row.recallable and row.source != "document"

    def _evidence(self, candidate: GroundedCandidate) -> Sequence[Evidence]:
        """The user's words, and then those of the assistant that they agree to."""
        quote = Evidence(self._session_id, candidate.position, candidate.quote)
        if (proposal := candidate.proposal) is None:
            return [quote]
        return [quote, Evidence(self._session_id, proposal.position, proposal.quote, "assistant")]

    async def _evidence_positions(self, row: MemoryRow) -> Sequence[int]:
        """Positions of this session's messages that are evidence of the memory."""
        evidence = await self._memories.store.evidence(self._scope, row.id)
        return [each.position for each in evidence if each.session_id == self._session_id]

    def _key(self, candidate: GroundedCandidate) -> str:
        """The same for the n-th candidate of a sentence of a message, in any wording."""
        place = (candidate.position, plain_form(candidate.sentence))
        number = self._seen[place]
        self._seen[place] += 1
        key = "\0".join((self._session_id, *map(str, place), str(number)))
        return hashlib.sha256(key.encode()).hexdigest()


def _matches_any(candidate: GroundedCandidate, forgotten: Sequence[Forgotten]) -> bool:
    digests = {digest_of(candidate.content), digest_of(candidate.quote)}
    words = content_words(candidate.content)
    return any(
        each.digest in digests
        or (
            2 * len(words & content_words(each.content)) >= len(words)
            and is_same(each.content, candidate.content)
        )
        for each in forgotten
    )


async def find_neighbours(memories: Memories, scope: Scope, content: str) -> Sequence[Neighbour]:
    """The memories of the scope, also quarantined and frozen ones, that resemble `content`, and how each
    compares with it."""
    rows = await memories.resembling(scope, content, _COMPARED_STATUSES, limit=MAX_NEIGHBOURS)
    # In a thread: long texts are compared word by word.
    return await asyncio.to_thread(lambda: [(row, compare(row.content, content)) for row in rows])
