"""Memories as a file, one JSON object a line: written as they are, read back and checked one by one.

    {"id":"m_…","type":"preference","content":"…","status":"active",…,"evidence":[…]}

`content` is all that a line needs, so that a list of anybody's can be read. An export that fails on the way
ends with {"kind":"error","code":"…","message":"…"}.
"""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated

import orjson
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gateway.errors import (
    DuplicateMemory,
    InvalidRequest,
    MemoryChanged,
    MemoryFull,
    RequestRefused,
    plain_words,
)
from gateway.ids import ID_PATTERN, new_memory_id, now_ms
from gateway.memory import record
from gateway.memory.memories import By, Memories
from gateway.memory.record import NewMemory
from gateway.storage.memories import (
    Evidence,
    Filter,
    MemoryRow,
    MemoryStore,
    MemoryType,
    OwnerType,
    Scope,
    Status,
    Visibility,
    Whole,
)

PAGE = 200
"""Memories read at a time."""
LONGEST_LINE = 1_048_576
"""Bytes: the longest memory, with every character escaped, has about half of it."""
MOST_TOLD = 100
"""Lines whose refusal is told; more are counted."""
QUOTES_MOST = 50
Name = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f]*$")]


class Quote(BaseModel):
    """Evidence in a file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    session_id: str = Field(pattern=ID_PATTERN)
    position: int = Field(ge=1, le=10**9)
    quote: str = Field(min_length=1, max_length=record.CONTENT_MOST)


class MemoryCopy(BaseModel):
    """A memory in a file. Whose it is, is whoever reads it back; its versions and vectors stay behind."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str | None = Field(None, pattern=r"^m_[0-9a-f]{16}$")
    type: MemoryType = "fact"
    content: str
    summary: str | None = None
    owner_type: OwnerType = "user"
    owner_id: Name | None = None
    role_id: Name | None = None
    project_id: Name | None = None
    visibility: Visibility | None = None
    status: Status = "active"
    superseded_by: str | None = Field(None, pattern=r"^m_[0-9a-f]{16}$")
    importance: int = 3
    confidence: float = 1.0
    evidence_count: int = Field(0, ge=0, le=10**6)
    tags: tuple[str, ...] = ()
    pinned: bool = False
    quarantined: bool = False
    context: str | None = Field(None, max_length=record.CONTENT_MOST)
    decisions: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()
    skill: Name | None = None
    reference: Name | None = None
    created_at: int | None = Field(None, ge=0)
    updated_at: int | None = Field(None, ge=0)
    last_used: int | None = Field(None, ge=0)
    evidence: tuple[Quote, ...] = Field((), max_length=QUOTES_MOST)

    @property
    def as_new(self) -> NewMemory:
        taken = {name: getattr(self, name) for name in NewMemory.__dataclass_fields__ if name != "source"}
        if self.owner_type == "user":
            taken["owner_id"] = None
        return NewMemory(**taken, source="import")

    @property
    def quotes(self) -> list[Evidence]:
        return [Evidence(each.session_id, each.position, each.quote) for each in self.evidence]


@dataclass(frozen=True, slots=True)
class RefusedLine:
    """`line` counts from 1."""

    line: int
    reason: str


@dataclass(slots=True)
class Report:
    """What became of a file: memories that are new, that were remembered word for word already (and are
    reinforced), that were there under their id (and stay as they are), and lines that cannot be used."""

    imported: int = 0
    reinforced: int = 0
    known: int = 0
    refused: int = 0
    refusals: list[RefusedLine] = field(default_factory=list[RefusedLine])


# Out


async def export(store: MemoryStore, viewer: Whole) -> AsyncGenerator[bytes]:
    """The viewer's memories, of every status, in pieces of whole lines, each a page large. One that changes
    meanwhile is there in its old form or in its new one. Raises errors.StorageError."""
    begun, seen = now_ms(), set[str]()
    # A memory that changes moves to the front of the list, where a reader was already: hence the second look.
    for which in (Filter(runtime=True), Filter(runtime=True, since=begun)):
        async for page in _pages(store, viewer, which):
            rows = [row for row in page if row.id not in seen]
            seen.update(row.id for row in rows)
            if rows:
                yield b"".join([await _line(store, viewer, row) for row in rows])


