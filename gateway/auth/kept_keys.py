"""An API key that a browser keeps: the cookie of a sign-in that was made with it, and ends with it.

    cookie    256 random bits . id of the key . HMAC of both by the key's SHA-256
    database  a sign-in, by the SHA-256 of the random bits, as of everybody who signs in on the page

The key is in neither. The cookie holds as long as its sign-in is there and a key of that id has the SHA-256
that the HMAC was made with: not after signing out, nor after the key was revoked, changed or taken out of the
settings.
"""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

from gateway.auth import Principal
from gateway.auth.signed_in import MAX_BROWSERS, SignedIn, cookie_in, digest_of
from gateway.auth.static_keys import given_keys
from gateway.errors import Forbidden, InvalidRequest
from gateway.ids import now_ms
from gateway.settings import Settings
from gateway.storage.sign_ins import SignIn, SignIns

_VALUE = re.compile(r"([A-Za-z0-9_-]{43})\.([A-Za-z0-9_-]{1,64})\.([0-9a-f]{64})")

Proves = Callable[[bytes], bool]
"""Whether the SHA-256 of a key is the one that a cookie was made with."""


class KeyHolder(Protocol):
    """Keys that may be kept, by their ids."""

    gives_roles: bool

    async def holder(self, key_id: str, proves: Proves) -> Principal | None:
        """The principal that comes with the key of that id, if it holds and `proves` says yes to its SHA-256.
        Raises errors.StorageError."""
        ...


class KeptKeys:
    """Users by the cookie of a browser that keeps their key."""

    def __init__(self, keys: KeyHolder, signed_in: SignedIn, settings: Settings) -> None:
        self._keys, self._signed_in, self._settings = keys, signed_in, settings
        self.gives_roles = keys.gives_roles

    async def knows(self, user_id: str) -> bool:
        """Never: who has a key is known by it."""
        return False

    async def identify(self, headers: Mapping[str, str], address: str | None) -> Principal | None:
        """The principal that keeps a key of these in their browser; nobody where the cookie is another one,
        or holds no longer. Raises errors.StorageError."""
        cookie = cookie_in(headers, self._settings)
        found = None if cookie is None or given_keys(headers) else _VALUE.fullmatch(cookie)
        if found is None:
            return None
        value, key_id, proof = found.groups()
        sign_in = await self._signed_in.find(digest_of(value))
        if sign_in is None or now_ms() >= sign_in.expires_at:
            return None
        who = await self._keys.holder(
            key_id, lambda digest: hmac.compare_digest(_proof(value, key_id, digest), proof)
        )
        if who is None or who.user_id != sign_in.user_id:
            return None
        return replace(who, sign_in=sign_in.digest, expires_at=sign_in.expires_at)


class KeyKeeper:
    """Has browsers keep the keys that requests come with."""

    def __init__(self, sign_ins: SignIns, settings: Settings) -> None:
        self._sign_ins, self._lifetime = sign_ins, int(settings.keep_keys_for * 1000)

    async def keep(self, who: Principal, headers: Mapping[str, str]) -> tuple[str, int]:
        """The cookie for the key that the request came with, and for how many seconds it holds.

        Raises:
            errors.InvalidRequest: it came with no key of the gateway's.
            errors.Forbidden (key_not_kept): no key is kept here, or this one acts for others.
            errors.StorageError: it could not be noted.
        """
        given = given_keys(headers)
        if not given or who.key_id is None:
            raise InvalidRequest("Send the API key to be kept as 'Authorization: Bearer …'.")
        if not self._lifetime or "service" in who.roles:
            raise Forbidden("This gateway lets no browser keep that key.", code="key_not_kept")
        value, now = secrets.token_urlsafe(32), now_ms()
        ends = min(now + self._lifetime, who.expires_at or now + self._lifetime)
        # Its time is set by who keeps it, and not by how long it lies idle.
        made = SignIn(digest_of(value), who.tenant, who.user_id, (), now, ends, used_at=ends)
        await self._sign_ins.add(made, most=MAX_BROWSERS)
        digest = hashlib.sha256(given[0].encode()).digest()
        return f"{value}.{who.key_id}.{_proof(value, who.key_id, digest)}", (ends - now) // 1000


def _proof(value: str, key_id: str, digest: bytes) -> str:
    return hmac.new(digest, f"{value}.{key_id}".encode(), hashlib.sha256).hexdigest()
