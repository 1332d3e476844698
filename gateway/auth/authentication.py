"""Finds out who sent a request."""

import hashlib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import structlog

from gateway.auth import LOCAL_USER, SCOPES, Principal
from gateway.auth.client_addresses import UNKNOWN, Client
from gateway.auth.failed_attempts import FailedAttempts
from gateway.auth.identity_fields import USER_FIELDS
from gateway.auth.static_keys import given_keys
from gateway.errors import Forbidden, InvalidRequest, LockedOut, NotAuthenticated
from gateway.ids import is_id

MAX_USER = 256
"""Characters of a user's name in such a header."""
NOBODY = frozenset({"null", "none", "undefined", "nan"})
"""What programs write for a user that they do not know."""
GENUINE = frozenset({"token_expired", "token_without_user", "no_role"})
"""Refusals of what the identity provider has signed: nobody who guesses gets so far."""
OF_NO_USER = "/v1/models"
"""What frontends ask for before any of their users comes: a service need not name one there."""


log = structlog.get_logger(__name__)


class Authenticator(Protocol):
    """One way to find out who asks."""

    gives_roles: bool
    """Whether its principals have all of their roles from it: being in GATEWAY_ADMINS adds none."""

    async def identify(self, headers: Mapping[str, str], address: str | None) -> Principal | None:
        """The principal that sent a request with these headers from this address (None: unknown); None: the
        request has no credentials of this kind. Raises errors.NotAuthenticated: it has, and they do not
        hold."""
        ...

    async def knows(self, user_id: str) -> bool:
        """Whether somebody could come as that user. Raises errors.StorageError."""
        ...


class Authentication:
    """The ways that are configured, in their order: the first for which a request has credentials decides.
    Without any way everybody is the local user, on loopback."""

    def __init__(
        self,
        ways: Sequence[Authenticator],
        admins: Collection[str] = (),
        *,
        sign_in: str | None = None,
        keeps_keys: bool = False,
    ) -> None:
        """`admins` are ids of users who have that role, unless they come with a key that has roles itself.
        `keeps_keys`: a browser may keep a key, which is told to who has none yet."""
        self._ways = tuple(ways)
        self.sign_in = sign_in
        """Path at which people sign in on the page."""
        self._keeps_keys = keeps_keys
        self.is_required = bool(ways) or sign_in is not None
        """Whether anybody has to say who they are."""
        self._admins = frozenset(admins)
        self._attempts = FailedAttempts()

    def add(self, way: Authenticator) -> None:
        """Adds a way that is asked before the others, and that nobody has to take."""
        self._ways = (way, *self._ways)

    async def knows(self, user_id: str) -> bool:
        """Whether somebody could ask as that user. Raises errors.StorageError."""
        if not self.is_required and user_id == LOCAL_USER.user_id:
            return True
        for way in self._ways:
            if await way.knows(user_id):
                return True
        return False

    async def identify(
        self, headers: Mapping[str, str], client: Client = UNKNOWN, *, needs_user: bool = True
    ) -> Principal:
        """The principal that asks, or the user whom a service names in one of USER_FIELDS. Without
        `needs_user` a service may name nobody, and is itself who asks.

        Raises:
            NotAuthenticated: no credentials, or such that do not hold.
            LockedOut: they do not hold, as too many before that came from this address, or were the same.
            InvalidRequest (user_required): a service that names nobody, or two users.
            Forbidden (not_a_delegate): a user is named, and not by a service. To act for the key's own user
                instead would mix up users.
        """
        named = [headers[name] for name in USER_FIELDS if name in headers]
        who, way = await self._caller(headers, client)
        if "service" in who.roles and (named or needs_user):
            who = replace(who, user_id=f"{who.user_id}.{_user_of(who.user_id, named)}")
        elif named:
            raise Forbidden(
                "Only a key in GATEWAY_DELEGATE_KEYS may name a user (X-User-Id, X-OpenWebUI-User-Id): leave "
                "the header out, or make the key a delegate.",
                code="not_a_delegate",
            )
        if who.user_id in self._admins and not (way and way.gives_roles):
            return replace(who, roles=who.roles | {"admin"}, scopes=SCOPES)
        return who

    async def _caller(
        self, headers: Mapping[str, str], client: Client
    ) -> tuple[Principal, Authenticator | None]:
        keys = given_keys(headers)
        # A cookie is looked up as a key is: who sends many waits as well, though no lock counts them.
        given = keys or [headers.get("cookie", "")]
        if given == [""]:
            return await self._first(headers, client.peer)
        digest = hashlib.sha256("\n".join(given).encode()).digest()
        await self._attempts.pace(client, digest)
        try:
            found = await self._first(headers, client.peer)
        except NotAuthenticated as error:
            error.details = {**self._ways_in, **(error.details or {})} or None  # a page asks once more
            self._attempts.looked_at(client)
            if keys and error.code not in GENUINE:
                self._failed(client, digest)
            raise
        self._attempts.held(digest)
        return found

    def _failed(self, client: Client, digest: bytes) -> None:
        """Counts a failure. Raises LockedOut: there were too many before it."""
        lock = self._attempts.failed(client, digest)
        if lock.begins:
            log.warning("locked_out", address=client.address)
        if lock.seconds:
            seconds = math.ceil(lock.seconds)
            raise LockedOut(
                f"Too many attempts with keys that do not hold: try again in {seconds} s.",
                details={"retry_after": seconds},
            )

    async def _first(
        self, headers: Mapping[str, str], address: str | None
    ) -> tuple[Principal, Authenticator | None]:
        for way in self._ways:
            if (who := await way.identify(headers, address)) is not None:
                return who, way
        if not self.is_required:
            return LOCAL_USER, None
        raise NotAuthenticated(
            "Send an API key as 'Authorization: Bearer …' or 'x-api-key: …'.",
            details=self._ways_in or None,
        )

    @property
    def _ways_in(self) -> dict[str, object]:
        """The ways to sign in that a page offers to a person who has not said who they are."""
        return {
            **({"sign_in": self.sign_in} if self.sign_in else {}),
            **({"keeps_keys": True} if self._keeps_keys else {}),
        }


def needs_user(path: str) -> bool:
    """Whether the path has anything that is a user's."""
    return path != OF_NO_USER and not path.startswith(OF_NO_USER + "/")


def _user_of(key: str, named: Collection[str]) -> str:
    """The user whom a service names: an id as it is; anything else, such as an e-mail address, by its
    SHA-256, which no id looks like as none has a dot."""
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
