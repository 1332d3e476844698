"""API keys that are made while the gateway runs: `cgk_<id>_<secret>`."""

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable, Mapping
from time import monotonic
from typing import NamedTuple, cast

import structlog

from gateway.auth import Principal, Role, Scope
from gateway.auth.static_keys import given_keys
from gateway.bounded_dict import BoundedDict
from gateway.errors import NotAuthenticated, StorageError
from gateway.ids import now_ms
from gateway.storage.api_keys import ApiKey, Keys

PREFIX = "cgk_"
"""What they begin with, so that scanners of secrets find them, and no other way to sign in takes them."""
_KEY = re.compile(r"cgk_([0-9a-f]{16})_[A-Za-z0-9_-]{43}")
FRESH = 5.0
"""Seconds for which a key that held is not looked up again: so much later, at most, other replicas know that
it was revoked, should they not be told."""
USED_EVERY = 60_000
"""Milliseconds between two notes that a key is used."""
MAX_KNOWN = 10_000
"""Keys that are remembered: one that is not costs a look into the database."""
_NO_KEY = bytes(32)

log = structlog.get_logger(__name__)


class _Known(NamedTuple):
    key: ApiKey
    digest: bytes
    principal: Principal
    looked_at: float


class StoredKeys:
    """The keys of the database. Each has its own roles and scopes, which being an admin otherwise does not
    widen."""

    gives_roles = True

    def __init__(self, keys: Keys) -> None:
        self._keys = keys
        self._known = BoundedDict[str, _Known](MAX_KNOWN)
        self._used_at = BoundedDict[str, int](MAX_KNOWN)

    async def knows(self, user_id: str) -> bool:
        """Whether a key of that user holds. Raises errors.StorageError."""
        return await self._keys.has_live(user_id, now_ms())

    async def identify(self, headers: Mapping[str, str], address: str | None) -> Principal | None:
        """The user of a stored key in `Authorization: Bearer …` or `x-api-key`. One that was never made, has
        another secret, was revoked or has expired is refused in the same words.

        Raises:
            errors.NotAuthenticated: such a key, or two keys that differ.
            errors.StorageError: it could not be looked up.
        """
        given = given_keys(headers)
        if not any(each.startswith(PREFIX) for each in given):
            return None
        found = _KEY.fullmatch(given[0]) if len(set(given)) == 1 else None
        known = await self._look_up(found[1]) if found else None
        digest = known.digest if known else _NO_KEY
        is_right = hmac.compare_digest(hashlib.sha256(given[0].encode()).digest(), digest)
        if known is None or not is_right or not known.key.holds(now_ms()):
            raise NotAuthenticated("This API key does not hold: it is unknown, revoked or expired.")
        await self._note_use(known.key)
        return known.principal

    async def holder(self, key_id: str, proves: Callable[[bytes], bool]) -> Principal | None:
        """The principal that comes with the key of that id, if it holds and `proves` says yes to its SHA-256.
        Raises errors.StorageError."""
        known = await self._look_up(key_id)
        if known is None or not known.key.holds(now_ms()) or not proves(known.digest):
            return None
        await self._note_use(known.key)
        return known.principal

    def forget(self, revoked: str) -> None:
        """Looks a key up again at its next use, by its id, or all of a user, by theirs."""
        self._known.pop(revoked, None)
        for key_id in [key_id for key_id, known in self._known.items() if known.key.user_id == revoked]:
            del self._known[key_id]

    async def _look_up(self, key_id: str) -> _Known | None:
        known = self._known.get(key_id)
        if known is not None and monotonic() - known.looked_at < FRESH:
            return known
        looked_at = monotonic()
        key = await self._keys.find(key_id)
        if key is None:
            self._known.pop(key_id, None)
            return None
        known = self._known[key_id] = _Known(key, bytes.fromhex(key.digest), principal_of(key), looked_at)
        return known

    async def _note_use(self, key: ApiKey) -> None:
        now = now_ms()
        if now - self._used_at.get(key.id, key.used_at or 0) < USED_EVERY:
            return
        self._used_at[key.id] = now
        try:
            await self._keys.used(key.id, now)
        except StorageError as error:  # whoever may ask is not refused for a note
            log.warning("key_use_not_noted", key_id=key.id, code=error.code)


def new_secret(key_id: str) -> tuple[str, str]:
    """A new key of that id, whose last part are 256 random bits; and the digest by which it is stored."""
    key = f"{PREFIX}{key_id}_{secrets.token_urlsafe(32)}"
    return key, hashlib.sha256(key.encode()).hexdigest()


def principal_of(key: ApiKey) -> Principal:
    """The principal that comes with this key."""
    return Principal(
        key.user_id,
        roles=frozenset(cast("tuple[Role, ...]", key.roles)),
        scopes=frozenset(cast("tuple[Scope, ...]", key.scopes)),
        key_id=key.id,
        expires_at=key.expires_at,
    )
