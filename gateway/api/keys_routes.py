"""Stored API keys: made, listed and revoked."""

from typing import Annotated, Self

from pydantic import Field
from starlette.responses import Response

from gateway.auth import Role, Scope
from gateway.http.endpoint import endpoint
from gateway.http.json_types import Body, Line, Query, Reply, json_reply
from gateway.http.requests import ApiRequest
from gateway.ids import ID_PATTERN
from gateway.storage.api_keys import ApiKey

Id = Annotated[str, Field(pattern=ID_PATTERN)]


class KeyBody(Body):
    """A key to make."""

    name: Line = Field(max_length=100, description="A few words by which people know it.")
    user: Id | None = Field(None, description="Whose it is; absent: yours. Others need an admin.")
    tenant: Id | None = Field(None, description="The user's; absent: yours. Others need an admin of default.")
    role: Role = "member"
    scopes: Annotated[list[Scope], Field(min_length=1, max_length=16)] | None = Field(
        None, description="Some of the role's; absent: all of them."
    )
    expires_at: int | None = Field(None, ge=1, le=2**53, description="Unix milliseconds; absent: never.")


class KeysQuery(Query):
    """Whose keys."""

    everybody: bool = Field(False, description="All of your tenant, or of all tenants, for admins.")


class KeyReply(Reply):
    """A key, without its secret. Times are Unix milliseconds."""

    id: str
    tenant: str
    user_id: str
    name: str
    roles: list[str]
    scopes: list[str]
    created_at: int
    created_by: str
    expires_at: int | None = None
    revoked_at: int | None = None
    used_at: int | None = Field(None, description="When it was used last, true to about a minute.")

    @classmethod
    def of(cls, key: ApiKey) -> Self:
        return cls.from_row(key)


class NewKey(KeyReply):
    """With the key itself: it is shown here alone."""

    key: str


class KeyList(Reply):
    """The oldest first; revoked ones too."""

    keys: list[KeyReply]


@endpoint("POST", "/api/keys", "key.create", {201: (NewKey,)}, KeyBody, refusals=(403, 409, 413))
async def create(request: ApiRequest) -> Response:
    """Makes a key; the answer alone has it."""
    asked = await request.read_body(KeyBody)
    made, key = await request.gateway.keys.create(
        request.principal,
        asked.name,
        user=asked.user,
        tenant=asked.tenant,
        role=asked.role,
        scopes=asked.scopes,
        expires_at=asked.expires_at,
    )
    request.concerns("key", made.id)
    return json_reply(NewKey.from_row(made, key=key), 201)


@endpoint(
    "GET",
    "/api/keys",
    "key.list",
    {200: (KeyList,)},
    query=KeysQuery,
    refusals=(403,),
    carries=("key.list_all",),
)
async def find(request: ApiRequest) -> Response:
    """Your keys, or for admins everybody's."""
    asked = await request.read_query(KeysQuery)
    if asked.everybody:
        request.allow("key.list_all")
    found = await request.gateway.keys.list(request.principal, everybody=asked.everybody)
    return json_reply(KeyList(keys=[KeyReply.of(each) for each in found]))


@endpoint("DELETE", "/api/keys/{key_id}", "key.revoke", {204: (None,)}, refusals=(404,))
async def revoke(request: ApiRequest) -> Response:
    """Ends a key for good."""
    request.outlives_access()
    await request.gateway.keys.revoke(request.principal, request.path_id("key_id"))
    return Response(status_code=204)
