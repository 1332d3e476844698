"""The contract of storage for who uses the gateway: everybody of whom it has something."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class KnownUser:
    """A user with a session, a turn, a key or a sign-in, or who was named in asking. `roles` are those of
    their `keys` that hold, and of their sign-ins. `seen_at` is when they last asked something, or used a key
    or a sign-in (Unix milliseconds; None: never, as far as is known)."""

    user_id: str
    roles: frozenset[str]
    keys: int
    seen_at: int | None


class Users(Protocol):
    """Who has something here. Every method raises errors.StorageError when the database cannot do its
    work."""

    async def page(
        self, now: int, *, after: str, limit: int, tenant: str | None = None, named: Collection[str] = ()
    ) -> Sequence[KnownUser]:
        """At most `limit` users behind the id `after`, in the order of their ids: of all, or of a tenant, ""
        for the one whose ids name none. Those `named` are among them, whatever they have."""
        ...
