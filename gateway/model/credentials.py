"""With whose key of the endpoint a call is made."""

from dataclasses import dataclass, field
from typing import Protocol

from gateway.errors import ModelError
from gateway.model.base import KeyOwner

WHOSE: dict[KeyOwner, str] = {
    "user": "your own API key",
    "tenant": "your tenant's API key",
    "gateway": "the gateway's API key",
}
"""In the words of a refusal."""


@dataclass(frozen=True, slots=True)
class Credential:
    """A key, or None: none is sent. `key_of` None: nobody but the gateway can have one."""

    key: str | None = field(repr=False)
    key_of: KeyOwner | None = None


class Credentials(Protocol):
    """Keys that users and tenants bring along."""

    async def of(self, owner: str | None, gateways: str | None) -> Credential:
        """The key for a call on behalf of the user `owner`; `gateways` is the gateway's own.

        Raises:
            errors.ModelError: there is none that may be used (provider_key_missing), or it cannot be read.
        """
        ...


def named(failure: ModelError, credential: Credential) -> ModelError:
    """A refusal of the key that says whose it is, where there may be several."""
    if failure.code == "upstream_auth" and credential.key_of is not None:
        failure.message = failure.message.replace("the API key", WHOSE[credential.key_of], 1)
    return failure
