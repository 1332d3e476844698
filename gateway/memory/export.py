"""Export of memories: the file format, one JSON object a line, and its writer.

    {"id":"m_…","type":"preference","content":"…","status":"active",…,"evidence":[…],"links":[…]}

Only `content` is required. Ids are the file's: references to a memory that gets another id here follow it. An
export that fails on the way ends with {"kind":"error","code":"…","message":"…"}.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from dataclasses import asdict
from typing import Annotated, Any, Literal

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from gateway.errors import InvalidRequest, plain_words, problems_of
from gateway.ids import ID_PATTERN, now_ms
from gateway.memory import validation
from gateway.memory.validation import NewMemory
from gateway.storage.memories import (
    MAX_TOOLS,
    AllScopes,
    Author,
    Evidence,
    Filter,
    MemoryRow,
    MemoryType,
    Origin,
    OwnerType,
    Relation,
    Status,
    Viewer,
    Visibility,
)
from gateway.storage.memories.store import MemoryStore

PAGE = 200
"""Memories read at a time."""
MAX_QUOTES = 50
MAX_LINKS = 100
MAX_FLAG = 1_000
Name = Annotated[str, Field(min_length=1, max_length=256, pattern=r"^[^\x00-\x1f]*$")]


class ExportedQuote(BaseModel):
    """Evidence in a file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    session_id: str = Field(pattern=ID_PATTERN)
    position: int = Field(ge=1, le=10**9)
    quote: str = Field(min_length=1, max_length=validation.MAX_CONTENT)
    author: Author = "user"


MemoryId = Annotated[str, Field(pattern=r"^m_[0-9a-f]{16}$")]


class ExportedLink(BaseModel):
    """A link from the memory of its line."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    to_id: MemoryId
    relation: Relation


class ExportedMemory(BaseModel):
    """A memory in a file. Its owner is the user who imports it; versions and vectors are not exported."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: MemoryId | None = None
    type: MemoryType = "fact"
    content: str
    summary: str | None = None
    owner_type: OwnerType = "user"
    owner_id: Name | None = None
    role_id: Name | None = None
    project_id: Name | None = None
    visibility: Visibility | None = None
    status: Status = "active"
    superseded_by: MemoryId | None = None
    source: Literal["user", "model", "conversation", "skill", "import"] = "import"
    importance: int = 3
    confidence: float = 1.0
    evidence_count: int = Field(0, ge=0, le=10**6)
    tags: tuple[str, ...] = ()
    pinned: bool = False
    quarantined: bool = False
    origin: Origin | None = None
    tools: tuple[str, ...] = Field((), max_length=MAX_TOOLS)
    flagged: str | None = Field(None, max_length=MAX_FLAG)
    context: str | None = Field(None, max_length=validation.MAX_CONTENT)
    decisions: tuple[str, ...] = ()
    refs: tuple[str, ...] = ()
    skill: Name | None = None
    reference: Name | None = None
    metadata: Annotated[dict[str, Any] | None, AfterValidator(validation.checked_metadata)] = None
    created_at: int | None = Field(None, ge=0)
    updated_at: int | None = Field(None, ge=0)
    last_used: int | None = Field(None, ge=0)
    evidence: tuple[ExportedQuote, ...] = Field((), max_length=MAX_QUOTES)
    links: tuple[ExportedLink, ...] = Field((), max_length=MAX_LINKS)

    @property
    def as_new(self) -> NewMemory:
        taken = {name: getattr(self, name) for name in NewMemory.__dataclass_fields__ if name != "source"}
        if self.owner_type == "user":
            taken["owner_id"] = None
        return NewMemory(**taken, source="import")

    @property
    def quotes(self) -> list[Evidence]:
        return [Evidence(each.session_id, each.position, each.quote, each.author) for each in self.evidence]


async def export(store: MemoryStore, viewer: AllScopes) -> AsyncGenerator[bytes]:
    """The viewer's memories, of every status, in chunks of whole lines, one page each. A memory that changes
    meanwhile is exported in its old or its new form. Raises errors.StorageError."""
    begun, seen = now_ms(), set[str]()
    # A memory that changes moves to the front of the list, which is read already: hence the second pass.
    for which in (Filter(runtime=True), Filter(runtime=True, since=begun)):
        async for page in pages(store, viewer, which):
            rows = [row for row in page if row.id not in seen]
            seen.update(row.id for row in rows)
            if rows:
                yield b"".join([await _line(store, viewer, row) for row in rows])


async def pages(store: MemoryStore, viewer: Viewer, which: Filter) -> AsyncIterator[Sequence[MemoryRow]]:
    """All that the viewer sees, the newest first."""
    before = None
    while page := await store.list(viewer, which, limit=PAGE, before=before):
        yield page
        before = (page[-1].updated_at, page[-1].id)


async def _line(store: MemoryStore, viewer: AllScopes, row: MemoryRow) -> bytes:
    copied = {
        name: getattr(row, name) for name in ExportedMemory.model_fields if name not in {"evidence", "links"}
    }
    quotes = await store.evidence(viewer, row.id) if row.evidence_count else ()
    copied["evidence"] = [asdict(each) for each in quotes[:MAX_QUOTES]]
    links = [link for link in await store.links(row.id) if link.from_id == row.id]
    copied["links"] = [{"to_id": each.to_id, "relation": each.relation} for each in links[:MAX_LINKS]]
    return (
        orjson.dumps({name: value for name, value in copied.items() if value not in (None, [], ())}) + b"\n"
    )


def parse_line(line: bytes) -> ExportedMemory:
    """Raises errors.InvalidRequest."""
    try:
        return ExportedMemory.model_validate_json(line, strict=True)
    except ValidationError as error:
        problem = problems_of(error)[0]
        place = ".".join(str(part) for part in problem["loc"]) or "line"
        cause = plain_words(problem["type"], problem["msg"], unknown="unknown name")
        raise InvalidRequest(f"{place}: {cause}"[:300]) from None
