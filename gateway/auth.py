"""Who is asking."""

import hashlib
import hmac
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Self

from gateway.errors import Forbidden, InvalidRequest, NotAuthenticated, SettingsError
from gateway.events.calls import DECIDERS
from gateway.ids import is_id
from gateway.settings import Settings

MIN_SECRET = 16
"""Characters: shorter secrets can be guessed over the network."""
USER_HEADERS = ("x-user-id", "x-openwebui-user-id")
"""By which a delegate key names the user that it acts for; the second is Open WebUI's own (its setting
ENABLE_FORWARD_USER_INFO_HEADERS)."""
SINGLE = ("authorization", "x-api-key", "host", "origin", *USER_HEADERS)
"""Headers by which it is decided who asks, and from where: a request has each once, as a proxy before the
gateway could read another value than it does."""
MAX_USER = 256
"""Characters of a user's name in such a header."""
NOBODY = frozenset({"null", "none", "undefined", "nan"})
"""What programs write for a user that they do not know."""

OPEN_PATHS = frozenset({"/", "/healthz", "/readyz", "/openapi.json", "/api/schema/events.json"})
OPEN_PREFIXES = ("/assets/", "/.well-known/")
OF_NO_USER = "/v1/models"
"""What frontends ask for before any of their users comes: a delegate key need not name one there."""


def needs_key(path: str) -> bool:
    """Whether it is asked who reads the path, where there are keys."""
    return path not in OPEN_PATHS and not path.startswith(OPEN_PREFIXES)


def needs_user(path: str) -> bool:
    """Whether the path has anything that is a user's."""
    return path != OF_NO_USER and not path.startswith(OF_NO_USER + "/")


@dataclass(frozen=True, slots=True)
class Principal:
    """Somebody with sessions of their own. Every query takes one. `dialect` names the adapter by which they
    ask; None: by our own routes, or by none."""

    user_id: str
    dialect: str | None = None


def check_is_admin(who: Principal, admins: Collection[str], may: str) -> None:
    """Raises errors.Forbidden: `who` is not one of the `admins`; where none are named, everybody is. `may`
    says what only they may do."""
    if admins and who.user_id not in admins:
        raise Forbidden(f"Only the users in GATEWAY_ADMINS may {may}.")


LOCAL_USER = Principal("local")
"""The caller of a gateway without keys, which listens on loopback only."""


class ApiKeys:
    """Static keys, kept as SHA-256 (they are random, so a slow hash would add nothing). A plain key is a
    user; a delegate key acts for users that it names: `key.user`. No key has a dot in its name, so that none
    of them is another key's, or another key."""

    def __init__(self, spec: str, delegates: Collection[str] = ()) -> None:
        """`spec` is `name:secret,name:secret`; a name may have several secrets. `delegates` are names of it.

        Raises:
            SettingsError: a part has another form, a name is no id, or a secret is short; a delegate has no
                key.
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
        names = {principal.user_id for principal in self._users.values()}
        if missing := sorted(set(delegates) - names):
            raise SettingsError(f"GATEWAY_DELEGATE_KEYS: {missing[0][:64]} is no name in GATEWAY_API_KEYS.")
        self._delegates = frozenset(delegates)

    @classmethod
    def of(cls, settings: Settings) -> Self:
        """Those of the settings. Raises SettingsError."""
        return cls(settings.api_keys.get_secret_value(), settings.delegate_keys)

    def __len__(self) -> int:
        return len(self._users)

    def knows(self, user_id: str) -> bool:
        """Whether somebody could ask as that user."""
        if not self._users:
            return user_id == LOCAL_USER.user_id
        name, dot, _ = user_id.partition(".")
        named = name in {principal.user_id for principal in self._users.values()}
        return named and bool(dot) == (name in self._delegates)

    def identify(self, headers: Mapping[str, str], *, needs_user: bool = True) -> Principal:
        """The owner of the key in `Authorization: Bearer …` or `x-api-key`, or the user whom a delegate key
        names in one of USER_HEADERS; the local user when there are no keys. Without `needs_user` a delegate
        key may name nobody, and is itself who asks.

        Raises:
            NotAuthenticated: no key, an unknown key, or two keys that differ.
            InvalidRequest (user_required): a delegate key that names nobody, or two users.
            Forbidden (not_a_delegate): a user is named, and not by a delegate key. To act for the key's own
                user instead would mix up users.
        """
        named = [headers[name] for name in USER_HEADERS if name in headers]
        owner = self._owner(headers) if self._users else LOCAL_USER
        if owner.user_id in self._delegates and (named or needs_user):
            return Principal(f"{owner.user_id}.{_user_of(owner.user_id, named)}")
        if named:
            raise Forbidden(
                "Only a key in GATEWAY_DELEGATE_KEYS may name a user (X-User-Id, X-OpenWebUI-User-Id): leave "
                "the header out, or make the key a delegate.",
                code="not_a_delegate",
            )
        return owner

    def _owner(self, headers: Mapping[str, str]) -> Principal:
        given = _given_keys(headers)
        if not given:
            raise NotAuthenticated("Send an API key as 'Authorization: Bearer …' or 'x-api-key: …'.")
        digests = {_digest(key) for key in given}
        for digest, principal in self._users.items():
            if len(digests) == 1 and hmac.compare_digest(digest, next(iter(digests))):
                return principal
        raise NotAuthenticated("This API key is not known.")


def key_of(user_id: str) -> str:
    """The key that acts as that user."""
    return user_id.partition(".")[0]


def _user_of(key: str, named: Collection[str]) -> str:
    """Whom a delegate key names: an id as it is; anything else, such as an e-mail address, by its SHA-256,
    which no id looks like as none has a dot."""
    if len(set(named)) > 1:
        raise InvalidRequest("X-User-Id and X-OpenWebUI-User-Id name two users.", code="user_required")
    user = next(iter(named), "").strip(" \t")  # no more than HTTP does: other blanks are part of a name
    if not user.strip() or user.casefold() in NOBODY or "{{" in user or "${" in user:
        raise InvalidRequest(
            "This key acts for users: name the user of each request in X-User-Id or X-OpenWebUI-User-Id.",
            code="user_required",
        )
    if len(user) > MAX_USER:
        raise InvalidRequest(f"The user's id has more than {MAX_USER} characters.", code="user_required")
    if is_id(user):
        return user
    return f"sha256.{hashlib.sha256(f'{key} {user}'.encode()).hexdigest()[:32]}"


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
