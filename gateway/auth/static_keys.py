"""API keys of the settings."""

import hashlib
import hmac
from collections.abc import Callable, Collection, Mapping
from typing import Self

from gateway.auth import MEMBER_SCOPES, Principal, Role, Scope
from gateway.errors import NotAuthenticated, SettingsError
from gateway.events.tool_calls import AUTOMATIC_DECIDERS
from gateway.ids import is_id
from gateway.settings import Settings

OPERATOR_SCOPES = MEMBER_SCOPES | frozenset[Scope](("metrics",))
MIN_SECRET = 16
"""Characters: shorter secrets can be guessed over the network."""


class StaticKeys:
    """The keys of GATEWAY_API_KEYS, kept as SHA-256 (they are random, so a slow hash would add nothing). A
    plain key is a user; a delegate key is a service, which acts for users that it names: `key.user`. No key
    has a dot in its name, so that none of them is another key's, or another key. All may read the metrics, as
    they are the operator's own."""

    gives_roles = False

    def __init__(self, spec: str, delegates: Collection[str] = ()) -> None:
        """`spec` is `name:secret,name:secret`; a name may have several secrets. `delegates` are names of it.

        Raises:
            SettingsError: a part has another form, a name is no id, or a secret is short; a delegate has no
                key.
        """
        names: dict[bytes, str] = {}
        for part in filter(None, (part.strip() for part in spec.split(","))):
            name, colon, secret = part.partition(":")
            if not colon or not is_id(name):  # without a colon the "name" may be a secret: it is not shown
                raise SettingsError(
                    "GATEWAY_API_KEYS must be name:secret,… with names of letters, digits, _ and -."
                )
            if name in AUTOMATIC_DECIDERS:
                raise SettingsError(f"GATEWAY_API_KEYS: {name} cannot be a user: approvals use that name.")
            if len(secret) < MIN_SECRET:
                raise SettingsError(
                    f"GATEWAY_API_KEYS: the secret of {name} is shorter than {MIN_SECRET} characters. "
                    "Make one with: python3 -c 'import secrets; print(secrets.token_urlsafe(32))'"
                )
            names[_digest(secret)] = name
        self._names = frozenset(names.values())
        if missing := sorted(set(delegates) - self._names):
            raise SettingsError(f"GATEWAY_DELEGATE_KEYS: {missing[0][:64]} is no name in GATEWAY_API_KEYS.")
        self._delegates = frozenset(delegates)
        self._users = {digest: self._principal(name) for digest, name in names.items()}

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """The keys of the settings. Raises SettingsError."""
        return cls(settings.api_keys.get_secret_value(), settings.delegate_keys)

    def __len__(self) -> int:
        return len(self._users)

    @property
    def names(self) -> frozenset[str]:
        """The names of the keys."""
        return self._names

    @property
    def sole_user(self) -> str | None:
        """The user of the only key, if it is a plain one."""
        plain = self._names - self._delegates
        return next(iter(plain)) if len(self._names) == len(plain) == 1 else None

    async def knows(self, user_id: str) -> bool:
        """Whether somebody could ask as that user."""
        name, dot, _ = user_id.partition(".")
        return name in self._names and bool(dot) == (name in self._delegates)

    async def identify(self, headers: Mapping[str, str], address: str | None) -> Principal | None:
        """The owner of the key in `Authorization: Bearer …` or `x-api-key`. Raises NotAuthenticated: an
        unknown key, or two keys that differ."""
        given = given_keys(headers)
        if not given:
            return None
        digests, found = {_digest(key) for key in given}, None
        if len(digests) == 1:
            asked = digests.pop()
            for digest, principal in self._users.items():  # all of them: which one fits takes no other time
                found = principal if hmac.compare_digest(digest, asked) else found
        if found is None:
            raise NotAuthenticated("This API key is not known.")
        return found

    async def holder(self, key_id: str, proves: Callable[[bytes], bool]) -> Principal | None:
        """The principal that comes with the key of that name, if `proves` says yes to its SHA-256; no
        service."""
        digests = [digest for digest, who in self._users.items() if who.key_id == key_id]
        if key_id in self._delegates or not any(proves(digest) for digest in digests):
            return None
        return self._principal(key_id)

    def _principal(self, name: str) -> Principal:
        role: Role = "service" if name in self._delegates else "member"
        return Principal(name, roles=frozenset((role,)), scopes=OPERATOR_SCOPES, key_id=name)


def key_of(user_id: str) -> str:
    """The key that acts as that user."""
    return user_id.partition(".")[0]


def given_keys(headers: Mapping[str, str]) -> list[str]:
    """The key that a request has in `Authorization: Bearer …` and `x-api-key`."""
    given: list[str] = []
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        given.append(token.strip())
    if key := headers.get("x-api-key", "").strip():
        given.append(key)
    return given


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
