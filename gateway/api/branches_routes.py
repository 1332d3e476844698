"""The branches of a session: turns that were asked after another one than the last."""

from pydantic import Field
from starlette.responses import Response

from gateway.http.endpoint import endpoint
from gateway.http.json_types import Reply, json_reply
from gateway.http.requests import ApiRequest
from gateway.storage.branches import MAX_BRANCHES, SessionBranches


class BranchReply(Reply):
    branch: int
    parent: int | None = Field(None, description="The branch that it has its beginning in common with.")
    fork_turn_id: str | None = Field(None, description="The last turn that both have; absent: none.")
    last_turn_id: str | None = Field(None, description="Its newest turn; absent before the first.")
    turns: int = Field(description="Turns of its own, which its parent does not have.")
    created_at: int


class BranchList(Reply):
    active: int = Field(description="The branch in which turns go on.")
    branches: list[BranchReply]

    @classmethod
    def of(cls, found: SessionBranches) -> "BranchList":
        return cls(active=found.active, branches=[BranchReply.from_row(row) for row in found.rows])


@endpoint("GET", "/api/sessions/{session_id}/branches", "branch.list", {200: (BranchList,)}, refusals=(404,))
async def find(request: ApiRequest) -> Response:
    """All branches of a session, in the order in which they were made, and the active one."""
    found = await request.gateway.sessions.branches(request.principal, request.path_id("session_id"))
    return json_reply(BranchList.of(found))


@endpoint(
    "POST",
    "/api/sessions/{session_id}/branches/{branch}/activate",
    "branch.activate",
    {200: (BranchList,)},
    refusals=(404, 409),
)
async def activate(request: ApiRequest) -> Response:
    """Turns go on in that branch, with its compressions and its prompt as they were left; 409 while a turn
    runs."""
    session_id, branch = request.path_id("session_id"), request.path_number("branch", MAX_BRANCHES)
    return json_reply(
        BranchList.of(await request.gateway.sessions.activate_branch(request.principal, session_id, branch))
    )
