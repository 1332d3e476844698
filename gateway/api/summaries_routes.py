"""Summaries of sessions."""

from typing import Any, Literal, Self

import orjson
from pydantic import Field, model_validator
from starlette.responses import Response

from gateway.api.pasted_conversation import Conversation
from gateway.errors import Forbidden
from gateway.http.endpoint import Cost, endpoint
from gateway.http.json_types import Body, Id, Query, Reply, SessionId, UserId, json_reply
from gateway.http.requests import ApiRequest
from gateway.messages import Message, Usage, text_block


class SummaryBody(Body):
    """A session of yours, or a conversation: its messages, and what was done in it."""

    session_id: SessionId | None = Field(
        None, description="With messages: the session that the summary is of; made if it does not exist."
    )
    user_id: UserId | None = Field(None, description="You; for another user nothing is summarised.")
    project_id: Id | None = Field(None, description="With messages: the project of a new session.")
    role_id: Id | None = Field(None, description="With messages: the role of a new session.")
    messages: Conversation | None = Field(None, description="Absent: those of the session.")
    trajectory: str | list[str | dict[str, Any]] | dict[str, Any] | None = Field(
        None, description="With messages: the steps that were taken, as a text or as JSON."
    )
    trajectory_start: int | None = Field(
        None, ge=0, le=10**9, description="The index of the first message, as your client counts: given back."
    )
    trajectory_end: int | None = Field(
        None, ge=0, le=10**9, description="The index of the last one: given back."
    )

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.messages is None and self.session_id is None:
            raise ValueError("give a session_id or messages")
        if self.messages is None and self.model_fields_set & {"project_id", "role_id", "trajectory"}:
            raise ValueError("project_id, role_id and trajectory go with messages")
        start, end = self.trajectory_start, self.trajectory_end
        if start is not None and end is not None and start > end:
            raise ValueError("trajectory_end must not be before trajectory_start")
        return self

    @property
    def conversation(self) -> list[Message]:
        """What was said, and done last."""
        talk = [each.message for each in self.messages or ()]
        if not self.trajectory:
            return talk
        steps = self.trajectory if isinstance(self.trajectory, list) else [self.trajectory]
        lines = [each if isinstance(each, str) else orjson.dumps(each).decode() for each in steps]
        return [*talk, Message("assistant", [text_block("\n".join(["Steps that were taken:", *lines]))])]


class SummariesQuery(Query):
    user_id: UserId | None = Field(None, description="Yours; another user's are refused.")
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
    trajectory_start: int | None = Field(None, description="As the request gave it, as trajectory_end.")
    trajectory_end: int | None = None


class SummariesReply(Reply):
    summaries: list[Summary]


@endpoint(
    "POST",
    "/api/session/summary",
    "summary.make",
    {201: (Summary,)},
    SummaryBody,
    refusals=(404, 409, 502),
    cost=Cost("model"),
)
async def make(request: ApiRequest) -> Response:
    """Makes a session's summary anew, or one of a conversation that comes along; waits until that is done."""
    body, history, who = (await request.read_body(SummaryBody), request.gateway.history, request.principal)
    if body.user_id not in {None, who.user_id}:
        raise Forbidden("It would be another user's summary: leave user_id out for your own.")
    if body.messages is None:
        row = await history.summarise(who, body.session_id or "")
    else:
        row = await history.summarise_messages(
            who,
            body.conversation,
            session_id=body.session_id,
            project_id=body.project_id,
            role_id=body.role_id,
        )
    ends = {name: getattr(body, name) for name in ("trajectory_start", "trajectory_end")}
    return json_reply(Summary.from_row(row, **ends), 201)


@endpoint("GET", "/api/session/summary/{session_id}", "summary.read", {200: (Summary,)}, refusals=(404,))
async def read(request: ApiRequest) -> Response:
    """The newest summary of a session."""
    row = await request.gateway.history.summary(request.principal, request.path_id("session_id"))
    return json_reply(Summary.from_row(row))


@endpoint(
    "GET",
    "/api/session/summaries",
    "summary.list",
    {200: (SummariesReply,)},
    query=SummariesQuery,
    refusals=(403,),
)
async def find(request: ApiRequest) -> Response:
    """Your newest summaries, newest first."""
    query = await request.read_query(SummariesQuery)
    rows = await request.gateway.history.summaries(
        request.principal,
        user_id=query.user_id,
        project_id=query.project_id,
        role_id=query.role_id,
        limit=query.limit,
    )
    return json_reply(SummariesReply(summaries=[Summary.from_row(row) for row in rows]))
