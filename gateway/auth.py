"""Who is asking."""

import hashlib
import hmac
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from gateway.errors import Forbidden, NotAuthenticated, SettingsError
from gateway.events.calls import DECIDERS
from gateway.ids import is_id

MIN_SECRET = 16
"""Characters: shorter secrets can be guessed over the network."""


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody with sessions of their own. Every query takes one."""

    user_id: str


def check_is_admin(who: Principal, admins: Collection[str], may: str) -> None:
    """Raises errors.Forbidden: `who` is not one of the `admins`; where none are named, everybody is. `may`
    says what only they may do."""
    if admins and who.user_id not in admins:
        raise Forbidden(f"Only the users in GATEWAY_ADMINS may {may}.")


LOCAL_USER = Principal("local")
"""The caller of a gateway without keys, which listens on loopback only."""


class ApiKeys:
    """Static keys, kept as SHA-256 (they are random, so a slow hash would add nothing)."""

    def __init__(self, spec: str) -> None:
        """`spec` is `name:secret,name:secret`; a name may have several secrets.

        Raises:
            SettingsError: a part has another form, a name is no id, or a secret is short.
        """
        self._users: dict[bytes, Principal] = {}
        for part in filter(None, (part.strip() for part in spec.split(","))):
            name, colon, secret = part.partition(":")
            if not colon or not is_id(name):  # without a colon the "name" may be a secret: it is not shown
                raise SettingsError(
                    "GATEWAY_API_KEYS must be name:secret,… with names of letters, digits, _ and -."
                )
            if name in DECIDERS:
                raise SettingsError(f"GATEWAY_API_KEYS: {name} cannot be a user: approvals use that name.")
            if len(secret) < MIN_SECRET:
                raise SettingsError(
                    f"GATEWAY_API_KEYS: the secret of {name} is shorter than {MIN_SECRET} characters. "
                    "Make one with: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"
                )
            self._users[_digest(secret)] = Principal(name)

    def __len__(self) -> int:
        return len(self._users)

    def identify(self, headers: Mapping[str, str]) -> Principal:
        """The owner of the key in `Authorization: Bearer …` or `x-api-key`; the local user when there are
        no keys.

        Raises:
            NotAuthenticated: no key, an unknown key, or two keys that differ.
        """
        if not self._users:
            return LOCAL_USER
        given = _given_keys(headers)
        if not given:
            raise NotAuthenticated("Send an API key as 'Authorization: Bearer …' or 'x-api-key: …'.")
        digests = {_digest(key) for key in given}
        for digest, principal in self._users.items():
            if len(digests) == 1 and hmac.compare_digest(digest, next(iter(digests))):
                return principal
        raise NotAuthenticated("This API key is not known.")


def _given_keys(headers: Mapping[str, str]) -> list[str]:
    given: list[str] = []
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        given.append(token.strip())
    if key := headers.get("x-api-key", "").strip():
        given.append(key)
    return given


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
