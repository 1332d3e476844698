"""Import of a file of memories, line by line, each checked. References between memories are restored under
the ids that the memories have here."""

import asyncio
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from gateway.errors import DuplicateMemory, InvalidRequest, MemoryChanged, MemoryFull, RequestRefused
from gateway.ids import new_memory_id, now_ms
from gateway.memory import validation
from gateway.memory.changes import Attribution
from gateway.memory.export import ExportedMemory, parse_line
from gateway.memory.memories import Memories
from gateway.memory.reinforcement import statements
from gateway.memory.versions import retry_conflicts
from gateway.storage.memories import AllScopes, Evidence, Link, MemoryRow, Scope

MAX_LINE_LENGTH = 1_048_576
"""Bytes: the longest memory, with every character escaped, has about half of it."""
_WITHOUT_PAUSE = 65_536  # bytes of lines that are read before others run
_LINE = 1000  # bytes that are read in the time that a line takes at least
MAX_REPORTED = 100
"""Refused lines that are listed; more are counted."""


@dataclass(frozen=True, slots=True)
class ImportProblem:
    """`line` counts from 1."""

    line: int
    reason: str


@dataclass(slots=True)
class ImportReport:
    """The result of an import: new memories, reinforced ones (the same words were known), known ones (under
    their id; unchanged), and refused lines. `quotes_dropped` quotes are not in the message they refer to,
    `links_dropped` links lead to memories that are not here."""

    imported: int = 0
    reinforced: int = 0
    known: int = 0
    refused: int = 0
    quotes_dropped: int = 0
    links_dropped: int = 0
    refusals: list[ImportProblem] = field(default_factory=list[ImportProblem])


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


class MemoryImport:
    """Imports one file for a user. `verify` returns the evidence that is true, as it is to be stored: a file
    may claim anything."""

    def __init__(
        self,
        memories: Memories,
        viewer: AllScopes,
        by: Attribution,
        verify: Callable[[Sequence[Evidence]], Awaitable[Sequence[Evidence]]],
    ) -> None:
        self._memories = memories
        self._viewer = viewer
        self._by = by
        self._verify = verify
        self._number = 0
        self._ids: dict[str, str] = {}
        self._references: list[tuple[str, ExportedMemory]] = []
        self.report = ImportReport()

    async def run(self, lines: AsyncIterable[bytes]) -> ImportReport:
        """Stores the memories of the lines, or reports why not, and then restores their references. Empty
        lines are skipped.

        Raises:
            errors.MemoryFull: the lines before the one in `details` were imported, and are in the report.
            errors.InvalidRequest: a line is too long; likewise.
            errors.StorageError
        """
        unpaused = 0
        try:
            async for line in lines:
                await self._line(line)
                if (unpaused := unpaused + _LINE + len(line)) > _WITHOUT_PAUSE:
                    unpaused = 0
                    await asyncio.sleep(0)  # lines that are refused wait for nothing
        except RequestRefused:
            await self._restore_links()
            raise
        await self._restore_links()
        return self.report

    async def _line(self, line: bytes) -> None:
        self._number += 1
        if not line.strip():
            return
        try:
            is_large = len(line) > _WITHOUT_PAUSE
            await self._take(await asyncio.to_thread(parse_line, line) if is_large else parse_line(line))
        except MemoryFull as full:
            details = {**(full.details or {}), "line": self._number}
            raise MemoryFull(f"Line {self._number}: {full.message}", details=details) from None
        except RequestRefused as refused:
            self.report.refused += 1
            if len(self.report.refusals) < MAX_REPORTED:
                self.report.refusals.append(ImportProblem(self._number, refused.message))

    async def _take(self, copy: ExportedMemory) -> None:
        memory_id = await self._keep(copy)
        if copy.id is not None:
            self._ids[copy.id] = memory_id
        if copy.links or copy.superseded_by:
            self._references.append((memory_id, copy))

    async def _keep(self, copy: ExportedMemory) -> str:
        """The id of the memory here."""
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
        except (DuplicateMemory, MemoryFull):  # `save` handles and reports them
            kept = (await self._memories.save(scope, copy.as_new, self._by, evidence=evidence)).row
            self.report.reinforced += 1
        self.report.quotes_dropped += len(copy.quotes) - len(evidence)
        return kept.id

    async def _add(self, row: MemoryRow, evidence: Sequence[Evidence]) -> MemoryRow:
        row = replace(row, evidence_count=max(row.evidence_count, statements(evidence)))
        proof = {"evidence": evidence, "stated_by": self._viewer.user_id}
        try:
            await self._memories.apply([await self._memories.plan(row, "remembered", self._by, **proof)])
        except MemoryChanged:  # the id is another user's, or of a memory that was deleted
            row = replace(row, id=new_memory_id())
            await self._memories.apply([await self._memories.plan(row, "remembered", self._by, **proof)])
        return row

    async def _restore_links(self) -> None:
        """Restores successors and links, once all memories are here. Existing references stay: an interrupted
        import can be repeated."""
        for memory_id, copy in self._references:
            await retry_conflicts(partial(self._restore_links_of, memory_id, copy))

    async def _restore_links_of(self, memory_id: str, copy: ExportedMemory) -> None:
        store, referred = self._memories.store, [each.to_id for each in copy.links]
        referred += [copy.superseded_by] if copy.superseded_by else []
        found = await store.get(self._viewer, memory_id)
        if not found:
            return
        row, known = found[0], await store.links(memory_id)
        here = {each: end for each in referred if (end := await self._here(each))}
        links = [
            Link(memory_id, here[each.to_id], each.relation) for each in copy.links if each.to_id in here
        ]
        new = [link for link in links if link not in known and link.to_id != memory_id]
        successor = here.get(copy.superseded_by or "")
        if row.status == "replaced" and row.superseded_by is None and successor not in {None, memory_id}:
            row = replace(row, superseded_by=successor)
        if new or row is not found[0]:
            after = replace(row, version=row.version + 1)
            await self._memories.apply([await self._memories.plan(after, "updated", self._by, links=new)])
        self.report.links_dropped += sum(each not in here for each in referred)

    async def _here(self, file_id: str) -> str | None:
        """The id here of an id in the file."""
        if file_id in self._ids:
            return self._ids[file_id]
        return file_id if await self._memories.store.get(self._viewer, file_id) else None


def _row(copy: ExportedMemory, scope: Scope) -> MemoryRow:
    now = now_ms()
    return replace(
        validation.make(copy.as_new, scope, copy.id or new_memory_id(), now),
        status=copy.status,
        source=copy.source,
        flagged=" ".join(validation.clean(copy.flagged or "").split()) or None,
        evidence_count=copy.evidence_count,
        created_at=min(copy.created_at or now, now),
        updated_at=min(copy.updated_at or now, now),
        last_used=min(copy.last_used or now, now),
    )
