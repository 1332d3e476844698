"""Compressed histories: compress now, versions, what was archived, undo."""

from typing import Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from gateway.api.bodies import Reply
from gateway.api.downloads import Download
from gateway.api.replies import json_reply
from gateway.api.requests import gateway_of, path_id, path_number, principal_of, settings_of, span_of
from gateway.messages import Usage
from gateway.service.history import Versions
from gateway.storage.archives import CompressionRow

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
    model: str
    prompt_digest: str = Field(description="SHA-256 of the instructions to the summariser.")
    tokens_before: int
    tokens_after: int
    usage: Usage | None = None
    cost: float | None = Field(None, description="US dollars. Absent means unknown.")
    archive_path: str
    archive_size: int = Field(description="Bytes, zipped.")
    sha256: str = Field(description="Of the archive's lines, unzipped.")
    created_at: int

    @classmethod
    def of(cls, row: CompressionRow) -> "CompressionVersion":
        return cls.model_validate(row, from_attributes=True)


class CompressionDetails(CompressionVersion):
    """One version with its summary."""

    summary: dict[str, object]


class CompressionList(Reply):
    """All versions, the oldest first."""

    active: int | None = Field(None, description="The version in force; absent: every message is sent.")
    versions: list[CompressionVersion]

    @classmethod
    def of(cls, versions: Versions) -> "CompressionList":
        return cls(active=versions.active, versions=[CompressionVersion.of(row) for row in versions.rows])


async def compress(request: Request) -> Response:
    """Archives older messages and puts a summary in their place, now; waits until that is done. 409
    `nothing_to_compress` with the counts when it would not be worth it, `compression_in_progress` when one
    runs already."""
    session_id, span = path_id(request, "session_id"), span_of(request)
    span.compresses(session_id)
    try:
        row = await gateway_of(request).history.compress(principal_of(request), session_id)
    finally:
        span.compressed(session_id)
    return json_reply(CompressionDetails.model_validate(row, from_attributes=True), 201)


async def versions(request: Request) -> Response:
    """Every version of the session's compressed history."""
    found = await gateway_of(request).history.versions(principal_of(request), path_id(request, "session_id"))
    return json_reply(CompressionList.of(found))


async def version(request: Request) -> Response:
    """One version with its summary."""
    row = await gateway_of(request).history.version(
        principal_of(request), path_id(request, "session_id"), path_number(request, "version", MAX_VERSIONS)
    )
    return json_reply(CompressionDetails.model_validate(row, from_attributes=True))


async def archive(request: Request) -> Response:
    """What a version archived, byte for byte: zipped JSON, one message a line."""
    session_id = path_id(request, "session_id")
    number = path_number(request, "version", MAX_VERSIONS)
    chunks = await gateway_of(request).history.version_archive(principal_of(request), session_id, number)
    return Download(
        chunks,
        name=f"{session_id}-{number}.jsonl.gz",
        media_type="application/gzip",
        send_timeout=settings_of(request).send_timeout,
    )


async def activate(request: Request) -> Response:
    """Puts another version in force, from the next turn on; 0 sends every message again. Nothing is
    lost."""
    number = path_number(request, "version", MAX_VERSIONS)
    found = await gateway_of(request).history.activate(
        principal_of(request), path_id(request, "session_id"), number
    )
    return json_reply(CompressionList.of(found))
