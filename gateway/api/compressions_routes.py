"""Compressed histories: compress now, versions, what was archived, undo."""

from typing import Literal

from pydantic import Field
from starlette.responses import Response

from gateway.http.downloads import Download
from gateway.http.endpoint import Cost, endpoint
from gateway.http.json_types import Reply, json_reply
from gateway.http.requests import ApiRequest
from gateway.messages import Usage
from gateway.service.compressions_and_summaries import Versions

MAX_VERSIONS = 10**6


class CompressionVersion(Reply):
    """One version. Positions count the session's messages from 1."""

    session_id: str
    version: int
    parent: int | None = Field(None, description="The version that covers what comes before.")
    from_position: int
    to_position: int
    kept_position: int | None = Field(None, description="A message in the range that is sent verbatim.")
    trigger: Literal["manual", "automatic", "overflow"]
    source: Literal["messages", "summary_and_messages"] = Field(description="What the summary was made of.")
    model: str = Field(description="Empty where no model could write the summary.")
    without_model: bool = Field(
        False,
        description="Whether the summary was made without a model: of the facts that were known, and of "
        "first and last lines.",
    )
    prompt_digest: str = Field(description="SHA-256 of the instructions to the summariser.")
    tokens_before: int
    tokens_after: int
    usage: Usage | None = None
    cost: float | None = Field(None, description="US dollars. Absent means unknown.")
    archive_path: str
    archive_size: int = Field(description="Bytes, zipped.")
    sha256: str = Field(description="Of the archive's lines, unzipped.")
    created_at: int
    branch: int = Field(description="The branch whose messages it covers.")


class CompressionDetails(CompressionVersion):
    """One version with its summary."""

    summary: dict[str, object]


class CompressionList(Reply):
    """All versions that hold in the active branch, the oldest first."""

    active: int | None = Field(None, description="The version in force; absent: every message is sent.")
    versions: list[CompressionVersion]

    @classmethod
    def of(cls, versions: Versions) -> "CompressionList":
        return cls(
            active=versions.active, versions=[CompressionVersion.from_row(row) for row in versions.rows]
        )


@endpoint(
    "POST",
    "/api/sessions/{session_id}/compress",
    "session.compress",
    {201: (CompressionDetails,)},
    refusals=(404, 409, 502),
    cost=Cost("model"),
)
async def compress(request: ApiRequest) -> Response:
    """Archives older messages and puts a summary in their place, now; waits until that is done. 409
    `nothing_to_compress` with the counts when it would not be worth it, `compression_in_progress` when one
    runs already."""
    session_id, span = request.path_id("session_id"), request.span
    span.compresses(session_id)
    try:
        row = await request.gateway.history.compress(request.principal, session_id)
    finally:
        span.compressed(session_id)
    return json_reply(CompressionDetails.from_row(row), 201)


@endpoint(
    "GET",
    "/api/sessions/{session_id}/compressions",
    "compression.list",
    {200: (CompressionList,)},
    refusals=(404,),
)
async def versions(request: ApiRequest) -> Response:
    """Every version of the session's compressed history."""
    found = await request.gateway.history.versions(request.principal, request.path_id("session_id"))
    return json_reply(CompressionList.of(found))


@endpoint(
    "GET",
    "/api/sessions/{session_id}/compressions/{version}",
    "compression.read",
    {200: (CompressionDetails,)},
    refusals=(404,),
)
async def version(request: ApiRequest) -> Response:
    """One version with its summary."""
    row = await request.gateway.history.version(
        request.principal, request.path_id("session_id"), request.path_number("version", MAX_VERSIONS)
    )
    return json_reply(CompressionDetails.from_row(row))


@endpoint(
    "GET",
    "/api/sessions/{session_id}/compressions/{version}/archive",
    "session.download_archive",
    {200: ("application/gzip",)},
    refusals=(404, 500),
    cost=Cost("copy"),
)
async def archive(request: ApiRequest) -> Response:
    """What a version archived, byte for byte: zipped JSON, one message a line."""
    session_id = request.path_id("session_id")
    number = request.path_number("version", MAX_VERSIONS)
    chunks = await request.gateway.history.version_archive(request.principal, session_id, number)
    return Download(
        chunks,
        name=f"{session_id}-{number}.jsonl.gz",
        media_type="application/gzip",
        send_timeout=request.settings.send_timeout,
    )


@endpoint(
    "POST",
    "/api/sessions/{session_id}/compressions/{version}/activate",
    "compression.activate",
    {200: (CompressionList,)},
    refusals=(404, 409),
)
async def activate(request: ApiRequest) -> Response:
    """Puts another version in force, from the next turn on; 0 sends every message again. Nothing is
    lost."""
    number = request.path_number("version", MAX_VERSIONS)
    found = await request.gateway.history.activate(request.principal, request.path_id("session_id"), number)
    return json_reply(CompressionList.of(found))
