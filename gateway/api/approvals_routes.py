"""A person's say in tool calls: approve, deny, look at what was granted, take it back."""

from typing import Any, Literal

from pydantic import Field
from starlette.responses import Response

from gateway.events.tool_calls import Decision, Scope
from gateway.http.endpoint import endpoint
from gateway.http.json_types import Body, Prose, Reply, json_reply
from gateway.http.requests import ApiRequest
from gateway.service.approvals import MAX_REASON
from gateway.storage.decisions.approvals import ApprovalRow


class DecisionBody(Body):
    """What a person decides about a call."""

    decision: Literal["approve", "deny"]
    scope: Scope = Field("once", description="session and always: this tool is not asked about again.")
    reason: Prose | None = Field(
        None, max_length=MAX_REASON, description="The reason of a denial, which the model reads."
    )
    arguments: dict[str, Any] | None = Field(
        None, description="Run the call with these instead of the model's; must fit the tool's schema."
    )


class Approval(Reply):
    """A call that needs, or needed, a person's decision."""

    session_id: str
    turn_id: str
    tool_call_id: str
    name: str
    arguments: dict[str, Any]
    reason: str | None = Field(None, description="Why it was asked about.")
    requested_at: int
    expires_at: int
    decision: Decision | None = Field(None, description="Absent while nobody decided.")
    by: str | None = None
    decided_at: int | None = None
    scope: Scope | None = None
    answer: str | None = Field(None, description="The reason of a denial, which the model reads.")
    edited_arguments: dict[str, Any] | None = None

    @classmethod
    def of(cls, row: ApprovalRow) -> "Approval":
        if (verdict := row.verdict) is None:
            return cls.from_row(row)
        return cls.from_row(
            row,
            decision=verdict.decision,
            by=verdict.by,
            decided_at=verdict.at,
            scope=verdict.scope,
            answer=verdict.reason,
            edited_arguments=verdict.arguments,
        )


class ApprovalsReply(Reply):
    """The caller's calls that wait for a decision."""

    approvals: list[Approval]


class ToolGrant(Reply):
    """A tool that may run without asking."""

    tool: str
    session_id: str | None = Field(None, description="Absent: in all of the caller's sessions.")
    granted_at: int


class Grants(Reply):
    """What the caller allowed to run without asking."""

    grants: list[ToolGrant]


@endpoint(
    "POST",
    "/api/sessions/{session_id}/turns/{turn_id}/approvals/{tool_call_id}",
    "approval.decide",
    {200: (Approval,)},
    DecisionBody,
    refusals=(404, 409, 413),
)
async def decide(request: ApiRequest) -> Response:
    """Approves or denies a call that waits; its turn goes on. The same decision again changes nothing."""
    body = await request.read_body(DecisionBody)
    turn_id = request.path_id("turn_id")
    request.span.follows(turn_id)
    row = await request.gateway.approvals.decide(
        request.principal,
        request.path_id("session_id"),
        turn_id,
        request.path_text("tool_call_id"),
        "approved" if body.decision == "approve" else "denied",
        scope=body.scope,
        reason=body.reason,
        arguments=body.arguments,
    )
    return json_reply(Approval.of(row))


@endpoint(
    "GET",
    "/api/sessions/{session_id}/turns/{turn_id}/approvals/{tool_call_id}",
    "approval.read",
    {200: (Approval,)},
    refusals=(404,),
)
async def read(request: ApiRequest) -> Response:
    """A call that needs, or needed, a decision."""
    row = await request.gateway.approvals.read(
        request.principal,
        request.path_id("session_id"),
        request.path_id("turn_id"),
        request.path_text("tool_call_id"),
    )
    return json_reply(Approval.of(row))


@endpoint("GET", "/api/approvals", "approval.list", {200: (ApprovalsReply,)})
async def waiting(request: ApiRequest) -> Response:
    """The caller's calls that wait for a decision, at most 200: those that have waited longest."""
    rows = await request.gateway.approvals.waiting(request.principal)
    return json_reply(ApprovalsReply(approvals=[Approval.of(row) for row in rows]))


@endpoint("GET", "/api/grants", "grant.list", {200: (Grants,)})
async def grants(request: ApiRequest) -> Response:
    """The tools that the caller allowed to run without asking."""
    found = await request.gateway.approvals.grants(request.principal)
    return json_reply(Grants(grants=[ToolGrant.from_row(grant, granted_at=grant.at) for grant in found]))


@endpoint("DELETE", "/api/grants/{tool}", "grant.revoke", {204: (None,)}, refusals=(404,))
async def revoke(request: ApiRequest) -> Response:
    """Asks about a tool again, in all sessions."""
    await request.gateway.approvals.revoke(request.principal, request.path_text("tool"))
    return Response(status_code=204)
