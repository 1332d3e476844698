"""MCP servers as their operator sees them: how each is doing, and the gateway's sign-in to it."""

import asyncio
import hashlib
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit, urlunsplit

from gateway.auth import Principal
from gateway.errors import EncryptionOff, McpSignInFailed, NotFound
from gateway.ids import now_ms
from gateway.service.api_keys import ApiKeys
from gateway.service.standing_access import StandingAccess
from gateway.storage.mcp_sign_ins import McpSignIns
from gateway.tools.mcp.configured_servers import McpServers
from gateway.tools.mcp.reconnecting_server import Server, ServerState

if TYPE_CHECKING:
    from gateway.tools.mcp.oauth_sign_in import Beginner

CONNECTED_WITHIN = 5.0
"""Seconds that somebody who has signed in waits at most for the server to be connected."""


@dataclass(frozen=True, slots=True)
class McpServerView:
    """A server, where it is, whether it is one of the settings, and whether the gateway can be signed in to
    it, and is. `headers` are the names of those that are sent."""

    state: ServerState
    takes_sign_in: bool
    is_signed_in: bool
    url: str | None = None
    transport: Literal["auto", "http", "sse"] = "auto"
    headers: tuple[str, ...] = ()
    trust_hints: bool = False
    is_fixed: bool = True


class McpServerSignIns:
    """One per process. A sign-in is the gateway's, not its user's: it serves the calls of everybody."""

    def __init__(
        self, servers: McpServers, store: McpSignIns, api_keys: ApiKeys, standing: StandingAccess
    ) -> None:
        self._servers, self._store, self._api_keys, self._standing = servers, store, api_keys, standing

    async def list(self) -> list[McpServerView]:
        """By name. Raises errors.StorageError."""
        return [await self._view(state) for state in self._servers.states]

    async def begin(self, who: Principal, name: str, redirect_uri: str, browser: str | None) -> str:
        """The address at which a person signs in to the server. They come back with what the authorization
        server adds to `redirect_uri`: to `finish` in the `browser` that has this secret, or without one with
        the user who began it.

        Raises:
            NotFound: there is no such server, or none that one signs in to.
            EncryptionOff: nothing could be stored.
            McpSignInFailed: why it cannot be begun.
            Forbidden: not with the key that they came with.
        """
        await self._api_keys.check_in_person(who)
        server = self._server(name)
        if not self._store.can_store:
            raise EncryptionOff()
        await _load()
        from gateway.tools.mcp.oauth_sign_in import Beginner, begin  # noqa: PLC0415 - imports the SDK

        bound_to = _bound_to(None if browser is not None else who, browser)
        return await begin(
            name,
            server.settings,
            server.tokens,
            self._store,
            redirect_uri=redirect_uri,
            by=Beginner(bound_to, who.key_id, who.sign_in, who.expires_at),
        )

    async def finish(
        self,
        who: Principal | None,
        browser: str | None,
        *,
        state: str,
        code: str,
        issuer: str | None,
        error: str | None,
    ) -> str:
        """The name of the server that the gateway is signed in to now. Raises McpSignInFailed, which says
        why it is not."""
        await _load()
        from gateway.tools.mcp.oauth_sign_in import finish, taken_up  # noqa: PLC0415 - imports the SDK

        begun = await taken_up(self._store, state, _bound_to(who, browser))
        if await self._has_ended(begun.by):
            raise McpSignInFailed("The access with which this sign-in was begun has ended. Begin again.")
        server = self._servers.server(begun.server)
        if server is None or server.settings.url != begun.known.url:
            raise McpSignInFailed("The settings do not have this server any more.")
        await finish(begun, server.tokens, code, issuer, error)
        server.wake()
        await server.connected(CONNECTED_WITHIN)  # so that whoever looks then finds its tools
        return begun.server

    async def _has_ended(self, by: "Beginner") -> bool:
        """Whether who began it could not any more. Raises errors.StorageError."""
        gone = await self._standing.gone(
            (by.key_id,) if by.key_id is not None else (), (by.sign_in,) if by.sign_in is not None else ()
        )
        return bool(gone.keys or gone.sign_ins) or (by.expires_at is not None and by.expires_at <= now_ms())

    async def sign_out(self, who: Principal, name: str) -> bool:
        """Forgets the tokens, and as what the gateway is registered; whether there was something. Raises
        NotFound, Forbidden."""
        await self._api_keys.check_in_person(who)
        server = self._server(name)
        await _load()
        removed = await self.forget(name)
        server.tokens.forget()
        server.end_session()
        return removed

    async def forget(self, name: str) -> bool:
        """Removes what is stored of the sign-in to a server; whether there was something."""
        return await self._store.remove(f"server:{name}")

    async def view(self, name: str) -> McpServerView:
        """The server of that name. Raises NotFound."""
        for state in self._servers.states:
            if state.name == name:
                return await self._view(state)
        raise NotFound("There is no MCP server of that name.")

    async def _view(self, state: ServerState) -> McpServerView:
        server = self._servers.server(state.name)
        takes = server is not None and server.takes_sign_in
        signed_in = await self._store.get(f"server:{state.name}") if takes and self._store.can_store else None
        is_signed_in = signed_in is not None and state.status != "needs_sign_in"
        if server is None:
            return McpServerView(state, takes, is_signed_in)
        of_server = server.settings
        return McpServerView(
            state,
            takes,
            is_signed_in,
            url=_shown(of_server.url) if of_server.url is not None else None,
            transport=of_server.transport,
            headers=tuple(sorted(of_server.headers)),
            trust_hints=of_server.trust_hints,
            is_fixed=self._servers.is_fixed(state.name),
        )

    def _server(self, name: str) -> Server:
        server = self._servers.server(name)
        if server is None or not server.takes_sign_in:
            raise NotFound("There is no MCP server of that name to sign in to.")
        return server


def _shown(url: str) -> str:
    """Without what may be a secret in it: a name and a password, and the query."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


async def _load() -> None:
    """Imports the SDK beside the event loop, as it takes a second of CPU. Raises McpSignInFailed: there is
    none."""
    try:
        await asyncio.to_thread(import_module, "gateway.tools.mcp.oauth_sign_in")
    except ImportError:
        raise McpSignInFailed("The MCP SDK is not installed: pip install 'mcp>=2.3,<3'") from None


def _bound_to(who: Principal | None, browser: str | None) -> str:
    """Who may come back, as it is stored: a digest."""
    text = (
        f"browser {browser}"
        if browser is not None
        else f"user {who.tenant}/{who.user_id}"
        if who
        else "nobody"
    )
    return hashlib.sha256(text.encode()).hexdigest()
