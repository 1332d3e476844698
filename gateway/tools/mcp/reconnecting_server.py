"""A server that is kept connected: what it offers, and how it is doing."""

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from random import uniform
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import structlog

from gateway.errors import ServerUnreachable
from gateway.ids import now_ms
from gateway.settings.value_types import McpServer
from gateway.tools.base import ToolContext, ToolOutput
from gateway.tools.mcp.failure_messages import SessionForgotten, SignInNeeded, scrubbed
from gateway.tools.mcp.remote_tools import LeftOutTool, ListedTool, RemoteTool, offer
from gateway.tools.mcp.task_ending import put_to_end

if TYPE_CHECKING:
    from gateway.tools.mcp.oauth_tokens import ServerTokens, SignInStore
    from gateway.tools.mcp.sdk_session import McpConnection
    from gateway.tools.mcp.server_prompts import ServerPrompt

PAUSES = (1.0, 2.0, 5.0, 15.0, 30.0)
"""Seconds before the next attempt to connect, give or take half of it; the last one stays."""
STEADY = 60.0
"""Seconds after which a connection counts as a good one: the next pause is the shortest again."""
SETTLING = 1.0
"""Seconds after a notice of a changed list in which further notices count as the same one."""
_MAX_NAMED = 20  # tools that are left out and named in the log

_UNKNOWN_OUTCOME = "It may or may not have taken effect: verify before trying again."

log = structlog.get_logger(__name__)


ServerStatus = Literal["connecting", "connected", "failed", "needs_sign_in"]


@dataclass(frozen=True, slots=True)
class ServerState:
    """How a server is doing. `tools` is how many are offered, `error` why it is not connected (no secrets, no
    paths), `since` when that began in Unix milliseconds."""

    name: str
    status: ServerStatus
    tools: int
    error: str | None
    since: int