async def _pages(store: MemoryStore, viewer: Whole, which: Filter) -> AsyncIterator[Sequence[MemoryRow]]:
    before = None
    while page := await store.list(viewer, which, limit=PAGE, before=before):
        yield page
        before = (page[-1].updated_at, page[-1].id)


async def _line(store: MemoryStore, viewer: Whole, row: MemoryRow) -> bytes:
    copied = {name: getattr(row, name) for name in MemoryCopy.model_fields if name != "evidence"}
    quotes = await store.evidence(row.id) if row.evidence_count and row.user_id == viewer.user_id else ()
    copied["evidence"] = [
        {"session_id": each.session_id, "position": each.position, "quote": each.quote}
        for each in quotes[:QUOTES_MOST]
    ]
    return (
        orjson.dumps({name: value for name, value in copied.items() if value not in (None, [], ())}) + b"\n"
    )


# In


async def lines_of(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """The lines of an upload, without their ends. Raises errors.InvalidRequest for one that is too long."""
    held = bytearray()
    async for chunk in chunks:
        held += chunk
        *lines, rest = held.split(b"\n") if b"\n" in chunk else [held]
        for line in lines:
            yield bytes(line)
        held = bytearray(rest)
        if len(held) > LONGEST_LINE:
            raise InvalidRequest(f"A line is longer than {LONGEST_LINE} bytes: one line is one memory.")
    if held:
        yield bytes(held)


class Intake:
    """Takes the lines of one file for a user. `verify` returns what of the evidence holds: a file may claim
    anything."""

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
        self.report = Report()

    async def take(self, line: bytes) -> None:
        """Adds what the line says, or says in the report why not. Empty lines are nothing. Raises
        errors.MemoryFull (`details` has the line), errors.StorageError."""
        self._number += 1
        if not line.strip():
            return
        try:
            await self._take(_read(line))
        except MemoryFull as full:
            details = {**(full.details or {}), "line": self._number}
            raise MemoryFull(f"Line {self._number}: {full.message}", details=details) from None
        except RequestRefused as refused:
            self.report.refused += 1
            if len(self.report.refusals) < MOST_TOLD:
                self.report.refusals.append(RefusedLine(self._number, refused.message))

    async def _take(self, copy: MemoryCopy) -> None:
        if copy.id is not None and await self._memories.store.get(self._viewer, copy.id):
            self.report.known += 1
            return
        session_id = copy.owner_id if copy.owner_type == "session" else None
        user_id, households = self._viewer
        scope = Scope(user_id, copy.role_id, copy.project_id, session_id, households)
        evidence = await self._verify(copy.quotes)
        try:
            await self._add(_row(copy, scope), evidence)
        except (DuplicateMemory, MemoryFull):  # `save` knows what to do, and to say
            await self._memories.save(scope, copy.as_new, self._by, evidence=evidence)
            self.report.reinforced += 1
            return
        self.report.imported += 1

    async def _add(self, row: MemoryRow, evidence: Sequence[Evidence]) -> None:
        row = replace(row, evidence_count=max(row.evidence_count, len(evidence)))
        try:
            await self._memories.apply(
                [await self._memories.step(row, "remembered", self._by, evidence=evidence)]
            )
        except MemoryChanged:  # the id is somebody else's, or of a memory that was deleted
            row = replace(row, id=new_memory_id())
            await self._memories.apply(
                [await self._memories.step(row, "remembered", self._by, evidence=evidence)]
            )


def _row(copy: MemoryCopy, scope: Scope) -> MemoryRow:
    now = now_ms()
    return replace(
        record.make(copy.as_new, scope, copy.id or new_memory_id(), now),
        status=copy.status,
        superseded_by=copy.superseded_by,
        evidence_count=copy.evidence_count,
        created_at=min(copy.created_at or now, now),
        updated_at=min(copy.updated_at or now, now),
        last_used=min(copy.last_used or now, now),
    )


def _read(line: bytes) -> MemoryCopy:
    try:
        return MemoryCopy.model_validate_json(line, strict=True)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(part) for part in problem["loc"]) or "line"
        told = plain_words(problem["type"], problem["msg"], unknown="unknown name")
        raise InvalidRequest(f"{place}: {told}"[:300]) from None
