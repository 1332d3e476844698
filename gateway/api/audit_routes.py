"""The audit: who did what in the caller's tenant."""

from collections.abc import AsyncGenerator, Sequence
from typing import Self

from pydantic import Field
from starlette.responses import Response

from gateway.http.cursors import LATEST
from gateway.http.downloads import Download, with_trouble
from gateway.http.endpoint import Cost, endpoint
from gateway.http.json_types import Query, Reply, json_body, json_reply
from gateway.http.requests import NDJSON, ApiRequest
from gateway.storage.audit import AuditFilter, StoredEntry


class AuditQuery(Query):
    """Which entries. Times are Unix milliseconds."""

    actor: str | None = Field(None, min_length=1, max_length=256, description="The id of a user.")
    action: str | None = Field(
        None,
        pattern=r"^[a-z0-9_]+(\.[a-z0-9_]+)?$",
        max_length=100,
        description="One action, such as `session.delete`, or a subject: `session`.",
    )
    since: int | None = Field(None, ge=0, le=LATEST)
    until: int | None = Field(None, ge=0, le=LATEST, description="Not included.")

    @property
    def wanted(self) -> AuditFilter:
        return AuditFilter(self.actor, self.action, self.since, self.until)


class AuditPageQuery(AuditQuery):
    """Which entries, page by page."""

    before: int | None = Field(None, ge=1, le=LATEST, description="`next` of the page before.")
    limit: int = Field(50, ge=1, le=500)


class AuditItem(Reply):
    """One thing that was done, or refused."""

    number: int = Field(description="The order in which they were stored.")
    at: int = Field(description="Unix milliseconds.")
    tenant: str
    actor: str | None = Field(
        None, description="A user's id, `cli:…`, or `erased:…`; absent: nobody knows who."
    )
    key_id: str | None = None
    address: str | None = None
    action: str = Field(description="Such as `session.delete`; `access`: it was refused, and only reads.")
    subject_kind: str | None = None
    subject_id: str | None = None
    result: str = Field(description="`done`, `refused:<code>` or `failed:<code>`.")
    request_id: str | None = None
    times: int = Field(description="How many equal refusals this stands for, or how many ended.")

    @classmethod
    def of(cls, stored: StoredEntry) -> Self:
        return cls.from_row(stored.entry, number=stored.number)


class AuditPage(Reply):
    """The newest first; `next` when there are more."""

    entries: list[AuditItem]
    next: int | None = None


@endpoint("GET", "/api/audit", "audit.list", {200: (AuditPage,)}, query=AuditPageQuery)
async def find(request: ApiRequest) -> Response:
    """Who did what in your tenant, the newest first; for admins."""
    asked = await request.read_query(AuditPageQuery)
    found = await request.gateway.audit.list(
        request.principal, asked.wanted, before=asked.before, limit=asked.limit
    )
    more = found[-1].number if len(found) == asked.limit else None
    return json_reply(AuditPage(entries=[AuditItem.of(each) for each in found], next=more))


@endpoint("GET", "/api/audit/export", "audit.export", {200: (NDJSON,)}, query=AuditQuery, cost=Cost("copy"))
async def export(request: ApiRequest) -> Response:
    """The same as a file, one JSON object a line; for admins."""
    entries = request.gateway.audit.export(request.principal, (await request.read_query(AuditQuery)).wanted)
    return Download(
        with_trouble(_lines(entries), "audit_export_failed"),
        name="audit.jsonl",
        media_type=NDJSON,
        send_timeout=request.settings.send_timeout,
    )


async def _lines(entries: AsyncGenerator[Sequence[StoredEntry]]) -> AsyncGenerator[bytes]:
    async for some in entries:
        yield b"".join([json_body(AuditItem.of(each)) + b"\n" for each in some])
