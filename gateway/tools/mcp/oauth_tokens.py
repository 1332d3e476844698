"""The access token of a server: kept, renewed before and after it expires, by one process at a time.

request ──▶ token ──▶ server: 401? ──▶ stored anew meanwhile? ──▶ refreshed ──▶ request once more
"""

from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager
from dataclasses import asdict
from http import HTTPStatus
from typing import Protocol

import httpx2
import structlog
from mcp.client.auth.utils import extract_field_from_www_auth
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from gateway.errors import DecryptionFailed, McpSignInFailed, StorageError
from gateway.ids import now_ms
from gateway.settings.value_types import McpServer
from gateway.tools.mcp.failure_messages import ConnectionEnding
from gateway.tools.mcp.oauth_discovery import Challenge, discover
from gateway.tools.mcp.oauth_grants import SignedIn, ask_as_client, known_client, refresh
from gateway.tools.mcp.oauth_requests import GrantRefused, OAuthRequests

EARLY = 60_000
"""Milliseconds before its end at which a token is renewed."""
NEEDS_SIGN_IN = "it asks for a sign-in: `gateway mcp login {name}`, or Sign in on the page of skills"

_SIGNED_IN = TypeAdapter(SignedIn)
log = structlog.get_logger(__name__)


class SignInStore(Protocol):
    """Texts that are stored encrypted, for all processes of the gateway. Every method raises
    errors.StorageError, and errors.DecryptionFailed: a text is not what was written."""

    @property
    def can_store(self) -> bool:
        """Whether there is a key to encrypt with."""
        ...

    async def put(self, key: str, secret: str, expires_at: int | None = None) -> None:
        """In place of the one there was; `expires_at` in Unix milliseconds. Raises errors.EncryptionOff."""
        ...

    async def get(self, key: str) -> str | None: ...

    async def take(self, key: str, now: int) -> str | None:
        """Removes it, and returns it if its time is not over."""
        ...

    async def remove(self, key: str) -> bool:
        """Whether there was one."""
        ...

    def exclusive(self, key: str) -> AbstractAsyncContextManager[None]:
        """One process at a time."""
        ...


def place_of(name: str) -> str:
    """Under which the sign-in to a server is stored."""
    return f"server:{name}"


class ServerTokens:
    """Of one server at an address; `store` None: nothing is kept, so that only a client of the settings can
    sign in."""

    def __init__(self, name: str, server: McpServer, store: SignInStore | None) -> None:
        self.requests = OAuthRequests(server)
        self.challenge = Challenge()
        self._name, self._server, self._store = name, server, store
        self._kept: SignedIn | None = None
        self._is_read = False
        self._as_client = server.oauth is not None and server.oauth.grant == "client_credentials"

    async def current(self) -> str | None:
        """A token that is not over as far as is known; None: there is none."""
        if self._kept is None and not self._is_read:  # later ones are found when the server refuses
            self._kept, self._is_read = await self.stored(), True
        kept = self._kept
        if kept is None or kept.access_token is None:
            return await self.renewed(None) if self._as_client else None
        if kept.expires_at is not None and kept.expires_at - EARLY < now_ms():
            return await self.renewed(kept.access_token) or kept.access_token
        return kept.access_token

    async def renewed(self, refused: str | None) -> str | None:
        """Another token than the one that the server refuses; None: somebody must sign in. Raises
        McpSignInFailed: that cannot be found out now."""
        if self._as_client:
            self._kept = await ask_as_client(await self._client(), self.requests)
            return self._kept.access_token
        if self._store is None:
            return None
        async with self._store.exclusive(f"mcp sign-in {self._name}"):
            self._kept = known = await self.stored()
            if known is None or known.access_token != refused or known.refresh_token is None:
                another = known.access_token if known is not None else None
                return another if another != refused else None  # of another process, which was faster
            try:
                renewed = await refresh(known, self.requests)
            except GrantRefused as error:
                log.warning("mcp_sign_in_ended", server=self._name, error=error.error or error.message)
                await self._end(
                    known, is_client_known=error.error not in ("invalid_client", "unauthorized_client")
                )
                return None
            await self.keep(renewed)
            return renewed.access_token

    async def keep(self, signed_in: SignedIn) -> None:
        """Stores it, and uses it from now on."""
        self._kept = signed_in
        if self._store is not None:
            await self._store.put(place_of(self._name), to_json(asdict(signed_in)).decode())

    async def stored(self) -> SignedIn | None:
        """What is stored of the server at this address; what does not open counts as nothing."""
        if self._store is None or not self._store.can_store:
            return None
        try:
            text = await self._store.get(place_of(self._name))
            known = _SIGNED_IN.validate_json(text) if text is not None else None
        except (DecryptionFailed, ValidationError):
            log.warning("mcp_sign_in_unreadable", server=self._name)
            return None
        return known if known is not None and known.url == self._server.url else None

    def forget(self) -> None:
        """What is kept in memory."""
        self._kept, self._is_read = None, False

    async def _end(self, known: SignedIn, *, is_client_known: bool) -> None:
        """The registration stays, unless the server does not know it any more: the next sign-in makes one."""
        self._kept = None
        assert self._store is not None
        if is_client_known:
            await self._store.put(place_of(self._name), to_json(asdict(known.signed_out())).decode())
        else:
            await self._store.remove(place_of(self._name))

    async def _client(self) -> SignedIn:
        if self._kept is not None:
            return self._kept
        assert self._server.oauth is not None
        place = await discover(self._server, self.requests, self.challenge)
        secret = self._server.oauth.client_secret
        client = known_client(
            place.metadata, self._server.oauth.client_id or "", secret.get_secret_value() if secret else None
        )
        return SignedIn(
            self._server.url or "", client, str(place.metadata.token_endpoint), place.resource, place.scope
        )


class BearerAuth(httpx2.Auth):
    """Adds the token to each request, and after a 401 a new one, once: the server has refused before it did
    anything (RFC 6750, 3.1)."""

    def __init__(self, tokens: ServerTokens, ending: ConnectionEnding, name: str) -> None:
        self._tokens, self._ending, self._name = tokens, ending, name

    async def async_auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        token = await self._token(None)
        if token is not None:
            request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code != HTTPStatus.UNAUTHORIZED or request.method == "DELETE":
            return
        self._tokens.challenge = Challenge(
            extract_field_from_www_auth(response, "resource_metadata"),
            extract_field_from_www_auth(response, "scope"),
        )
        another = await self._token(token, is_refused=True)
        if another is not None and another != token:
            request.headers["Authorization"] = f"Bearer {another}"
            response = yield request
            if response.status_code != HTTPStatus.UNAUTHORIZED:
                return
        if self._ending.sign_in_trouble is None:
            self._ending.needs_sign_in = True

    async def _token(self, refused: str | None, *, is_refused: bool = False) -> str | None:
        try:
            found = await (self._tokens.renewed(refused) if is_refused else self._tokens.current())
        except (McpSignInFailed, StorageError) as error:
            self._ending.sign_in_trouble = error.message
            log.warning("mcp_token_not_renewed", server=self._name, error=error.message)
            return None
        self._ending.sign_in_trouble = None
        if found is not None and found not in self._ending.tokens:
            self._ending.tokens.append(found)
        return found
