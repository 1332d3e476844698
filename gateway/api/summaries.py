"""Summaries of sessions."""

from typing import Any, Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response

from gateway.api.bodies import Body, Id, Query, Reply
from gateway.api.replies import json_reply
from gateway.api.requests import gateway_of, path_id, principal_of, read_body, read_query
from gateway.messages import Usage
from gateway.storage.archives import SummaryRow


class SummaryBody(Body):
    session_id: Id


class SummariesQuery(Query):
    user_id: Id | None = Field(None, description="Yours; another user's are refused.")
    project_id: Id | None = Field(None, description="Only sessions of this project.")
    role_id: Id | None = Field(None, description="Only sessions in this role.")
    limit: int = Field(20, ge=1, le=100)


class Summary(Reply):
    """The newest summary of a session, made when its last message was `to_position`."""

    session_id: str
    title: str | None = None
    project_id: str | None = None
    to_position: int
    summary: dict[str, Any] = Field(
        description="goal, constraints, decisions, progress, artifacts, next_actions, risks, open_questions, "
        "trajectory_start, trajectory_end, facts, identifiers."
    )
    trigger: Literal["manual", "idle", "archive"]
    model: str
    prompt_digest: str
    usage: Usage | None = None
    cost: float | None = Field(None, description="US dollars. Absent means unknown.")
    created_at: int

    @classmethod
    def of(cls, row: SummaryRow) -> "Summary":
        return cls.model_validate(row, from_attributes=True)


class SummariesReply(Reply):
    summaries: list[Summary]


async def make(request: Request) -> Response:
    """Makes a session's summary anew; waits until that is done."""
    body = await read_body(request, SummaryBody)
    row = await gateway_of(request).history.summarise(principal_of(request), body.session_id)
    return json_reply(Summary.of(row), 201)


async def read(request: Request) -> Response:
    """The newest summary of a session."""
    row = await gateway_of(request).history.summary(principal_of(request), path_id(request, "session_id"))
    return json_reply(Summary.of(row))


async def find(request: Request) -> Response:
    """Your newest summaries, newest first."""
    query = read_query(request, SummariesQuery)
    rows = await gateway_of(request).history.summaries(
        principal_of(request),
        user_id=query.user_id,
        project_id=query.project_id,
        role_id=query.role_id,
        limit=query.limit,
    )
    return json_reply(SummariesReply(summaries=[Summary.of(row) for row in rows]))
