"""Artifacts: uploaded, listed, downloaded, read in parts, deleted."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from types import MappingProxyType

from starlette.responses import Response

from gateway.api.artifact_bodies import (
    ArtifactBody,
    ArtifactCompact,
    ArtifactItem,
    ArtifactPage,
    ArtifactPart,
    ArtifactsQuery,
    PartQuery,
    PlaceFields,
    UploadQuery,
)
from gateway.artifacts.reading import MAX_TOKENS, selector_of
from gateway.errors import InvalidRequest, TooLarge
from gateway.http.conditional_requests import is_known
from gateway.http.cursors import decode_cursor, encode_cursor
from gateway.http.downloads import Download
from gateway.http.endpoint import Cost, endpoint
from gateway.http.error_responses import refusal
from gateway.http.json_types import artifact_ref, json_reply
from gateway.http.ranges import Unsatisfiable, range_of
from gateway.http.requests import ApiRequest
from gateway.service.artifacts import UploadPlace

SUFFIXES = {
    "text/plain": ".txt",
    "text/csv": ".csv",
    "text/tab-separated-values": ".tsv",
    "text/markdown": ".md",
    "application/json": ".json",
    "application/pdf": ".pdf",
    "image/png": ".png",
    "image/jpeg": ".jpg",
    "image/gif": ".gif",
    "image/webp": ".webp",
}
"""Types that a download keeps, with the name of a nameless file of each: none of them can run
anything. All others are sent as bytes."""

BYTES = "application/octet-stream"
CHUNK_SIZE = 65_536
"""Bytes that are sent at a time: a reader is dropped that does not take so many in `send_timeout`."""

AS_IT_IS = "Send the file as it is, in a body of its own content type"

RANGE = MappingProxyType(
    {
        "Range": "One range of bytes of the content, such as `bytes=0-1023`: 206.",
        "If-Range": "The ETag of the content that the range goes on with; another: all of it.",
        "If-None-Match": "ETags that are known: 304 when the content has one of them.",
    }
)

ISOLATED = {
    # Stored, but asked for again each time: who may read it is checked, and what was deleted is gone.
    "cache-control": "private, no-cache",
    "content-security-policy": "sandbox; default-src 'none'",
    "cross-origin-resource-policy": "same-origin",
    "accept-ranges": "bytes",
}


@endpoint(
    "POST",
    "/api/artifacts",
    "artifact.keep",
    {201: (ArtifactCompact,)},
    ArtifactBody,
    query=UploadQuery,
    upload=BYTES,
    refusals=(404, 409, 413, 429, 503),
)
async def keep(request: ApiRequest) -> Response:
    """Keeps a content. A body of any type but application/json is the content itself, and so is JSON with
    `raw=1`; any other JSON says what is to be kept. A form (multipart) is refused."""
    query, artifacts, who = (
        await request.read_query(UploadQuery),
        request.gateway.artifacts,
        request.principal,
    )
    mime = request.content_type
    if mime == "multipart/form-data" and query.raw == "0":
        raise InvalidRequest(
            f"The body is a form. {AS_IT_IS}: curl '…/api/artifacts?name=notes.txt' "
            "-H 'content-type: text/plain' --data-binary @notes.txt"
        )
    if query.raw == "1" or mime not in {"", "application/json"}:
        row = await artifacts.upload(who, request.read_content(), _place(query), name=query.name, mime=mime)
    elif query.model_fields_set - {"raw"}:
        raise InvalidRequest(
            "With a JSON body, name, session_id and their like stand in the body; add raw=1 to "
            "keep the JSON itself."
        )
    else:
        body = await _described(request)
        row = await artifacts.keep(who, body.given, _place(body), metadata=body.metadata)
    reading = await artifacts.reading(row)
    return json_reply(
        ArtifactCompact.whole(row, reading), 201, headers={"location": f"/api/artifacts/{row.ref}"}
    )


def _place(given: PlaceFields) -> UploadPlace:
    return UploadPlace(**{name: getattr(given, name) for name in PlaceFields.model_fields})


async def _described(request: ApiRequest) -> ArtifactBody:
    try:
        return await request.read_body(ArtifactBody)
    except TooLarge as error:
        raise TooLarge(
            f"{error.message} {AS_IT_IS}, and JSON with raw=1 in the query.", details=error.details
        ) from None
    except InvalidRequest as error:
        message = error.message.removesuffix(".")
        raise InvalidRequest(f"{message}. To keep a JSON file as it is, add raw=1 to the query.") from None


@endpoint(
    "GET",
    "/api/artifacts",
    "artifact.list",
    {200: (ArtifactPage,)},
    query=ArtifactsQuery,
    refusals=(404,),
    cost=Cost("search", only_with=("q",)),
)
async def find(request: ApiRequest) -> Response:
    """Your artifacts, the newest first, and the bytes they use; with `q` those with all of its words."""
    query = await request.read_query(ArtifactsQuery)
    page = await request.gateway.artifacts.find(
        request.principal,
        limit=query.limit,
        before=decode_cursor(query.before) if query.before is not None else None,
        session_id=query.session_id,
        turn_id=query.turn_id,
        kind=query.kind,
        words=query.q,
    )
    return json_reply(
        ArtifactPage(
            artifacts=[ArtifactItem.of(row, used_in=page.used_in.get(row.ref)) for row in page.rows],
            used=page.space_used.used,
            quota=page.quota,
            next=encode_cursor(*page.next) if page.next is not None else None,
        )
    )


@endpoint(
    "GET",
    "/api/artifacts/{ref}",
    "artifact.read",
    {200: (BYTES, ArtifactPart), 206: (BYTES,), 304: (None,)},
    query=PartQuery,
    refusals=(404, 416, 429, 500),
    headers=RANGE,
    cost=Cost("extract", only_with=("lines", "bytes", "json_path", "search")),
)
async def read(request: ApiRequest) -> Response:
    """The content as a file to keep, whole or one range of it; with a query, a part of it as JSON. What
    cannot be read is 400: `bad_range`, `bad_search`, `not_text`, `bad_json_path`, `not_json`,
    `json_path_too_slow`."""
    ref, query = _ref(request), await request.read_query(PartQuery)
    if not query.model_fields_set:
        return await _download(request, ref)
    selector = selector_of(
        lines=query.lines, bytes=query.bytes, json_path=query.json_path, search=query.search
    )
    part = await request.gateway.artifacts.part(
        request.principal, ref, selector, most_tokens=query.max_tokens or MAX_TOKENS
    )
    return json_reply(ArtifactPart.of(ref, part))


@endpoint("GET", "/api/artifacts/{ref}/compact", "artifact.read", {200: (ArtifactCompact,)}, refusals=(404,))
async def compact(request: ApiRequest) -> Response:
    """What is in an artifact, in short, and how to read a part of it."""
    artifacts = request.gateway.artifacts
    found = await artifacts.compact(request.principal, _ref(request))
    return json_reply(ArtifactCompact.whole(found.row, await artifacts.reading(found.row), found.summary))


@endpoint("DELETE", "/api/artifacts/{ref}", "artifact.delete", {204: (None,)}, refusals=(404,))
async def delete(request: ApiRequest) -> Response:
    """Removes an artifact at once, whichever session uses it. Its compact form stays in messages."""
    await request.gateway.artifacts.delete(request.principal, _ref(request))
    return Response(status_code=204)


async def _download(request: ApiRequest, ref: str) -> Response:
    artifacts = request.gateway.artifacts
    row = await artifacts.get(request.principal, ref)
    etag = f'"{row.sha256}"'
    headers = {**ISOLATED, "etag": etag}
    if is_known(request.headers, etag):
        return Response(status_code=304, headers=headers)
    is_head = request.method == "HEAD"
    try:  # a range is one of GET alone (RFC 9110, section 14.2)
        part = None if is_head else range_of(request.headers, row.size, etag)
    except Unsatisfiable as error:
        response = refusal(request.scope, error, 416)
        response.headers["content-range"] = f"bytes */{row.size}"
        return response
    start, end = part or (0, row.size)
    headers["content-length"] = str(end - start)
    if part is not None:
        headers["content-range"] = f"bytes {start}-{end - 1}/{row.size}"
    chunks = await artifacts.content(row, start, start if is_head else end)
    return Download(
        _small(chunks),
        name=row.name or row.ref + SUFFIXES.get(row.mime, ".bin"),
        media_type=row.mime if row.mime in SUFFIXES else BYTES,
        send_timeout=request.settings.send_timeout,
        status=206 if part is not None else 200,
        headers=headers,
    )


async def _small(chunks: AsyncGenerator[bytes]) -> AsyncIterator[bytes]:
    async with aclosing(chunks):
        async for chunk in chunks:
            for start in range(0, len(chunk), CHUNK_SIZE):
                yield chunk[start : start + CHUNK_SIZE]


def _ref(request: ApiRequest) -> str:
    try:
        return artifact_ref(request.path_params["ref"])
    except ValueError as error:
        raise InvalidRequest(f"ref {error}.") from None
