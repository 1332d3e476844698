"""A user's memories and sessions as resources of the MCP server."""

from collections.abc import Sequence
from contextlib import suppress

import orjson
from mcp_types import (
    ListResourcesResult,
    ReadResourceResult,
    Resource,
    ResourceTemplate,
    TextResourceContents,
)

from gateway.adapters.mcp.mcp_operations import MEMORY, SESSION
from gateway.adapters.turn_fold import Fold
from gateway.adapters.turn_parts import AttemptWithdrawn, Grew, Part, TurnBegan
from gateway.errors import InvalidRequest, NotFound
from gateway.http.requests import ApiRequest
from gateway.ids import is_id
from gateway.messages import shortened
from gateway.service.follower import PAGE
from gateway.service.memory_access import ScopeIds
from gateway.storage.memories import Filter, MemoryRow
from gateway.storage.sessions import SessionRow

ROWS = 50
"""Of a page of the list."""
MAX_TITLE = 100
MAX_SESSION = 1_000_000
"""Characters of a session that are read: the newest."""

TEMPLATES = [
    ResourceTemplate(name="memory", uri_template=MEMORY + "{memory_id}", mime_type="application/json"),
    ResourceTemplate(name="session", uri_template=SESSION + "{session_id}", mime_type="text/markdown"),
]


async def listed(request: ApiRequest, cursor: str | None) -> ListResourcesResult:
    """First what is remembered, without the operators' documents, then the sessions; what changed last first.
    Raises errors.InvalidRequest."""
    gateway, who = request.gateway, request.principal
    kind, before = _read_cursor(cursor)
    found: list[Resource] = []
    if kind == MEMORY:
        with suppress(NotFound):  # there is no memory
            which = Filter(runtime=True)
            rows = await gateway.memory.list(who, ScopeIds(), which, limit=ROWS, before=before)
            found = [_of_memory(row) for row in rows]
            if len(rows) == ROWS:
                return ListResourcesResult(resources=found, next_cursor=_cursor(MEMORY, rows[-1]))
        before = None
    sessions = await gateway.sessions.list(who, limit=ROWS, before=before, query=None)
    found += [
        Resource(uri=SESSION + row.id, name=row.id, title=row.title, mime_type="text/markdown")
        for row in sessions
    ]
    end = _cursor(SESSION, sessions[-1]) if len(sessions) == ROWS else None
    return ListResourcesResult(resources=found, next_cursor=end)


async def read(request: ApiRequest, uri: str) -> ReadResourceResult:
    """Raises errors.NotFound."""
    kind = next((each for each in (MEMORY, SESSION) if uri.startswith(each)), None)
    name = uri.removeprefix(kind or "")
    if kind is None or not is_id(name):
        raise NotFound(f"There is no resource {uri[:200]!r}.", code="resource_not_found")
    if kind == MEMORY:
        row = (await request.gateway.memory.read(request.principal, name)).row
        text, mime_type = orjson.dumps(_memory_json(row)).decode(), "application/json"
    else:
        session_id = await request.gateway.sessions.id_of(request.principal, name)
        text, mime_type = await _transcript(request, session_id), "text/markdown"
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, text=text, mime_type=mime_type)])


def _read_cursor(cursor: str | None) -> tuple[str, tuple[int, str] | None]:
    if cursor is None:
        return MEMORY, None
    kind = next((each for each in (MEMORY, SESSION) if cursor.startswith(each)), None)
    changed, _, name = cursor.removeprefix(kind or "").partition("/")
    if kind is None or not (changed.isascii() and changed.isdigit() and len(changed) < 16 and is_id(name)):
        raise InvalidRequest("The cursor is none of this list.")
    return kind, (int(changed), name)


def _cursor(kind: str, last: MemoryRow | SessionRow) -> str:
    return f"{kind}{last.updated_at}/{last.id}"


def _of_memory(row: MemoryRow) -> Resource:
    return Resource(
        uri=MEMORY + row.id,
        name=row.id,
        title=shortened(row.summary, MAX_TITLE),
        description=row.type,
        mime_type="application/json",
    )


def _memory_json(row: MemoryRow) -> dict[str, object]:
    return {
        "id": row.id,
        "type": row.type,
        "content": row.content,
        "status": row.status,
        "tags": row.tags,
        "pinned": row.pinned,
        "quarantined": row.quarantined,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "version": row.version,
    }


async def _transcript(request: ApiRequest, session_id: str) -> str:
    """The messages of the active branch, with their authors."""
    gateway, who = request.gateway, request.principal
    shown = await gateway.sessions.active_turns(who, session_id)
    folds = dict[str, tuple[Fold, _TurnText]]()
    after: int | None = 0
    while after is not None:
        place = await gateway.streams.following(who, session_id, after=after, live=False)
        events, after = await gateway.streams.page(place, PAGE)
        for event in events:
            if event.type == "turn_start" and event.turn_id in shown:
                folds[event.turn_id] = Fold(), _TurnText()
            if (turn := folds.get(event.turn_id)) is not None:
                fold, turn_text = turn
                turn_text.take(fold.take([event]))
        excess = sum(turn_text.size for _, turn_text in folds.values()) - MAX_SESSION
        for turn_id, (_, turn_text) in [*folds.items()]:
            if (excess := excess - turn_text.size) <= 0:
                break
            del folds[turn_id]  # what comes behind it is enough
    text = "\n\n".join(turn_text.text for _, turn_text in folds.values())
    return text if len(text) <= MAX_SESSION else "…" + text[-MAX_SESSION:]


class _TurnText:
    """The two sides of one turn."""

    def __init__(self) -> None:
        self.size = 0
        """Characters."""
        self._asked = ""
        self._spans: dict[str, list[str]] = {}

    @property
    def text(self) -> str:
        answer = "\n\n".join(map("".join, self._spans.values()))
        return f"## User\n\n{self._asked}\n\n## Assistant\n\n{answer}"

    def take(self, parts: Sequence[Part]) -> None:
        for part in parts:
            match part:
                case TurnBegan(_, _, _, data):
                    self._asked = data["input"]
                    self.size += len(self._asked)
                case Grew(span, text) if span.kind == "text":
                    self._spans.setdefault(span.id, []).append(piece := orjson.loads(text))
                    self.size += len(piece)
                case AttemptWithdrawn(_, spans):
                    for span in spans:
                        self.size -= sum(map(len, self._spans.pop(span.id, ())))
                case _:
                    pass
