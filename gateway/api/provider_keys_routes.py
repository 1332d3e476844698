"""Keys of the model's provider that users bring along."""

from pydantic import Field, SecretStr, field_validator
from starlette.responses import Response

from gateway.http.endpoint import endpoint
from gateway.http.json_types import Body, Reply, json_reply
from gateway.http.requests import ApiRequest
from gateway.model.base import KeyOwner
from gateway.service.provider_keys import For, KeyState


class ProviderKeyBody(Body):
    """A key of the model's provider. It is stored encrypted, and nobody is shown it again."""

    key: SecretStr = Field(min_length=8, max_length=512)

    @field_validator("key")
    @classmethod
    def _is_visible_ascii(cls, key: SecretStr) -> SecretStr:
        if not all("!" <= sign <= "~" for sign in key.get_secret_value()):
            raise ValueError("must be visible ASCII characters without blanks")
        return key


class ProviderKeyReply(Reply):
    """Whether there is a key, and whose serves your calls of the model."""

    is_set: bool
    ending: str | None = Field(None, description="Its last four characters, of a key with 16 at least.")
    set_at: int | None = Field(None, description="Unix milliseconds.")
    serving: KeyOwner | None = Field(
        None,
        description="Whose key your calls of the model are made with; absent: nobody's, they are refused.",
    )
    accepted: bool = Field(description="Whether a key can be set here.")

    @classmethod
    def of(cls, state: KeyState) -> "ProviderKeyReply":
        key = state.key
        return cls(
            is_set=key is not None,
            ending=key.ending or None if key is not None else None,
            set_at=key.set_at if key is not None else None,
            serving=state.serving,
            accepted=state.accepted,
        )


@endpoint(
    "PUT",
    "/api/provider-key",
    "provider_key.set",
    {200: (ProviderKeyReply,)},
    ProviderKeyBody,
    refusals=(403, 409, 413),
)
async def put_own(request: ApiRequest) -> Response:
    """Stores your key; from then on your calls of the model are made with it."""
    return await _put(request, "user")


@endpoint("GET", "/api/provider-key", "provider_key.read", {200: (ProviderKeyReply,)})
async def show_own(request: ApiRequest) -> Response:
    """Whether you have a key; never the key."""
    return await _show(request, "user")


@endpoint("DELETE", "/api/provider-key", "provider_key.remove", {204: (None,)})
async def remove_own(request: ApiRequest) -> Response:
    """Removes your key."""
    return await _remove(request, "user")


@endpoint(
    "PUT",
    "/api/tenant/provider-key",
    "tenant_provider_key.set",
    {200: (ProviderKeyReply,)},
    ProviderKeyBody,
    refusals=(403, 409, 413),
)
async def put_tenants(request: ApiRequest) -> Response:
    """Stores the key of your tenant, which serves its users who have none."""
    return await _put(request, "tenant")


@endpoint(
    "GET", "/api/tenant/provider-key", "tenant_provider_key.read", {200: (ProviderKeyReply,)}, refusals=(403,)
)
async def show_tenants(request: ApiRequest) -> Response:
    """Whether your tenant has a key; never the key."""
    return await _show(request, "tenant")


@endpoint("DELETE", "/api/tenant/provider-key", "tenant_provider_key.remove", {204: (None,)}, refusals=(403,))
async def remove_tenants(request: ApiRequest) -> Response:
    """Removes the key of your tenant."""
    return await _remove(request, "tenant")


async def _put(request: ApiRequest, of: For) -> Response:
    asked = await request.read_body(ProviderKeyBody)
    keys = request.gateway.provider_keys
    state = await keys.set(request.principal, of, asked.key.get_secret_value())
    _tell_audit(request, of)
    return json_reply(ProviderKeyReply.of(state))


async def _show(request: ApiRequest, of: For) -> Response:
    return json_reply(ProviderKeyReply.of(await request.gateway.provider_keys.state(request.principal, of)))


async def _remove(request: ApiRequest, of: For) -> Response:
    await request.gateway.provider_keys.remove(request.principal, of)
    _tell_audit(request, of)
    return Response(status_code=204)


def _tell_audit(request: ApiRequest, of: For) -> None:
    who = request.principal
    request.concerns(of, who.user_id if of == "user" else who.tenant)
