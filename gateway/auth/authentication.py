"""Finds out who sent a request."""

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from gateway.auth import LOCAL_USER, SCOPES, Principal
from gateway.errors import Forbidden, InvalidRequest, NotAuthenticated
from gateway.ids import is_id

USER_HEADERS = ("x-user-id", "x-openwebui-user-id")
"""By which a service names the user that it acts for; the second is Open WebUI's own (its setting
ENABLE_FORWARD_USER_INFO_HEADERS)."""
SINGLE = ("authorization", "x-api-key", "host", "origin", *USER_HEADERS)
"""Headers by which it is decided who asks, and from where: a request has each once, as a proxy before the
gateway could read another value than it does."""
MAX_USER = 256
"""Characters of a user's name in such a header."""
NOBODY = frozenset({"null", "none", "undefined", "nan"})
"""What programs write for a user that they do not know."""
OF_NO_USER = "/v1/models"
"""What frontends ask for before any of their users comes: a service need not name one there."""


class Authenticator(Protocol):
    """One way to find out who asks."""

    async def identify(self, headers: Mapping[str, str], address: str | None) -> Principal | None:
        """Who sent a request with these headers from this address (None: unknown); None: the request has no
        credentials of this kind. Raises errors.NotAuthenticated: it has, and they do not hold."""
        ...

    def knows(self, user_id: str) -> bool:
        """Whether somebody could come as that user."""
        ...


class Authentication:
    """The ways that are configured, in their order: the first for which a request has credentials decides.
    Without any way everybody is the local user, on loopback."""

    def __init__(self, ways: Sequence[Authenticator], admins: Collection[str] = ()) -> None:
        """`admins` are ids of users who have that role, however they sign in."""
        self._ways = tuple(ways)
        self._admins = frozenset(admins)

    @property
    def is_required(self) -> bool:
        """Whether anybody has to say who they are."""
        return bool(self._ways)

    def knows(self, user_id: str) -> bool:
        """Whether somebody could ask as that user."""
        if not self._ways:
            return user_id == LOCAL_USER.user_id
        return any(way.knows(user_id) for way in self._ways)

    async def identify(
        self, headers: Mapping[str, str], address: str | None = None, *, needs_user: bool = True
    ) -> Principal:
        """Who asks, or the user whom a service names in one of USER_HEADERS. Without `needs_user` a service
        may name nobody, and is itself who asks.

        Raises:
            NotAuthenticated: no credentials, or such that do not hold.
            InvalidRequest (user_required): a service that names nobody, or two users.
            Forbidden (not_a_delegate): a user is named, and not by a service. To act for the key's own user
                instead would mix up users.
        """
        named = [headers[name] for name in USER_HEADERS if name in headers]
        who = await self._caller(headers, address)
        if "service" in who.roles and (named or needs_user):
            who = replace(who, user_id=f"{who.user_id}.{_user_of(who.user_id, named)}")
        elif named:
            raise Forbidden(
                "Only a key in GATEWAY_DELEGATE_KEYS may name a user (X-User-Id, X-OpenWebUI-User-Id): leave "
                "the header out, or make the key a delegate.",
                code="not_a_delegate",
            )
        if who.user_id in self._admins:
            return replace(who, roles=who.roles | {"admin"}, scopes=SCOPES)
        return who

    async def _caller(self, headers: Mapping[str, str], address: str | None) -> Principal:
        if not self._ways:
            return LOCAL_USER
        for way in self._ways:
            if (who := await way.identify(headers, address)) is not None:
                return who
        raise NotAuthenticated("Send an API key as 'Authorization: Bearer …' or 'x-api-key: …'.")


def needs_user(path: str) -> bool:
    """Whether the path has anything that is a user's."""
    return path != OF_NO_USER and not path.startswith(OF_NO_USER + "/")


def _user_of(key: str, named: Collection[str]) -> str:
    """Whom a service names: an id as it is; anything else, such as an e-mail address, by its SHA-256, which
    no id looks like as none has a dot."""
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
