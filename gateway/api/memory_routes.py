"""What is remembered of you: keep, list, read, correct, merge, forget."""

from starlette.responses import Response

from gateway.api.memory_bodies import (
    VERSION,
    AnswerBody,
    CorrectBody,
    EvidenceBody,
    MemoriesQuery,
    MemoryPatch,
    MergeBody,
    NewMemoryBody,
    RestoreBody,
    SessionLogQuery,
)
from gateway.api.memory_replies import (
    ContradictionItem,
    Contradictions,
    DeletedItem,
    MemoryChanges,
    MemoryDetails,
    MemoryItem,
    MemoryPage,
    MemoryVersions,
)
from gateway.errors import InvalidRequest
from gateway.http.cursors import decode_cursor, encode_cursor
from gateway.http.endpoint import Cost, endpoint
from gateway.http.json_types import json_reply
from gateway.http.requests import ApiRequest
from gateway.service.memory_access import ScopeIds
from gateway.storage.memories import MemoryRow


@endpoint(
    "POST",
    "/api/memory",
    "memory.create",
    {200: (MemoryItem,), 201: (MemoryItem,)},
    NewMemoryBody,
    refusals=(404, 409, 413),
)
async def create(request: ApiRequest) -> Response:
    """Remembers something. What is remembered word for word already is reinforced instead: 200, not 201."""
    body = await request.read_body(NewMemoryBody)
    changed = await request.gateway.memory.save(
        request.principal,
        body.scope_ids,
        body.new,
        evidence=[each.evidence for each in body.evidence],
        depends_on=body.depends_on,
        reason=body.reason,
    )
    return _memory(changed.row, 201 if changed.operation == "remembered" else 200)


@endpoint(
    "GET",
    "/api/memory",
    "memory.list",
    {200: (MemoryPage,)},
    query=MemoriesQuery,
    refusals=(404,),
    cost=Cost("search", only_with=("q",)),
)
async def find(request: ApiRequest) -> Response:
    """Your memories, the last changed first; with `q` those with any of its words. With `deleted`, those
    that were deleted, as long as they can be restored."""
    query = await request.read_query(MemoriesQuery)
    if query.deleted:
        return await _deleted(request, query)
    if query.owner_id is not None and query.owner_type is None:
        raise InvalidRequest("owner_id goes with owner_type.")
    if query.q is not None and query.before is not None:
        raise InvalidRequest("q gives one page, the best matches: it does not go with before.")
    rows = await request.gateway.memory.list(
        request.principal,
        ScopeIds(query.role_id, query.project_id, query.session_id, query.user_id),
        query.which,
        limit=query.limit + 1,
        before=decode_cursor(query.before) if query.before is not None else None,
        words=query.q,
    )
    page = rows[: query.limit]
    more = len(rows) > query.limit and query.q is None
    return json_reply(
        MemoryPage(
            memories=[MemoryItem.of(row) for row in page],
            next=encode_cursor(page[-1].updated_at, page[-1].id) if more else None,
        )
    )


@endpoint(
    "GET",
    "/api/memory/contradictions",
    "memory.list_contradictions",
    {200: (Contradictions,)},
    refusals=(404,),
    cost=Cost("search"),
)
async def contradictions(request: ApiRequest) -> Response:
    """Pairs of your memories that give different values to one thing (homes, names, likes, dates, numbers):
    you are asked which one holds. Both are recalled until you answer."""
    found = await request.gateway.memory.contradictions(request.principal)
    return json_reply(Contradictions(contradictions=[ContradictionItem.of(pair) for pair in found]))


@endpoint(
    "POST",
    "/api/memory/contradictions",
    "memory.answer",
    {200: (MemoryChanges,)},
    AnswerBody,
    refusals=(404, 409, 412, 413),
)
async def answer(request: ApiRequest) -> Response:
    """Says which of two memories holds that contradict each other. What depended on one that is replaced is
    flagged, and is among the `changed`."""
    body = await request.read_body(AnswerBody)
    changed = await request.gateway.memory.answer(
        request.principal, body.earlier_id, body.later_id, body.answer
    )
    return json_reply(MemoryChanges.of(changed, 0))


@endpoint("GET", "/api/memory/{memory_id}", "memory.read", {200: (MemoryDetails,)}, refusals=(404,))
async def read(request: ApiRequest) -> Response:
    """A memory with its versions, evidence and links; also one that is frozen or was replaced."""
    details = await request.gateway.memory.read(request.principal, request.path_id("memory_id"))
    return json_reply(MemoryDetails.whole(details), headers=_etag(details.row))


@endpoint(
    "PATCH",
    "/api/memory/{memory_id}",
    "memory.change",
    {200: (MemoryItem,)},
    MemoryPatch,
    refusals=(404, 409, 412, 413),
    headers=VERSION,
)
async def change(request: ApiRequest) -> Response:
    """Changes what is given of a memory; with If-Match only at that version."""
    body = await request.read_body(MemoryPatch)
    if not body.changes:
        raise InvalidRequest("Say what changes: content, summary, type, importance, tags, pinned, …")
    changed = await request.gateway.memory.update(
        request.principal,
        request.path_id("memory_id"),
        body.changes,
        version=request.if_match,
        reason=body.reason,
    )
    return _memory(changed.row)


