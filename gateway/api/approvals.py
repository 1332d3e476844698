"""A person's say in tool calls: approve, deny, look at what was granted, take it back."""

from typing import Any, Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from gateway.api.bodies import Body, Reply
from gateway.api.replies import json_reply
from gateway.api.requests import gateway_of, path_id, path_text, principal_of, read_body, span_of
from gateway.events.calls import Decision, Scope
from gateway.storage.decisions import ApprovalRow, Grant


class DecisionBody(Body):
    """What a person decides about a call."""

    decision: Literal["approve", "deny"]
    scope: Scope = Field("once", description="session and always: this tool is not asked about again.")
    reason: str | None = Field(
        None, max_length=2000, description="The reason of a denial, which the model reads."
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
        verdict = row.verdict
        decided: dict[str, Any] = {}
        if verdict is not None:
            decided = {
                "decision": verdict.decision,
                "by": verdict.by,
                "decided_at": verdict.at,
                "scope": verdict.scope,
                "answer": verdict.reason,
                "edited_arguments": verdict.arguments,
            }
        return cls(
            session_id=row.session_id,
            turn_id=row.turn_id,
            tool_call_id=row.tool_call_id,
            name=row.name,
            arguments=row.arguments,
            reason=row.reason,
            requested_at=row.requested_at,
            expires_at=row.expires_at,
            **decided,
        )


class ApprovalsReply(Reply):
    """The caller's calls that wait for a decision."""

    approvals: list[Approval]


class ToolGrant(Reply):
    """A tool that may run without asking."""

    tool: str
    session_id: str | None = Field(None, description="Absent: in all of the caller's sessions.")
    granted_at: int

    @classmethod
    def of(cls, grant: Grant) -> "ToolGrant":
        return cls(tool=grant.tool, session_id=grant.session_id, granted_at=grant.at)


class Grants(Reply):
    """What the caller allowed to run without asking."""

    grants: list[ToolGrant]


async def decide(request: Request) -> Response:
    """Approves or denies a call that waits; its turn goes on. The same decision again changes nothing."""
    body = await read_body(request, DecisionBody)
    turn_id = path_id(request, "turn_id")
    span_of(request).follows(turn_id)
    row = await gateway_of(request).approvals.decide(
        principal_of(request),
        path_id(request, "session_id"),
        turn_id,
        path_text(request, "tool_call_id"),
        "approved" if body.decision == "approve" else "denied",
        scope=body.scope,
        reason=body.reason,
        arguments=body.arguments,
    )
    return json_reply(Approval.of(row))


async def read(request: Request) -> Response:
    """A call that needs, or needed, a decision."""
    row = await gateway_of(request).approvals.read(
        principal_of(request),
        path_id(request, "session_id"),
        path_id(request, "turn_id"),
        path_text(request, "tool_call_id"),
    )
    return json_reply(Approval.of(row))


async def waiting(request: Request) -> Response:
    """The caller's calls that wait for a decision, at most 200: those that have waited longest."""
    rows = await gateway_of(request).approvals.waiting(principal_of(request))
    return json_reply(ApprovalsReply(approvals=[Approval.of(row) for row in rows]))


async def grants(request: Request) -> Response:
    """The tools that the caller allowed to run without asking."""
    found = await gateway_of(request).approvals.grants(principal_of(request))
    return json_reply(Grants(grants=[ToolGrant.of(grant) for grant in found]))


async def revoke(request: Request) -> Response:
    """Asks about a tool again, in all sessions."""
    await gateway_of(request).approvals.revoke(principal_of(request), path_text(request, "tool"))
    return Response(status_code=204)
