"""The assembled prompt, for authors of prompts."""

from typing import Annotated

from pydantic import Field
from starlette.responses import Response

from gateway.http.endpoint import Cost, endpoint
from gateway.http.json_types import Id, Query, SessionId, json_reply
from gateway.http.requests import ApiRequest
from gateway.prompt.components import MAX_FILE_SIZE
from gateway.prompt.prompt_report import PromptPreview, PromptReport, describe
from gateway.prompt.prompt_report import preview as preview_of
from gateway.prompt.sent_report import SentPrompt
from gateway.service.prompts import Previewed, PreviewRequest


class PreviewQuery(Query):
    """For which turn; without a session, the first of a new one."""

    session_id: SessionId | None = Field(None, description="The next turn of this session.")
    role_id: Id | None = Field(None, description="Of a new session.")
    project_id: Id | None = Field(None, description="Of a new session.")
    message: str | None = Field(
        None, max_length=8000, description="Shows what the memory would add to this message."
    )
    instructions: str | None = Field(
        None, max_length=8000, description="Shows the prompt with these instructions of a client application."
    )


class EditsBody(PreviewQuery):
    """For which turn, and what components would say."""

    edits: dict[str, Annotated[str, Field(max_length=MAX_FILE_SIZE)]] = Field(
        min_length=1, max_length=64, description="Texts by the names of components."
    )


@endpoint("GET", "/api/prompts", "prompt.list", {200: (PromptReport,)})
async def components(request: ApiRequest) -> Response:
    """The prompt's components in their order: digest, size, limits, and what was cut."""
    shown = request.gateway.prompts.components()
    return json_reply(describe(shown.components, shown.prefix, shown.profile))


@endpoint(
    "GET",
    "/api/prompts/preview",
    "prompt.preview",
    {200: (PromptPreview,)},
    query=PreviewQuery,
    refusals=(404,),
    cost=Cost("assemble"),
)
async def preview(request: ApiRequest) -> Response:
    """The assembled prompt as the model gets it in your next turn, layer by layer, memories included."""
    query = await request.read_query(PreviewQuery)
    wanted = PreviewRequest(**query.model_dump())
    shown = await request.gateway.prompts.preview(request.principal, wanted)
    return _reply(shown)


@endpoint(
    "POST",
    "/api/prompts/preview",
    "prompt.try_edits",
    {200: (PromptPreview,)},
    EditsBody,
    refusals=(403, 404, 413),
    cost=Cost("assemble"),
)
async def preview_edits(request: ApiRequest) -> Response:
    """The assembled prompt as it would be if components said something else. Nothing is stored or sent; only
    the operator's admins may."""
    body = await request.read_body(EditsBody)
    wanted = PreviewRequest(**body.model_dump())
    shown = await request.gateway.prompts.preview(request.principal, wanted)
    return _reply(shown)


@endpoint(
    "GET",
    "/api/sessions/{session_id}/turns/{turn_id}/prompt",
    "prompt.read_sent",
    {200: (SentPrompt,)},
    refusals=(404, 500),
    cost=Cost("assemble"),
)
async def sent(request: ApiRequest) -> Response:
    """What the model was sent in a turn: the parts of its prompt and its messages by size, and the text of
    what is known to be the same still."""
    session_id, turn_id = request.path_id("session_id"), request.path_id("turn_id")
    return json_reply(await request.gateway.sent_prompts.of_turn(request.principal, session_id, turn_id))


def _reply(shown: Previewed) -> Response:
    return json_reply(
        preview_of(shown.prefix, shown.retrieved, profile=shown.profile, left_out=shown.left_out)
    )
