"""Results of the calls that a client runs itself."""

from base64 import b64decode
from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from starlette.responses import Response

from gateway.http.endpoint import endpoint
from gateway.http.json_types import Base64, Body, FileName, Mime, Reply, json_reply, no_nul
from gateway.http.requests import ApiRequest
from gateway.storage.decisions.client_calls import ClientCall
from gateway.tools.base import File

MAX_BLOCKS = 64


class TextBlock(Body):
    type: Literal["text"]
    text: Annotated[str, AfterValidator(no_nul)]


class FileBlock(Body):
    """What is no text for the model: it becomes an artifact."""

    type: Literal["file"]
    data: Base64
    mime: Mime | None = None
    name: FileName | None = None


class ToolResultBody(Body):
    content: (
        Annotated[str, AfterValidator(no_nul)]
        | Annotated[list[TextBlock | FileBlock], Field(max_length=MAX_BLOCKS)]
    )
    is_error: bool = Field(False, description="The call failed; the content says why.")


class ToolResultReply(Reply):
    """A call that the client runs."""

    session_id: str
    turn_id: str
    tool_call_id: str
    name: str
    requested_at: int
    expires_at: int
    status: Literal["ok", "error", "timeout"] | None = Field(None, description="Absent without a result.")
    answered_at: int | None = None

    @classmethod
    def of(cls, call: ClientCall) -> "ToolResultReply":
        result = call.result
        if result is None:
            return cls.from_row(call)
        return cls.from_row(call, status=result.status, answered_at=result.at)


@endpoint(
    "POST",
    "/api/sessions/{session_id}/turns/{turn_id}/tool_results/{tool_call_id}",
    "tool_result.give",
    {200: (ToolResultReply,)},
    ToolResultBody,
    refusals=(404, 409, 413, 429),
)
async def give(request: ApiRequest) -> Response:
    """The result of a call that you run yourself (`runs_on: client` in its `tool_call`); the turn goes on
    when no other is waited for. The same result again changes nothing."""
    body = await request.read_body(ToolResultBody)
    blocks = [TextBlock(type="text", text=body.content)] if isinstance(body.content, str) else body.content
    turn_id = request.path_id("turn_id")
    request.span.follows(turn_id)
    call = await request.gateway.client_results.give(
        request.principal,
        request.path_id("session_id"),
        turn_id,
        request.path_text("tool_call_id"),
        "\n".join(block.text for block in blocks if isinstance(block, TextBlock)),
        is_error=body.is_error,
        files=[
            File(b64decode(block.data), block.mime, block.name)
            for block in blocks
            if isinstance(block, FileBlock)
        ],
    )
    return json_reply(ToolResultReply.of(call))
