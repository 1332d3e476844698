"""What is taken of a file of memories: line by line, each checked. What points to one another in the file
does so here, under the ids that the memories have here."""

from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace

from gateway.errors import DuplicateMemory, InvalidRequest, MemoryChanged, MemoryFull, RequestRefused
from gateway.ids import new_memory_id, now_ms
from gateway.memory import record
from gateway.memory.copies import LinkCopy, MemoryCopy, read
from gateway.memory.memories import By, Memories
from gateway.memory.versions import settled
from gateway.storage.memories import Evidence, Link, MemoryRow, Scope, Whole

MAX_LINE_LENGTH = 1_048_576
"""Bytes: the longest memory, with every character escaped, has about half of it."""
MAX_REPORTED = 100
"""Lines whose refusal is told; more are counted."""


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """`line` counts from 1."""

    line: int
    reason: str


@dataclass(slots=True)
class Report:
    """What became of a file: memories that are new, that were remembered word for word already (and are
    reinforced), that were there under their id (and stay as they are), and lines that cannot be used. Of what
    was taken, `quotes_dropped` are not to be found where they are said to be from, and `links_dropped` lead
    to memories that are not here."""

    imported: int = 0
    reinforced: int = 0
    known: int = 0
    refused: int = 0
    quotes_dropped: int = 0
    links_dropped: int = 0
    refusals: list[RefusedLine] = field(default_factory=list[RefusedLine])


async def lines_of(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The lines of an upload, without their ends. Raises errors.InvalidRequest for one that is too long."""
    held = bytearray()
    async for chunk in chunks:
        held += chunk
        *lines, rest = held.split(b"\n") if b"\n" in chunk else [held]
        for line in lines:
            yield bytes(line)
        held = bytearray(rest)
        if len(held) > MAX_LINE_LENGTH:
            raise InvalidRequest(f"A line is longer than {MAX_LINE_LENGTH} bytes: one line is one memory.")
    if held:
        yield bytes(held)


@dataclass(frozen=True, slots=True)
class _Pointed:
    """To what a memory points, by the ids of the file."""

    memory_id: str
    superseded_by: str | None
    links: Sequence[LinkCopy]

    @property
    def ids(self) -> Sequence[str]:
        """All of them, each as often as it is pointed to."""
        return [*([self.superseded_by] if self.superseded_by else []), *(each.to_id for each in self.links)]


class Intake:
    """Takes one file for a user. `verify` returns what of the evidence holds, as it is to be kept: a file may
    claim anything."""

    def __init__(
        self,
        memories: Memories,
        viewer: Whole,
        by: By,
        verify: Callable[[Sequence[Evidence]], Awaitable[Sequence[Evidence]]],
    ) -> None:
        self._memories = memories
        self._viewer = viewer
        self._by = by
        self._verify = verify
        self._number = 0
        self._ids: dict[str, str] = {}
        self._pointed: list[_Pointed] = []
        self.report = Report()

    async def take(self, lines: AsyncIterable[bytes]) -> Report:
        """Adds what the lines say, or says in the report why not, and then has them point to one another.
        Empty lines are nothing.

        Raises:
            errors.MemoryFull: the lines before that in `details` were taken, and the report tells of them.
            errors.InvalidRequest: a line is too long; likewise.
            errors.StorageError
        """
        try:
            async for line in lines:
                await self._line(line)
        except RequestRefused:
            await self._point()
            raise
        await self._point()
        return self.report

    async def _line(self, line: bytes) -> None:
        self._number += 1
        if not line.strip():
            return
        try:
            await self._take(read(line))
        except MemoryFull as full:
            details = {**(full.details or {}), "line": self._number}
            raise MemoryFull(f"Line {self._number}: {full.message}", details=details) from None
        except RequestRefused as refused:
            self.report.refused += 1
            if len(self.report.refusals) < MAX_REPORTED:
                self.report.refusals.append(RefusedLine(self._number, refused.message))

    async def _take(self, copy: MemoryCopy) -> None:
        memory_id = await self._keep(copy)
        if copy.id is not None:
            self._ids[copy.id] = memory_id
        if copy.links or copy.superseded_by:
            self._pointed.append(_Pointed(memory_id, copy.superseded_by, copy.links))

    async def _keep(self, copy: MemoryCopy) -> str:
        """Under which id it is here."""
        if copy.id is not None and await self._memories.store.get(self._viewer, copy.id):
            self.report.known += 1
            return copy.id
        session_id = copy.owner_id if copy.owner_type == "session" else None
        user_id, households = self._viewer
        scope = Scope(user_id, copy.role_id, copy.project_id, session_id, households)
        evidence = await self._verify(copy.quotes)
        try:
            kept = await self._add(_row(copy, scope), evidence)
            self.report.imported += 1
        except (DuplicateMemory, MemoryFull):  # `save` knows what to do, and to say
            kept = (await self._memories.save(scope, copy.as_new, self._by, evidence=evidence)).row
            self.report.reinforced += 1
        self.report.quotes_dropped += len(copy.quotes) - len(evidence)
        return kept.id

    async def _add(self, row: MemoryRow, evidence: Sequence[Evidence]) -> MemoryRow:
        row = replace(row, evidence_count=max(row.evidence_count, len(evidence)))
        proof = {"evidence": evidence, "said_by": self._viewer.user_id}
        try:
            await self._memories.apply([await self._memories.step(row, "remembered", self._by, **proof)])
        except MemoryChanged:  # the id is somebody else's, or of a memory that was deleted
            row = replace(row, id=new_memory_id())
            await self._memories.apply([await self._memories.step(row, "remembered", self._by, **proof)])
        return row

    async def _point(self) -> None:
        """To their successors and along their links, once all are here. What points already, stays as it is:
        an import that was cut off can be made again."""
        for pointed in self._pointed:
            await settled(lambda pointed=pointed: self._point_one(pointed))

    async def _point_one(self, pointed: _Pointed) -> None:
        store, memory_id = self._memories.store, pointed.memory_id
        found = await store.get(self._viewer, memory_id)
        if not found:
            return
        row, known = found[0], await store.links(memory_id)
        here = {each: end for each in pointed.ids if (end := await self._here(each))}
        links = [
            Link(memory_id, here[each.to_id], each.relation) for each in pointed.links if each.to_id in here
        ]
        new = [link for link in links if link not in known and link.to_id != memory_id]
        heir = here.get(pointed.superseded_by or "")
        if row.status == "replaced" and row.superseded_by is None and heir not in {None, memory_id}:
            row = replace(row, superseded_by=heir)
        if new or row is not found[0]:
            after = replace(row, version=row.version + 1)
            await self._memories.apply([await self._memories.step(after, "updated", self._by, links=new)])
        self.report.links_dropped += sum(each not in here for each in pointed.ids)

    async def _here(self, file_id: str) -> str | None:
        """The id here of a memory that the file names."""
        if file_id in self._ids:
            return self._ids[file_id]
        return file_id if await self._memories.store.get(self._viewer, file_id) else None


def _row(copy: MemoryCopy, scope: Scope) -> MemoryRow:
    now = now_ms()
    return replace(
        record.make(copy.as_new, scope, copy.id or new_memory_id(), now),
        status=copy.status,
        source=copy.source,
        flagged=" ".join(record.clean(copy.flagged or "").split()) or None,
        evidence_count=copy.evidence_count,
        created_at=min(copy.created_at or now, now),
        updated_at=min(copy.updated_at or now, now),
        last_used=min(copy.last_used or now, now),
    )
