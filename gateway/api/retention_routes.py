"""Retention: a tenant's rule, and what it would take away."""

from typing import Annotated, Literal, Self

from pydantic import Field
from starlette.responses import Response

from gateway.auth import tenant_of
from gateway.http.endpoint import Cost, endpoint
from gateway.http.json_types import Body, Query, Reply, json_reply
from gateway.http.requests import ApiRequest
from gateway.ids import ID_PATTERN
from gateway.service.retention import Due
from gateway.storage.retention import RetentionRule

MAX_DAYS = 36_500
Tenant = Annotated[str, Field(pattern=ID_PATTERN)]
ArchiveDays = Annotated[
    int | None,
    Field(ge=0, le=MAX_DAYS, description="Days without use until rows move to the archive; 0: never."),
]
DeleteDays = Annotated[
    int | None, Field(ge=0, le=MAX_DAYS, description="Days without use until it is deleted; 0: never.")
]


class RetentionBody(Body):
    """A rule; what is absent follows the settings archive_after and delete_after."""

    archive_days: ArchiveDays = None
    delete_days: DeleteDays = None
    fixed: bool = Field(
        False, description="Sessions have none of their own; those that they had do not count."
    )
    tenant: Tenant | None = Field(None, description="Absent: yours. Others need an admin of default.")


class RetentionQuery(Query):
    tenant: Tenant | None = Field(None, description="Absent: yours. Others need an admin of default.")


class RetentionReply(Reply):
    """A tenant's rule, and in seconds what holds where it says nothing."""

    tenant: str
    archive_days: int | None = None
    delete_days: int | None = None
    fixed: bool = False
    changed_by: str | None = None
    changed_at: int | None = None
    archive_after: float | None = Field(None, description="The setting; absent: never.")
    delete_after: float | None = Field(None, description="The setting; absent: never.")

    @classmethod
    def of(cls, request: ApiRequest, tenant: str, rule: RetentionRule | None) -> Self:
        settings = request.settings
        return cls.from_row(
            rule,
            tenant=tenant,
            archive_after=settings.archive_after,
            delete_after=settings.delete_after,
        )


class DueReply(Reply):
    """A session that would go."""

    session_id: str
    user_id: str
    tenant: str
    action: Literal["archive", "delete"]
    updated_at: int = Field(description="When it was used last, Unix milliseconds.")
    since: int = Field(description="Since when it is due.")

    @classmethod
    def of(cls, due: Due) -> Self:
        session = due.session
        return cls(
            session_id=session.id,
            user_id=session.owner,
            tenant=tenant_of(session.owner),
            action=due.action,
            updated_at=session.updated_at,
            since=due.since,
        )


class RetentionPreview(Reply):
    """What retention would do now, and nothing was done."""

    deleted: int = Field(description="Sessions that would be deleted.")
    archived: int = Field(description="Sessions that would be archived.")
    held: int = Field(description="Sessions that would be deleted but for a legal hold.")
    sessions: list[DueReply] = Field(description="The first of them, at most 1,000.")


@endpoint(
    "GET", "/api/retention", "retention.read", {200: (RetentionReply,)}, query=RetentionQuery, refusals=(403,)
)
async def read(request: ApiRequest) -> Response:
    """A tenant's rule of retention, and the settings; for admins."""
    tenant = (await request.read_query(RetentionQuery)).tenant
    rule = await request.gateway.retention.rule(request.principal, tenant)
    return json_reply(RetentionReply.of(request, tenant or request.principal.tenant, rule))


@endpoint(
    "PUT", "/api/retention", "retention.change", {200: (RetentionReply,)}, RetentionBody, refusals=(403, 413)
)
async def put(request: ApiRequest) -> Response:
    """Gives a tenant another rule, which holds at once; for admins."""
    asked = await request.read_body(RetentionBody)
    tenant = asked.tenant or request.principal.tenant
    request.concerns("tenant", tenant)
    rule = await request.gateway.retention.put(
        request.principal,
        tenant=asked.tenant,
        archive_days=asked.archive_days,
        delete_days=asked.delete_days,
        fixed=asked.fixed,
    )
    return json_reply(RetentionReply.of(request, tenant, rule))


@endpoint(
    "GET",
    "/api/retention/preview",
    "retention.preview",
    {200: (RetentionPreview,)},
    refusals=(403,),
    cost=Cost("search"),
)
async def preview(request: ApiRequest) -> Response:
    """What would be deleted and archived now in your tenant, or in all; for admins."""
    found = await request.gateway.retention.preview(request.principal)
    return json_reply(
        RetentionPreview(
            deleted=found.deleted,
            archived=found.archived,
            held=found.held,
            sessions=[DueReply.of(each) for each in found.sessions],
        )
    )
