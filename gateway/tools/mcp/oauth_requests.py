"""Requests to the authorization servers of MCP servers: to public addresses and to the hosts of the settings,
bounded in time and size, and no redirect is followed, since they carry secrets."""

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx2
from pydantic_core import from_json

from gateway.errors import McpSignInFailed, ToolError
from gateway.settings.value_types import McpServer
from gateway.tools.fetch.addresses import ListedHosts, checked, host_of, literal
from gateway.tools.fetch.guarded_requests import GuardedRequests, way_out
from gateway.tools.mcp.failure_messages import redacted
from gateway.tools.mcp.http_transport import certificates
from gateway.tools.mcp.wire_messages import words_of

TIMEOUT = 10.0
"""Seconds for one answer."""
MAX_ANSWER = 262_144
"""Bytes of one answer."""


class GrantRefused(McpSignInFailed):
    """The authorization server refuses. `error` is its word for it, such as `invalid_grant` (RFC 6749,
    5.2)."""

    def __init__(self, message: str, error: str) -> None:
        super().__init__(message)
        self.error = error


class NotAnswering(McpSignInFailed):
    """The authorization server cannot be asked now."""

    retryable = True


@dataclass(frozen=True, slots=True)
class OAuthAnswer:
    """The status of an answer and its JSON object; of a body that is none an empty one."""

    status: int
    body: Mapping[str, Any] = field(repr=False)

    @property
    def error(self) -> str:
        """The server's word for a refusal, and what it says about it."""
        name = self.body.get("error")
        return name[:100] if isinstance(name, str) else ""

    @property
    def words(self) -> str:
        """What the server says of a refusal, for people."""
        return self.words_without(())

    def words_without(self, secrets: Collection[str]) -> str:
        """The same without what was sent, which servers like to repeat: others read it than its owner."""
        given = {key: self.body.get(key) for key in ("error_description", "error")}
        # before it is cut, as a part of a secret would not be found
        whole = {
            key: redacted(value, secrets) if isinstance(value, str) else value for key, value in given.items()
        }
        says = redacted(words_of(whole), secrets)
        return f"HTTP status {self.status}{f', {says[:200]}' if says else ''}"


class OAuthRequests:
    """For one server: of the settings its host, and that of the issuer that the settings name, may be private
    and may be asked over http where their own address is http."""

    def __init__(self, server: McpServer) -> None:
        trusted = [server.url or "", *([server.oauth.issuer] if server.oauth and server.oauth.issuer else ())]
        hosts = {urlsplit(url).hostname or "": urlsplit(url).scheme for url in trusted}
        listed = ListedHosts.of(host for host in hosts if host)
        if server.reach is not None:  # who added it names no private host
            listed = ListedHosts.of(server.reach)
            hosts = {host: scheme for host, scheme in hosts.items() if listed.has(host)}
        self._plain = {host for host, scheme in hosts.items() if scheme == "http"}
        self._listed = listed
        self._requests = GuardedRequests(transport=way_out(certificates()), listed=self._listed)

    def check(self, url: str) -> httpx2.URL:
        """The address as it is asked. Raises McpSignInFailed: it may not be, as a private one is not."""
        try:
            found = checked(url, self._listed)
        except ToolError:
            raise McpSignInFailed(
                "The server names an address for signing in that is not a public one: set `oauth.issuer` of "
                "the server where that is meant so."
            ) from None
        host = host_of(found)
        address = literal(host)
        if found.scheme != "https" and host not in self._plain and not (address and address.is_loopback):
            raise McpSignInFailed("The server names an address for signing in that is not https.")
        return found

    async def get(self, url: str) -> OAuthAnswer:
        """Raises McpSignInFailed, of which NotAnswering."""
        return await self._send("GET", url, {}, None)

    async def post_form(self, url: str, form: Mapping[str, str], headers: Mapping[str, str]) -> OAuthAnswer:
        """Raises as `get`."""
        kind = {"Content-Type": "application/x-www-form-urlencoded"}
        return await self._send("POST", url, {**headers, **kind}, urlencode(form).encode())

    async def post_json(self, url: str, body: bytes) -> OAuthAnswer:
        """Raises as `get`."""
        return await self._send("POST", url, {"Content-Type": "application/json"}, body)

    async def _send(
        self, method: str, url: str, headers: Mapping[str, str], content: bytes | None
    ) -> OAuthAnswer:
        target = self.check(url)
        own = {"Accept": "application/json", "Accept-Encoding": "identity", **headers}
        if content is not None:
            own["Content-Length"] = str(len(content))
        try:
            async with asyncio.timeout(TIMEOUT):
                response = await self._requests.send(target, method, own, content)
                try:
                    body = await _bounded(response)
                finally:
                    await response.aclose()
        except (TimeoutError, httpx2.HTTPError, ToolError, OSError) as error:
            raise NotAnswering(
                f"The authorization server at {host_of(target)} cannot be asked ({type(error).__name__})."
            ) from None
        try:
            value = from_json(body)
        except ValueError:
            value = None
        return OAuthAnswer(response.status_code, value if isinstance(value, dict) else {})


async def _bounded(response: httpx2.Response) -> bytes:
    body = bytearray()
    assert isinstance(response.stream, httpx2.AsyncByteStream)
    async for piece in response.stream:
        body += piece
        if len(body) > MAX_ANSWER:
            raise NotAnswering(f"An answer of the authorization server has more than {MAX_ANSWER} bytes.")
    return bytes(body)
