"""Keys of the model's provider that users and tenants bring along: set, shown by their ending, removed, and
found for a call."""

from typing import Literal, NamedTuple

from gateway.auth import Principal, tenant_of
from gateway.errors import EncryptionOff, Forbidden, ModelError, StorageError
from gateway.ids import now_ms
from gateway.model.base import KeyOwner
from gateway.model.credentials import Credential
from gateway.service.api_keys import ApiKeys
from gateway.settings import Settings
from gateway.storage.provider_keys import TENANT, ProviderKey, ProviderKeys

SHOWN = 4
"""Characters of a key that are shown."""
SHORTEST_SHOWN = 16
"""Characters of a key of which some are shown: fewer are too easily guessed."""

For = Literal["user", "tenant"]


class KeyState(NamedTuple):
    """What is known of a key: the one that is set, if any; whose serves the caller's calls (None: nobody's);
    and whether one may be set."""

    key: ProviderKey | None
    serving: KeyOwner | None
    accepted: bool


class UserProviderKeys:
    """One per process. `has_model`: the gateway answers who has no key, be it with the demo model."""

    def __init__(self, keys: ProviderKeys, api_keys: ApiKeys, settings: Settings, *, has_model: bool) -> None:
        self._keys = keys
        self._api_keys = api_keys
        self._policy = settings.provider_keys
        self._gateway_has_model = has_model

    async def set(self, who: Principal, of: For, key: str) -> KeyState:
        """Stores the caller's key, or that of their tenant, in place of the one there was.

        Raises:
            errors.Forbidden: the gateway takes none (provider_keys_off), or the caller may not, or not with
                the key that they came with (not_with_this_key).
            errors.EncryptionOff: it could not be encrypted.
        """
        place = _place(who, of)
        await self._api_keys.check_in_person(who)
        if self._policy == "off":
            raise Forbidden(
                "This gateway takes no keys of its users (GATEWAY_PROVIDER_KEYS=off).",
                code="provider_keys_off",
            )
        if not self._keys.can_store:
            raise EncryptionOff()
        ending = key[-SHOWN:] if len(key) >= SHORTEST_SHOWN else ""
        await self._keys.set(ProviderKey(*place, key, ending, now_ms(), who.user_id))
        return await self.state(who, of)

    async def state(self, who: Principal, of: For) -> KeyState:
        """Raises errors.Forbidden, errors.DecryptionFailed."""
        place = _place(who, of)
        accepted = self._policy != "off" and self._keys.can_store
        key = await self._keys.get(*place) if self._policy != "off" else None
        serving = await self._keys.serving(who.tenant, who.user_id) if self._policy != "off" else None
        owner: KeyOwner | None = _owner_of(serving) if serving is not None else None
        if owner is None and self._policy != "required" and self._gateway_has_model:
            owner = "gateway"
        return KeyState(key, owner, accepted)

    async def remove(self, who: Principal, of: For) -> bool:
        """Whether there was one. Raises errors.Forbidden as `set`."""
        await self._api_keys.check_in_person(who)
        return await self._keys.remove(*_place(who, of))


class StoredCredentials:
    """The `Credentials` protocol: each call asks the database, so that a key that is removed serves no other
    call, on any replica, and none is kept in memory."""

    def __init__(self, keys: ProviderKeys, settings: Settings) -> None:
        self._keys = keys
        self._required = settings.provider_keys == "required"

    async def of(self, owner: str | None, gateways: str | None) -> Credential:
        """The user's key, else their tenant's, else the gateway's where that may be."""
        try:
            key = await self._keys.serving(tenant_of(owner), owner) if owner is not None else None
        except StorageError as error:
            raise ModelError(error.message, code=error.code, retryable=error.retryable) from None
        if key is not None:
            return Credential(key.secret, _owner_of(key))
        if self._required and owner is not None:
            raise ModelError(
                "This gateway asks the model with keys of its users, and there is none of yours or your "
                "tenant's: set one in the page's settings, or with `gateway provider-keys set`.",
                code="provider_key_missing",
                retryable=False,
            )
        return Credential(gateways, "gateway")


def _owner_of(key: ProviderKey) -> KeyOwner:
    return "tenant" if key.user_id == TENANT else "user"


def _place(who: Principal, of: For) -> tuple[str, str]:
    return who.tenant, who.user_id if of == "user" else TENANT
