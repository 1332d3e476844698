"""What is remembered of you: keep, list, read, correct, merge, forget."""

from starlette.requests import Request
from starlette.responses import Response

from gateway.api.cursors import decode_cursor, encode_cursor
from gateway.api.memory_bodies import (
    CorrectBody,
    EvidenceBody,
    MemoriesQuery,
    MemoryPatch,
    MergeBody,
    NewMemoryBody,
)
from gateway.api.memory_replies import DeletedItem, MemoryChanges, MemoryDetails, MemoryItem, MemoryPage
from gateway.api.replies import json_reply
from gateway.api.requests import gateway_of, if_match, path_id, principal_of, read_body, read_query
from gateway.errors import InvalidRequest
from gateway.service.memory_access import ScopeIds
from gateway.storage.memories import MemoryRow


async def create(request: Request) -> Response:
    """Remembers something. What is remembered word for word already is reinforced instead: 200, not 201."""
    body = await read_body(request, NewMemoryBody)
    changed = await gateway_of(request).memory.save(
        principal_of(request),
        body.scope_ids,
        body.new,
        evidence=[each.evidence for each in body.evidence],
        depends_on=body.depends_on,
        reason=body.reason,
    )
    return _memory(changed.row, 201 if changed.operation == "remembered" else 200)


async def find(request: Request) -> Response:
    """Your memories, the last changed first; with `q` those with any of its words. With `deleted`, what is
    left of those that were deleted."""
    query = read_query(request, MemoriesQuery)
    if query.deleted:
        return await _deleted(request, query)
    if query.owner_id is not None and query.owner_type is None:
        raise InvalidRequest("owner_id goes with owner_type.")
    if query.q is not None and query.before is not None:
        raise InvalidRequest("q gives one page, the best matches: it does not go with before.")
    rows = await gateway_of(request).memory.list(
        principal_of(request),
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


async def read(request: Request) -> Response:
    """A memory with its versions, evidence and links; also one that is frozen or was replaced."""
    details = await gateway_of(request).memory.read(principal_of(request), path_id(request, "memory_id"))
    return json_reply(MemoryDetails.whole(details), headers=_etag(details.row))


async def change(request: Request) -> Response:
    """Changes what is given of a memory; with If-Match only at that version."""
    body = await read_body(request, MemoryPatch)
    if not body.changes:
        raise InvalidRequest("Say what changes: content, summary, type, importance, tags, pinned, …")
    changed = await gateway_of(request).memory.update(
        principal_of(request),
        path_id(request, "memory_id"),
        body.changes,
        version=if_match(request),
        reason=body.reason,
    )
    return _memory(changed.row)


async def delete(request: Request) -> Response:
    """Forgets a memory: it is out of every list and search. Its versions stay until it is erased."""
    await gateway_of(request).memory.delete(
        principal_of(request), path_id(request, "memory_id"), version=if_match(request)
    )
    return Response(status_code=204)


async def erase(request: Request) -> Response:
    """Removes a memory for good, with its versions, its evidence and its bytes; also one that was deleted.
    With If-Match only at that version."""
    await gateway_of(request).memory.erase(
        principal_of(request), path_id(request, "memory_id"), version=if_match(request)
    )
    return Response(status_code=204)


async def confirm(request: Request) -> Response:
    """Takes a memory out of quarantine: from now on it is recalled. With If-Match only at that version, which
    is the one that was read."""
    changed = await gateway_of(request).memory.confirm(
        principal_of(request), path_id(request, "memory_id"), version=if_match(request)
    )
    return _memory(changed.row)


async def correct(request: Request) -> Response:
    """Corrects a memory; with If-Match only at that version. What depended on it is flagged, and is among the
    `changed`."""
    body = await read_body(request, CorrectBody)
    quoted = body.evidence.evidence if isinstance(body.evidence, EvidenceBody) else None
    why = body.evidence if isinstance(body.evidence, str) else None
    changed = await gateway_of(request).memory.correct(
        principal_of(request),
        body.memory_id,
        body.action,
        evidence=quoted,
        new_content=body.new_content,
        version=if_match(request),
        reason=why or f"Its user asked for it ({body.action}).",
    )
    return json_reply(MemoryChanges.of(changed, 1 if body.action == "replace" else 0))


async def merge(request: Request) -> Response:
    """Makes one memory of several, which point to it from now on."""
    body = await read_body(request, MergeBody)
    changed = await gateway_of(request).memory.merge(principal_of(request), body.memory_ids)
    return json_reply(MemoryChanges.of(changed, 0), 201)


async def _deleted(request: Request, query: MemoriesQuery) -> Response:
    if query.model_fields_set - {"deleted", "limit", "before", "user_id"}:
        raise InvalidRequest("deleted goes with limit and before only: no more is known of what was deleted.")
    gone = await gateway_of(request).memory.deleted(
        principal_of(request),
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
