"""Saved prompts: those that people call by `/name`, and personas with which a session begins."""

import re
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator
from starlette.responses import Response

from gateway.auth import user_of
from gateway.http.endpoint import endpoint
from gateway.http.json_types import Body, Id, Line, Reply, json_reply, not_blank
from gateway.http.requests import ApiRequest
from gateway.storage.saved_prompts import SavedPrompt, SavedPromptChanges, SavedPromptKind

MAX_TEXT = 32_768
"""Characters."""
CALLED = re.compile(r"\w[\w.-]{0,63}")
"""The name of a prompt, as it stands behind a slash."""

Name = Annotated[Line, Field(min_length=1, max_length=100)]
Title = Annotated[Line, Field(max_length=200)]
Text = Annotated[str, Field(max_length=MAX_TEXT), AfterValidator(not_blank)]
ModelName = Annotated[Line, Field(max_length=200)]


class SavedPromptBody(Body):
    """A text to keep for use."""

    kind: SavedPromptKind = Field(
        "prompt", description="prompt: a message, called by its name. persona: instructions for a session."
    )
    name: Name = Field(description="Of a prompt what is typed behind the slash: letters, digits, _ . and -.")
    title: Title | Literal[""] | None = Field(None, description="What it is for, in a few words.")
    text: Text = Field(description="In a prompt each {{word}} is a field that is filled in when it is used.")
    model: ModelName | Literal[""] | None = Field(
        None, description="Of a persona: that answers; absent: any."
    )

    @model_validator(mode="after")
    def _can_be_called(self) -> Self:
        if self.kind == "prompt" and not CALLED.fullmatch(self.name):
            raise ValueError("name: of a prompt it has letters, digits, _ . and - alone, at most 64")
        return self


class OwnSavedPromptBody(SavedPromptBody):
    project_id: Id | None = Field(
        None, description="A project for whose members it is, in which you may write; absent: it is yours."
    )


class SavedPromptEdits(Body):
    """What changes of it; what is absent stays."""

    name: Name | None = None
    title: Title | Literal[""] | None = Field(None, description="Empty: none.")
    text: Text | None = None
    model: ModelName | Literal[""] | None = Field(None, description="Empty: any.")

    def changes(self) -> SavedPromptChanges:
        return SavedPromptChanges(self.name, self.title, self.text, self.model)


class SavedPromptReply(Reply):
    """Times are Unix milliseconds."""

    id: str
    kind: SavedPromptKind
    name: str
    title: str | None = None
    text: str
    model: str | None = None
    project_id: str | None = Field(None, description="For whose members it is.")
    for_all: bool = Field(description="Whether it is for all users of your tenant.")
    created_by: str = Field(description="The user who made it.")
    created_at: int
    updated_at: int

    @classmethod
    def of(cls, prompt: SavedPrompt) -> Self:
        for_all = prompt.owner is None and prompt.project_id is None
        return cls.from_row(prompt, for_all=for_all, created_by=user_of(prompt.created_by))


class SavedPromptList(Reply):
    """Yours, then those of your projects, then your tenant's; each by name."""

    saved_prompts: list[SavedPromptReply]


@endpoint("GET", "/api/saved-prompts", "saved_prompt.list", {200: (SavedPromptList,)})
async def find(request: ApiRequest) -> Response:
    """The prompts and personas that you may use."""
    found = await request.gateway.saved_prompts.list(request.principal)
    return json_reply(SavedPromptList(saved_prompts=[SavedPromptReply.of(each) for each in found]))


@endpoint(
    "POST",
    "/api/saved-prompts",
    "saved_prompt.create",
    {201: (SavedPromptReply,)},
    OwnSavedPromptBody,
    refusals=(403, 404, 409, 413),
)
async def create(request: ApiRequest) -> Response:
    """Saves a prompt or a persona, for you or for the members of a project."""
    asked = await request.read_body(OwnSavedPromptBody)
    return await _create(request, asked, project_id=asked.project_id)


@endpoint(
    "POST",
    "/api/tenant/saved-prompts",
    "tenant_saved_prompt.create",
    {201: (SavedPromptReply,)},
    SavedPromptBody,
    refusals=(403, 409, 413),
)
async def create_for_all(request: ApiRequest) -> Response:
    """Saves a prompt or a persona for all users of your tenant; for admins."""
    return await _create(request, await request.read_body(SavedPromptBody), for_all=True)


@endpoint(
    "PATCH",
    "/api/saved-prompts/{saved_prompt_id}",
    "saved_prompt.change",
    {200: (SavedPromptReply,)},
    SavedPromptEdits,
    refusals=(403, 404, 409, 413),
)
async def change(request: ApiRequest) -> Response:
    """Changes one of yours, or of a project in which you may write."""
    return await _change(request, for_all=False)


@endpoint(
    "PATCH",
    "/api/tenant/saved-prompts/{shared_prompt_id}",
    "tenant_saved_prompt.change",
    {200: (SavedPromptReply,)},
    SavedPromptEdits,
    refusals=(403, 404, 409, 413),
)
async def change_for_all(request: ApiRequest) -> Response:
    """Changes one that is for all users of your tenant; for admins."""
    return await _change(request, for_all=True)


@endpoint(
    "DELETE",
    "/api/saved-prompts/{saved_prompt_id}",
    "saved_prompt.delete",
    {204: (None,)},
    refusals=(403, 404, 409),
)
async def delete(request: ApiRequest) -> Response:
    """Removes one of yours, or of a project in which you may write."""
    return await _delete(request, for_all=False)


@endpoint(
    "DELETE",
    "/api/tenant/saved-prompts/{shared_prompt_id}",
    "tenant_saved_prompt.delete",
    {204: (None,)},
    refusals=(403, 404, 409),
)
async def delete_for_all(request: ApiRequest) -> Response:
    """Removes one that is for all users of your tenant; for admins."""
    return await _delete(request, for_all=True)


async def _create(
    request: ApiRequest, asked: SavedPromptBody, *, project_id: str | None = None, for_all: bool = False
) -> Response:
    made = await request.gateway.saved_prompts.create(
        request.principal,
        asked.kind,
        asked.name,
        asked.text,
        title=asked.title or None,
        model=asked.model or None,
        project_id=project_id,
        for_all=for_all,
    )
    request.concerns("saved_prompt", made.id)
    return json_reply(SavedPromptReply.of(made), 201)


async def _change(request: ApiRequest, *, for_all: bool) -> Response:
    asked = await request.read_body(SavedPromptEdits)
    prompt_id = request.path_id("shared_prompt_id" if for_all else "saved_prompt_id")
    changed = await request.gateway.saved_prompts.change(
        request.principal, prompt_id, asked.changes(), for_all=for_all
    )
    return json_reply(SavedPromptReply.of(changed))


async def _delete(request: ApiRequest, *, for_all: bool) -> Response:
    prompt_id = request.path_id("shared_prompt_id" if for_all else "saved_prompt_id")
    await request.gateway.saved_prompts.delete(request.principal, prompt_id, for_all=for_all)
    return Response(status_code=204)
