"""Versions of the prompt's components that the operator writes while the gateway runs."""

from pydantic import Field
from starlette.responses import Response

from gateway.http.endpoint import endpoint
from gateway.http.json_types import Body, Prose, Query, Reply, json_reply
from gateway.http.requests import ApiRequest
from gateway.prompt.components import MAX_FILE_SIZE
from gateway.storage.prompt_versions import PromptVersion


class VersionBody(Body):
    """What a component says from the next turn on."""

    text: str | None = Field(
        None, min_length=1, max_length=MAX_FILE_SIZE, description="Absent: its file holds again."
    )
    note: Prose = Field("", max_length=500, description="What for, for those who look at it later.")
    after: int = Field(ge=0, le=2**53, description="Number of the newest version that was seen; 0: of none.")


class VersionsQuery(Query):
    before: int | None = Field(None, ge=1, le=2**53, description="`next` of the page before.")


class PromptVersionReply(Reply):
    number: int
    text: str | None = Field(None, description="Absent: the file holds from then on.")
    digest: str | None = Field(None, description="SHA-256 of the text, in hex.")
    note: str
    changed_by: str
    changed_at: int = Field(description="Unix milliseconds.")


class PromptVersionList(Reply):
    """The newest first."""

    versions: list[PromptVersionReply]
    next: int | None = Field(None, description="Absent on the last page.")


@endpoint(
    "GET",
    "/api/prompts/components/{component}/versions",
    "prompt.list_versions",
    {200: (PromptVersionList,)},
    query=VersionsQuery,
    refusals=(403, 404),
)
async def find(request: ApiRequest) -> Response:
    """What a component said instead of its file, version by version; for the operator."""
    asked = await request.read_query(VersionsQuery)
    found = await request.gateway.prompt_edits.versions(request.path_text("component"), asked.before)
    more = found[-1].number if found and found[-1].number > 1 else None
    return json_reply(PromptVersionList(versions=[_reply(each) for each in found], next=more))


@endpoint(
    "PUT",
    "/api/prompts/components/{component}/versions",
    "prompt.change",
    {200: (PromptVersionReply,)},
    VersionBody,
    refusals=(403, 404, 409, 413),
)
async def change(request: ApiRequest) -> Response:
    """Writes a component anew, or has its file hold again, from the next turn on and for everybody; for the
    operator. An old version is restored by writing its text."""
    body, name = await request.read_body(VersionBody), request.path_text("component")
    made = await request.gateway.prompt_edits.change(
        request.principal, name, body.text, body.note, after=body.after
    )
    return json_reply(_reply(made))


def _reply(version: PromptVersion) -> PromptVersionReply:
    return PromptVersionReply.from_row(version)
