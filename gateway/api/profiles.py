"""Profiles: a few facts about you or your household, by name, that stand in every prompt."""

from typing import Annotated

from pydantic import AfterValidator
from starlette.requests import Request
from starlette.responses import Response

from gateway.api.replies import json_reply
from gateway.api.requests import gateway_of, if_match, path_id, principal_of, read_body
from gateway.api.strict import Body, Reply, no_nul
from gateway.errors import InvalidRequest
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
        return cls(
            kind=profile.kind,
            id=profile.id,
            fields=profile.fields,
            version=profile.version,
            updated_at=profile.updated_at or None,
            actor=profile.actor or None,
        )


class ProfileList(Reply):
    profiles: list[ProfileReply]


async def find(request: Request) -> Response:
    """Your profile, and those of the households you are a member of; version 0 while there is nothing in
    one."""
    found = await gateway_of(request).memory.profiles(principal_of(request))
    return json_reply(ProfileList(profiles=[ProfileReply.of(each) for each in found]))


async def read(request: Request) -> Response:
    """Your profile, or that of a household you are a member of; version 0 while there is nothing in it."""
    profile = await gateway_of(request).memory.profile(principal_of(request), *_named(request))
    return _reply(profile)


async def put(request: Request) -> Response:
    """Writes a profile; with If-Match only over that version."""
    body = await read_body(request, ProfileBody)
    profile = await gateway_of(request).memory.put_profile(
        principal_of(request), *_named(request), body.fields, version=if_match(request)
    )
    return _reply(profile)


def _named(request: Request) -> tuple[ProfileKind, str]:
    kind: str = request.path_params["kind"]
    if kind not in ("user", "household"):
        raise InvalidRequest("A profile is of a user or a household: /api/profiles/user/… or /household/…")
    return kind, path_id(request, "profile_id")


def _reply(profile: Profile) -> Response:
    return json_reply(ProfileReply.of(profile), headers={"etag": f'"{profile.version}"'})