class Server:
    """`changed` is called when `tools` is another tuple than before. It stays the same while the server is
    away: the prompt names the tools, and calls fail with the reason."""

    def __init__(
        self,
        name: str,
        settings: McpServer,
        changed: Callable[[], None],
        store: "SignInStore | None" = None,
    ) -> None:
        self.name = name
        self.tools: tuple[RemoteTool, ...] = ()
        self.state = ServerState(name, "connecting", 0, None, now_ms())
        self.tried = asyncio.Event()
        self.settings = self._settings = settings
        self._store = store
        self._tokens: ServerTokens | None = None
        self._woken = asyncio.Event()
        self._changed = changed
        self._connection: McpConnection | None = None
        self._connected = asyncio.Event()
        self._listed: tuple[list[ListedTool], list[LeftOutTool]] | None = None
        self._left_out: list[LeftOutTool] = []
        self._is_reported = False

    async def run(self) -> NoReturn:
        """Connects, and connects again, until it is cancelled. It may be run again after a failure."""
        attempts = 0
        while True:
            began = monotonic()
            session = asyncio.create_task(self._session(), name=f"MCP session {self.name}")
            try:
                await asyncio.wait((session,))
            finally:
                await put_to_end(session)
            try:
                lost = session.result()
            except BaseException:
                # A mistake of ours: a caller of the server or its tools must not wait for it.
                self.failed("the gateway made a mistake: see its log")
                raise
            if monotonic() - began > STEADY:
                attempts = 0
            if isinstance(lost, SessionForgotten) and attempts == 0:
                log.info("mcp_session_begun_anew", server=self.name)
            else:
                self.failed(
                    lost.message, needs_sign_in=isinstance(lost, SignInNeeded), **(lost.details or {})
                )
                pause = PAUSES[min(attempts, len(PAUSES) - 1)] * uniform(0.5, 1.5)  # noqa: S311 - no secret
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), pause)
                self._woken.clear()
            attempts += 1

    async def _session(self) -> ServerUnreachable:
        """One connection from its beginning to its end, and why it ended."""
        from gateway.tools.mcp.sdk_session import open_connection  # noqa: PLC0415 - imports the SDK

        try:
            tokens = self.tokens if self.takes_sign_in else None
            async with open_connection(self.name, self._settings, self._log_stderr, tokens) as connection:
                await self._follow(connection)
        except ServerUnreachable as lost:
            return lost

    @property
    def takes_sign_in(self) -> bool:
        """Whether somebody can sign in to it: it is at an address, and the settings give it no token."""
        return self._settings.url is not None and not any(
            name.lower() == "authorization" for name in self._settings.headers
        )

    @property
    def tokens(self) -> "ServerTokens":
        """Those of the sign-in to it. The first time imports the SDK."""
        if self._tokens is None:
            from gateway.tools.mcp.oauth_tokens import ServerTokens  # noqa: PLC0415 - imports the SDK

            self._tokens = ServerTokens(self.name, self._settings, self._store)
        return self._tokens

    def wake(self) -> None:
        """Has it try to connect now, as somebody has signed in, or out."""
        if self.state.status == "needs_sign_in":
            self._become("connecting", None)
        self._woken.set()

    async def connected(self, within: float) -> bool:
        """Whether it is connected, at the latest after so many seconds."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._connected.wait(), within)
        return self._connected.is_set()

    async def prompts(self) -> "list[ServerPrompt]":
        """What prompts it offers, asked anew. Raises as `filled_prompt`."""
        return await self._open_connection().list_prompts()

    async def filled_prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """The text of a prompt. Raises ToolError, as `McpConnection.filled_prompt`."""
        return await self._open_connection().filled_prompt(name, arguments)

    def _open_connection(self) -> "McpConnection":
        if self._connection is None:
            raise ServerUnreachable(f"it is not reachable now ({self.state.error or 'connecting'})")
        return self._connection

    def end_session(self) -> None:
        """Has it connect anew: who was signed out, is not served on."""
        if (connection := self._connection) is not None:
            connection.end()
        self.wake()

    def failed(self, error: str, *, needs_sign_in: bool = False, **details: Any) -> None:
        """Logs once that the server is not there."""
        if not self._is_reported:
            log.warning("mcp_server_unreachable", server=self.name, error=error, **details)
            self._is_reported = True
        self._become("needs_sign_in" if needs_sign_in else "failed", error)

    async def _follow(self, connection: "McpConnection") -> NoReturn:
        await self._take_list(connection)
        self._connection = connection
        self._connected.set()
        self._become("connected", None)
        self._is_reported = False
        log.info("mcp_server_connected", server=self.name, tools=len(self.tools), protocol=connection.version)
        try:
            while True:
                await connection.list_changed()
                await asyncio.sleep(SETTLING)
                await self._take_list(connection)
                self._become("connected", None)
        finally:
            self._connection = None
            self._connected.clear()
            self._become("failed", "the connection was lost")  # why, is known when its program has ended

    async def _take_list(self, connection: "McpConnection") -> None:
        listed = await connection.list_tools()
        if listed == self._listed:
            return
        tools, refused = await asyncio.to_thread(offer, self.name, self._settings, listed[0], self._call)
        self._listed = listed
        self._log_left_out([*listed[1], *refused])
        if tools != self.tools:
            self.tools = tools
            self._changed()

    async def _call(self, tool: RemoteTool, arguments: dict[str, Any], context: ToolContext) -> ToolOutput:
        connection = self._connection
        if connection is None:
            raise ServerUnreachable(
                f"The MCP server {self.name!r} is not reachable now: {self.state.error}. "
                "It is being reconnected. Nothing was done."
            )
        try:
            return await connection.call(tool.remote_name, arguments, context)
        except SessionForgotten:
            return await self._call_again(connection, tool, arguments, context)
        except ServerUnreachable as error:
            raise self._lost(tool, error) from None

    async def _call_again(
        self, former: "McpConnection", tool: RemoteTool, arguments: dict[str, Any], context: ToolContext
    ) -> ToolOutput:
        """Once, in the next session: the server refused the call before it did anything."""
        if self._connection is former:
            self._connection = None
            self._connected.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(self._settings.connect_timeout):
                await self._connected.wait()
        if (connection := self._connection) is None:
            raise ServerUnreachable(
                f"The MCP server {self.name!r} has ended the session, and a new one cannot be begun: "
                f"{self.state.error}. Nothing was done."
            )
        try:
            return await connection.call(tool.remote_name, arguments, context)
        except SessionForgotten:
            raise ServerUnreachable(
                f"The MCP server {self.name!r} does not keep its sessions: it did not know a new one either. "
                "Nothing was done."
            ) from None
        except ServerUnreachable as error:
            raise self._lost(tool, error) from None

    def _lost(self, tool: RemoteTool, error: ServerUnreachable) -> ServerUnreachable:
        lost = f"The connection to the MCP server {self.name!r} was lost in the call: {error.message}."
        return ServerUnreachable(lost if tool.effect == "read_only" else f"{lost} {_UNKNOWN_OUTCOME}")

    def _become(self, status: ServerStatus, error: str | None) -> None:
        since = self.state.since if self.state.status == status else now_ms()
        self.state = ServerState(self.name, status, len(self.tools), error, since)
        self.tried.set()

    def _log_left_out(self, left_out: list[LeftOutTool]) -> None:
        if left_out != self._left_out:
            self._left_out = left_out
            named = [scrubbed(f"{tool}: {reason}", self._settings) for tool, reason in left_out[:_MAX_NAMED]]
            log.warning("mcp_tools_left_out", server=self.name, number=len(left_out), tools=named)

    def _log_stderr(self, line: str) -> None:
        log.debug("mcp_server_stderr", server=self.name, line=scrubbed(line, self._settings))