@endpoint(
    "DELETE",
    "/api/memory/{memory_id}",
    "memory.delete",
    {204: (None,)},
    query=SessionLogQuery,
    refusals=(404, 412),
    headers=VERSION,
)
async def delete(request: ApiRequest) -> Response:
    """Forgets a memory: it is out of every list and search. For 30 days it can be restored, unless it is
    erased before."""
    query = await request.read_query(SessionLogQuery)
    await request.gateway.memory.delete(
        request.principal,
        request.path_id("memory_id"),
        version=request.if_match,
        session_id=query.session_id,
    )
    return Response(status_code=204)


@endpoint(
    "GET",
    "/api/memory/{memory_id}/versions",
    "memory.list_versions",
    {200: (MemoryVersions,)},
    refusals=(404,),
)
async def versions(request: ApiRequest) -> Response:
    """All that a memory was, by whom and why; also of one that was deleted."""
    found = await request.gateway.memory.versions(request.principal, request.path_id("memory_id"))
    return json_reply(MemoryVersions.whole(found))


@endpoint(
    "POST",
    "/api/memory/{memory_id}/restore",
    "memory.restore",
    {200: (MemoryItem,)},
    RestoreBody,
    query=SessionLogQuery,
    refusals=(404, 409, 412, 413),
    headers=VERSION,
)
async def restore(request: ApiRequest) -> Response:
    """Brings a memory back that was deleted, or makes it again what it was at a version. With If-Match only
    at that version. Where it is not deleted and no version is named nothing changes."""
    query = await request.read_query(SessionLogQuery)
    body = await request.read_body(RestoreBody)
    changed = await request.gateway.memory.restore(
        request.principal,
        request.path_id("memory_id"),
        to=body.to_version,
        version=request.if_match,
        session_id=query.session_id,
    )
    return _memory(changed.row)


@endpoint(
    "POST",
    "/api/memory/{memory_id}/erase",
    "memory.erase",
    {204: (None,)},
    refusals=(404, 412),
    headers=VERSION,
)
async def erase(request: ApiRequest) -> Response:
    """Removes a memory for good, with its versions, its evidence and its bytes; also one that was deleted.
    With If-Match only at that version."""
    await request.gateway.memory.erase(
        request.principal, request.path_id("memory_id"), version=request.if_match
    )
    return Response(status_code=204)


@endpoint(
    "POST",
    "/api/memory/{memory_id}/confirm",
    "memory.confirm",
    {200: (MemoryItem,)},
    query=SessionLogQuery,
    refusals=(404, 409, 412),
    headers=VERSION,
)
async def confirm(request: ApiRequest) -> Response:
    """Takes a memory out of quarantine: from now on it is recalled. With If-Match only at that version, which
    is the one that was read."""
    query = await request.read_query(SessionLogQuery)
    changed = await request.gateway.memory.confirm(
        request.principal,
        request.path_id("memory_id"),
        version=request.if_match,
        session_id=query.session_id,
    )
    return _memory(changed.row)


@endpoint(
    "POST",
    "/api/memory/correct",
    "memory.correct",
    {200: (MemoryChanges,)},
    CorrectBody,
    refusals=(404, 409, 412, 413),
    headers=VERSION,
)
async def correct(request: ApiRequest) -> Response:
    """Corrects a memory; with If-Match only at that version. What depended on it is flagged, and is among the
    `changed`."""
    body = await request.read_body(CorrectBody)
    quoted = body.evidence.evidence if isinstance(body.evidence, EvidenceBody) else None
    why = body.evidence if isinstance(body.evidence, str) else None
    changed = await request.gateway.memory.correct(
        request.principal,
        body.memory_id,
        body.action,
        evidence=quoted,
        new_content=body.new_content,
        version=request.if_match,
        reason=why or f"Its user asked for it ({body.action}).",
    )
    return json_reply(MemoryChanges.of(changed, 1 if body.action == "replace" else 0))


@endpoint(
    "POST",
    "/api/memory/merge",
    "memory.merge",
    {201: (MemoryChanges,)},
    MergeBody,
    refusals=(404, 409, 412, 413),
)
async def merge(request: ApiRequest) -> Response:
    """Makes one memory of several, which point to it from now on."""
    body = await request.read_body(MergeBody)
    changed = await request.gateway.memory.merge(request.principal, body.memory_ids)
    return json_reply(MemoryChanges.of(changed, 0), 201)


async def _deleted(request: ApiRequest, query: MemoriesQuery) -> Response:
    if query.model_fields_set - {"deleted", "limit", "before", "user_id"}:
        raise InvalidRequest("deleted goes with limit and before only: no more is known of what was deleted.")
    gone = await request.gateway.memory.deleted(
        request.principal,
        limit=query.limit + 1,
        before=decode_cursor(query.before) if query.before is not None else None,
    )
    page = gone[: query.limit]
    more = len(gone) > query.limit
    return json_reply(
        MemoryPage(
            memories=[],
            deleted=[DeletedItem.of(each) for each in page],
            next=encode_cursor(page[-1].deleted_at, page[-1].id) if more else None,
        )
    )


def _memory(row: MemoryRow, status: int = 200) -> Response:
    headers = _etag(row) | ({"location": f"/api/memory/{row.id}"} if status == 201 else {})
    return json_reply(MemoryItem.of(row), status, headers)


def _etag(row: MemoryRow) -> dict[str, str]:
    return {"etag": f'"{row.version}"'}
