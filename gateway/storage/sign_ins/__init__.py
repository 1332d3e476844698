"""The contract of storage for sign-ins: who is signed in on the page, in which browser."""

from dataclasses import dataclass
from typing import Protocol

USED_EVERY = 60_000
"""Milliseconds between two notes that one is used."""


@dataclass(frozen=True, slots=True)
class SignIn:
    """One browser of a user, known by the SHA-256 in hex of the 256 random bits in its cookie. Times are Unix
    milliseconds; `used_at` is true to about a minute."""

    digest: str
    tenant: str
    user_id: str
    roles: tuple[str, ...]
    created_at: int
    expires_at: int
    used_at: int


class SignIns(Protocol):
    """They end in `storage.ended_access`, with what rests on them. Every method raises errors.StorageError
    when the database cannot do its work."""

    async def add(self, sign_in: SignIn, *, most: int) -> None:
        """Also ends the user's oldest ones beyond `most`."""
        ...

    async def find(self, digest: str) -> SignIn | None:
        """The sign-in of that digest, expired or not."""
        ...

    async def used(self, digest: str, now: int) -> None:
        """Notes that it was used."""
        ...
