"""Profiles: a few facts about you or your household, by name, that stand in every prompt."""

from typing import Annotated

from pydantic import AfterValidator
from starlette.responses import Response

from gateway.api.memory_bodies import VERSION
from gateway.errors import InvalidRequest
from gateway.http.endpoint import endpoint
from gateway.http.json_types import Body, Reply, json_reply, no_nul
from gateway.http.requests import ApiRequest
from gateway.storage.memories import Profile, ProfileKind

Text = Annotated[str, AfterValidator(no_nul)]


class ProfileBody(Body):
    """The whole profile: what is not in it is gone."""

    fields: dict[Text, Text]


class ProfileReply(Reply):
    kind: ProfileKind
    id: str
    fields: dict[str, str]
    version: int
    updated_at: int | None = None
    actor: str | None = None

    @classmethod
    def of(cls, profile: Profile) -> "ProfileReply":
        return cls.from_row(profile, updated_at=profile.updated_at or None, actor=profile.actor or None)


class ProfileList(Reply):
    profiles: list[ProfileReply]


@endpoint("GET", "/api/profiles", "profile.list", {200: (ProfileList,)}, refusals=(404,))
async def find(request: ApiRequest) -> Response:
    """Your profile, and those of the households you are a member of; version 0 while there is nothing in
    one."""
    found = await request.gateway.profiles.list(request.principal)
    return json_reply(ProfileList(profiles=[ProfileReply.of(each) for each in found]))


@endpoint("GET", "/api/profiles/{kind}/{profile_id}", "profile.read", {200: (ProfileReply,)}, refusals=(404,))
async def read(request: ApiRequest) -> Response:
    """Your profile, or that of a household you are a member of; version 0 while there is nothing in it."""
    profile = await request.gateway.profiles.get(request.principal, *_named(request))
    return _reply(profile)


@endpoint(
    "PUT",
    "/api/profiles/{kind}/{profile_id}",
    "profile.put",
    {200: (ProfileReply,)},
    ProfileBody,
    refusals=(404, 409, 412, 413),
    headers=VERSION,
)
async def put(request: ApiRequest) -> Response:
    """Writes a profile; with If-Match only over that version."""
    body = await request.read_body(ProfileBody)
    profile = await request.gateway.profiles.put(
        request.principal, *_named(request), body.fields, version=request.if_match
    )
    return _reply(profile)


def _named(request: ApiRequest) -> tuple[ProfileKind, str]:
    kind: str = request.path_params["kind"]
    if kind not in ("user", "household"):
        raise InvalidRequest("A profile is of a user or a household: /api/profiles/user/… or /household/…")
    return kind, request.path_id("profile_id")


def _reply(profile: Profile) -> Response:
    return json_reply(ProfileReply.of(profile), headers={"etag": f'"{profile.version}"'})
