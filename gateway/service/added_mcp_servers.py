"""MCP servers that the operator adds, changes and removes while the gateway runs: beside those of the
settings, at addresses alone, as a program would be any command on the gateway's machine."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import structlog
from pydantic import ValidationError

from gateway.auth import Principal
from gateway.errors import Conflict, InvalidRequest, NotFound, ToolError
from gateway.ids import now_ms
from gateway.service.api_keys import ApiKeys
from gateway.service.mcp_servers import CONNECTED_WITHIN, McpServerSignIns, McpServerView
from gateway.settings import Settings
from gateway.settings.value_types import McpServer
from gateway.storage.mcp_servers import AddedMcpServer, AddedMcpServers
from gateway.tools.fetch.addresses import ListedHosts, checked
from gateway.tools.mcp.configured_servers import McpServers

SECRETS = ("headers", "oauth")
"""The parts that have secrets, and stay as they are where a change does not name them."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class ServerParts:
    """What is said of a server; what is None is as it was, or as the settings have it by default."""

    url: str
    transport: str = "auto"
    headers: Mapping[str, str] | None = None
    oauth: Mapping[str, Any] | None = None
    trust_hints: bool = False
    timeout: float | None = None


class UserMcpServers:
    """One per process: `McpServerSignIns` with what may be added."""

    def __init__(
        self,
        servers: McpServers,
        store: AddedMcpServers,
        sign_ins: McpServerSignIns,
        api_keys: ApiKeys,
        settings: Settings,
    ) -> None:
        self._servers, self._store, self._sign_ins, self._api_keys = servers, store, sign_ins, api_keys
        self._reach = settings.mcp_hosts
        self._listed = ListedHosts.of(settings.mcp_hosts)
        self._most = settings.max_added_mcp_servers

    async def look(self) -> None:
        """Has the servers that are stored connected, and no others beside those of the settings. Raises
        errors.StorageError."""
        self._servers.become(parsed(await self._store.list(), self._reach))

    async def put(self, who: Principal, name: str, parts: ServerParts) -> McpServerView:
        """Adds a server, or changes one that was added; it is connected when this returns, or will be tried
        again and again.

        Raises:
            errors.InvalidRequest (mcp_url_refused): it is not on the public web, nor at one of the hosts that
                the settings allow.
            errors.InvalidRequest: the parts do not go together.
            errors.Conflict: the settings have a server of that name (mcp_server_in_settings), or there are
            too many (too_many_mcp_servers).
            errors.EncryptionOff: it has secrets, and nothing to encrypt them with.
            errors.Forbidden: not with the key that they came with.
        """
        await self._check(who, name)
        try:
            checked(parts.url, self._listed)
        except ToolError:
            raise InvalidRequest(
                "An MCP server that is added must be on the public web, on port 80 or 443, or at a host of "
                "GATEWAY_MCP_HOSTS.",
                code="mcp_url_refused",
            ) from None
        former = {each.name: each for each in await self._store.list()}.get(name)
        known: dict[str, Any] = orjson.loads(former.settings) if former is not None else {}
        moved = known.get("url") not in {None, parts.url}
        if moved:  # who answers there must not be given what another was trusted with
            known = {}
        given: dict[str, Any] = {each: known[each] for each in SECRETS if each in known}
        given |= {"url": parts.url, "transport": parts.transport, "trust_hints": parts.trust_hints}
        named = {"headers": parts.headers, "oauth": parts.oauth, "timeout": parts.timeout}
        given |= {each: value for each, value in named.items() if value is not None}
        try:
            McpServer.model_validate(given)
        except ValidationError as error:
            raise InvalidRequest("; ".join(each["msg"] for each in error.errors()[:3])) from None
        oauth: Mapping[str, Any] = given.get("oauth") or {}
        is_secret = bool(given.get("headers")) or "client_secret" in oauth or "?" in parts.url
        row = AddedMcpServer(name, orjson.dumps(given).decode(), who.user_id, now_ms())
        await self._store.put(row, is_secret=is_secret, most=self._most)
        if moved:
            await self._sign_ins.forget(name)
        await self.look()
        if (server := self._servers.server(name)) is not None:
            await server.connected(CONNECTED_WITHIN)
        return await self._sign_ins.view(name)

    async def remove(self, who: Principal, name: str) -> None:
        """Gives it up, with the sign-in to it. Raises errors.NotFound, errors.Conflict
        (mcp_server_in_settings), errors.Forbidden."""
        await self._check(who, name)
        if not await self._store.remove(name):
            raise NotFound(f"There is no MCP server {name[:64]}.", code="mcp_server_not_found")
        await self._sign_ins.forget(name)
        await self.look()

    async def _check(self, who: Principal, name: str) -> None:
        await self._api_keys.check_in_person(who)
        if self._servers.is_fixed(name):
            raise Conflict(
                f"The settings have the MCP server {name[:64]}: it is changed there.",
                code="mcp_server_in_settings",
            )


def parsed(rows: Sequence[AddedMcpServer], reach: Sequence[str]) -> Mapping[str, McpServer]:
    """The servers that are stored. One that this version cannot read is logged, and is none."""
    found: dict[str, McpServer] = {}
    for row in rows:
        try:
            settings = McpServer.model_validate_json(row.settings)
        except ValidationError as error:
            log.warning("mcp_server_unreadable", server=row.name, error=error.errors()[0]["msg"])
            continue
        if settings.url is not None:  # a program would be any command
            found[row.name] = settings.model_copy(update={"reach": tuple(reach)})
    return found
