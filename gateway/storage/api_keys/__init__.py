"""The contract of storage for API keys that are made while the gateway runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key of `user_id`, of which the `digest` alone is stored: SHA-256 in hex of its secret, whose 256
    random bits nobody can guess, so that a slow hash would add nothing. Times are Unix milliseconds; it holds
    until it is revoked or expires. `used_at` is true to about a minute."""

    id: str
    tenant: str
    user_id: str
    name: str
    roles: tuple[str, ...]
    scopes: tuple[str, ...]
    digest: str
    created_at: int
    created_by: str
    expires_at: int | None = None
    revoked_at: int | None = None
    used_at: int | None = None

    def holds(self, now: int) -> bool:
        """Whether it does at that time."""
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)


class Keys(Protocol):
    """They are revoked in `storage.ended_access`, with what rests on them. Every method raises
    errors.StorageError when the database cannot do its work."""

    async def add(self, key: ApiKey, *, most: int) -> None:
        """Raises errors.Conflict (too_many_keys): its user has `most` that are not revoked."""
        ...

    async def find(self, key_id: str) -> ApiKey | None:
        """The key of that id, whosever it is."""
        ...

    async def list(self, *, user_id: str | None = None, tenant: str | None = None) -> Sequence[ApiKey]:
        """Those of a user, or of all users of a tenant, or of all: the oldest first."""
        ...

    async def used(self, key_id: str, now: int) -> None:
        """Notes that it was used."""
        ...

    async def has_live(self, user_id: str, now: int) -> bool:
        """Whether a key of that user holds."""
        ...
