"""One session with a server. This is where the SDK begins: importing this file takes 1.1 s of CPU.

program or address ──▶ transport ──▶ watched: bounded lists, the end noticed ──▶ mcp.Client ──▶ calls
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from typing import Any, cast

import anyio
import structlog
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.message import SessionMessage
from mcp_types import Implementation, JSONRPCResponse, RequestParamsMeta, Tool, ToolListChangedNotification
from mcp_types.methods import validate_server_result
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError
from pydantic_core import to_json

from gateway import __version__
from gateway.errors import ServerUnreachable, ToolError, plain_words, problems_of
from gateway.settings.value_types import McpServer
from gateway.tools.base import ToolContext, ToolOutput
from gateway.tools.mcp import bounds
from gateway.tools.mcp.call_results import mended_result
from gateway.tools.mcp.failure_messages import (
    ConnectionEnding,
    SessionForgotten,
    SignInNeeded,
    credentials_of,
    redacted,
    scrubbed,
)
from gateway.tools.mcp.http_answers import Refusal
from gateway.tools.mcp.http_transport import http_client
from gateway.tools.mcp.oauth_tokens import NEEDS_SIGN_IN, BearerAuth, ServerTokens
from gateway.tools.mcp.remote_tools import LeftOutTool, ListedTool
from gateway.tools.mcp.sdk_failures import has_broken_off, reason_of
from gateway.tools.mcp.sse_transport import sse_transport
from gateway.tools.mcp.stdio_transport import stdio_transport
from gateway.tools.mcp.task_ending import put_to_end
from gateway.tools.mcp.tool_results import output_of, outside_output
from gateway.tools.progress import Progress

IDEMPOTENCY_KEY = "chat-gateway/idempotency-key"
"""The key in `_meta` under which a server finds the idempotency key of a call."""
_PROGRESS_PAUSE = 0.2  # seconds between two reports of progress that are passed on
_LISTEN_AGAIN = 5.0  # seconds after the stream of notices broke off
_USED = ("name", "title", "description", "inputSchema", "annotations")  # of a tool; the rest is not looked at
_OLDER = frozenset({400, 404, 405})  # HTTP status of a POST
_HANDSHAKE = frozenset({"protocolVersion", "supportedVersions"})  # in results that are no call's
_PAGE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}  # what a list must have, since 2026

log = structlog.get_logger(__name__)


@asynccontextmanager
async def open_connection(
    name: str,
    server: McpServer,
    on_stderr: Callable[[str], None],
    tokens: ServerTokens | None = None,
) -> AsyncGenerator["McpConnection"]:
    """A session that is ready, by the transport that the settings name, else by what the server takes. When
    the context is left, a program that was started for it has ended.

    Raises:
        ServerUnreachable: at any time, also from within: there is no session, or no more; the message has the
            reason, without secrets.
    """
    connection = McpConnection(name, server, tokens)
    try:
        async with AsyncExitStack() as stack:
            async with asyncio.timeout(server.connect_timeout):
                connection = await _opened(connection, stack, on_stderr)
            yield connection
    except Exception as error:  # noqa: BLE001 - all that the SDK and what is under it raise means the same here
        raise connection.lost(error) from None


async def _opened(
    first: "McpConnection", stack: AsyncExitStack, on_stderr: Callable[[str], None]
) -> "McpConnection":
    """The connection, or one by the older transport in its place."""
    async with AsyncExitStack() as tried:
        try:
            await first.open(tried, on_stderr)
        except Exception:
            if not first.may_be_older:
                raise
        else:
            stack.push_async_exit(tried.pop_all())
            return first
    older = first.by_older_transport()
    try:
        await older.open(stack, on_stderr)
    except Exception as error:  # noqa: BLE001 - as in open_connection
        raise ServerUnreachable(first.lost(error).message) from None
    return older


class McpConnection:
    """Made by `open_connection`."""

    def __init__(self, name: str, server: McpServer, tokens: ServerTokens | None = None) -> None:
        self._name = name
        self._server = server
        self._tokens = tokens
        self._ending = ConnectionEnding()
        self._changed = asyncio.Event()
        self._is_open = False
        self._is_over = False
        self._left_out: list[LeftOutTool] = []
        self._looked_at = 0
        self._budget = bounds.LIST
        self._check: asyncio.Task[None] | None = None
        self._client: Client

    async def open(self, stack: AsyncExitStack, on_stderr: Callable[[str], None]) -> None:
        transport = await self._transport(stack, on_stderr)
        self._client = await stack.enter_async_context(
            Client(
                self._watched(transport),
                client_info=Implementation(name="chat-gateway", version=__version__),
                message_handler=self._notice,
                cache=None,
            )
        )
        self._is_open = True
        stack.push_async_callback(self._end_check)
        if self._client.protocol_version in MODERN_PROTOCOL_VERSIONS:
            subscribing = asyncio.create_task(self._subscribe())
            stack.push_async_callback(put_to_end, subscribing)

    async def _transport(
        self, stack: AsyncExitStack, on_stderr: Callable[[str], None]
    ) -> AbstractAsyncContextManager[Any]:
        if self._server.command is not None:
            return stdio_transport(self._server, self._ending, on_stderr)
        auth = BearerAuth(self._tokens, self._ending, self._name) if self._tokens is not None else None
        http = await stack.enter_async_context(http_client(self._server, self._ending, auth))
        url = self._server.url or ""
        if self._server.transport == "sse":
            return sse_transport(url, http, self._ending)
        return streamable_http_client(url, http_client=http, max_sse_event_size=bounds.MESSAGE)

    @property
    def may_be_older(self) -> bool:
        """Whether the server refused as one does that knows the older transport alone. (MCP specification,
        "Backwards Compatibility" of transports)"""
        return self._server.transport == "auto" and self._ending.status in _OLDER

    def by_older_transport(self) -> "McpConnection":
        """A connection to the same server by HTTP with SSE."""
        server = self._server.model_copy(update={"transport": "sse"})
        return McpConnection(self._name, server, self._tokens)

    @property
    def version(self) -> str:
        """The version of the protocol that is spoken."""
        return self._client.protocol_version

    @property
    def detail(self) -> dict[str, Any] | None:
        """The server's own last word, for the log."""
        text = self._ending.detail
        return {"detail": self._scrubbed(text)} if text is not None else None

    async def list_changed(self) -> None:
        """Returns when the list of tools may have changed.

        Raises:
            ServerUnreachable: the session is over.
        """
        await self._changed.wait()
        self._changed.clear()
        if self._is_over:
            raise ServerUnreachable("it closed the connection")

    async def list_tools(self) -> tuple[list[ListedTool], list[LeftOutTool]]:
        """What the server offers, in its own order, and what of it is no tool."""
        listed: list[ListedTool] = []
        self._left_out, self._looked_at, self._budget = [], 0, bounds.LIST
        if self._client.server_capabilities.tools is None:
            return listed, self._left_out
        cursor: str | None = None
        seen: set[str | None] = set()
        async with asyncio.timeout(self._server.connect_timeout):
            for _ in range(bounds.PAGES):
                page = await self._client.list_tools(cursor=cursor)
                listed += [_listed(tool) for tool in page.tools]
                cursor = page.next_cursor
                if (
                    cursor is None
                    or cursor in seen
                    or len(listed) > bounds.TOOLS
                    or self._looked_at >= bounds.LISTED
                ):
                    break
                seen.add(cursor)
        return listed, self._left_out

    async def call(self, tool: str, arguments: dict[str, Any], context: ToolContext) -> ToolOutput:
        """Calls a tool by the server's own name for it. Cancelling notifies the server, which then has as
        long as a call may take to answer a question, or the session is over.

        Raises:
            ServerUnreachable: the session ended before the answer came; SessionForgotten: it had before the
                call came.
            ToolError: the answer is no result of a tool.
        """
        meta = {**context.trace_headers, IDEMPOTENCY_KEY: context.idempotency_key}
        progress = Progress(context.emit, _PROGRESS_PAUSE)
        try:
            result = await self._client.call_tool(
                tool, arguments, progress_callback=_report_to(progress), meta=cast("RequestParamsMeta", meta)
            )
        except asyncio.CancelledError:
            self._start_check()
            raise
        except MCPError as error:
            if Refusal.of(error.error.data) == Refusal() and (self._is_over or has_broken_off(error)):
                raise ServerUnreachable(self.lost(error).message) from None
            return self._refused(error)
        except (ValidationError, RuntimeError):
            raise ToolError(
                f"The MCP server {self._name!r} answered with what is no result of a tool."
            ) from None
        finally:
            progress.close()
        return output_of(result, self._name)

    def lost(self, error: BaseException) -> ServerUnreachable:
        """Why the session is over, or never began."""
        ending = self._ending
        reason = reason_of(error, ending, self._server)
        if ending.needs_sign_in:
            return SignInNeeded(NEEDS_SIGN_IN.format(name=self._name), details=self.detail)
        if ending.sign_in_trouble is not None:
            reason = f"no token could be got for it: {ending.sign_in_trouble}"
        return (SessionForgotten if ending.forgotten else ServerUnreachable)(reason, details=self.detail)

    def _refused(self, error: MCPError) -> ToolOutput:
        """What the model reads of an error. Raises SessionForgotten: the server did nothing, as it does not
        know the session."""
        refusal = Refusal.of(error.error.data)
        sent = credentials_of(self._server, self._ending.tokens)
        text = redacted(error.message, sent)[: bounds.LINE]  # everybody reads what a call answers
        if refusal.status is not None or refusal.forgotten:
            log.warning(
                "mcp_call_refused",
                server=self._name,
                status=refusal.status,
                error=self._scrubbed(text),
            )
        if refusal.forgotten:
            self._forget()
            raise SessionForgotten("it did not know the session any more")
        if self._ending.needs_sign_in or self._ending.sign_in_trouble is not None:
            self._over()
            text = f"{text}; {self.lost(error).message}"
        elif refusal.doubtful:
            self._start_check()
        return outside_output(f"The server refused the call: {text}", self._name, is_error=True)

    def _scrubbed(self, text: str) -> str:
        return scrubbed(text, self._server, self._ending.tokens)

    def end(self) -> None:
        """Ends the session, so that another one is begun."""
        self._ending.because("it was signed out of")
        self._over()

    def _forget(self) -> None:
        self._ending.forgotten = True
        self._ending.because("it has ended the session")
        self._over()

    def _start_check(self) -> None:
        if self._is_open and (self._check is None or self._check.done()):
            self._check = asyncio.create_task(self._check_answers())

    async def _check_answers(self) -> None:
        """Ends the session when the server hangs: also what it does not know, it would answer. And when it
        refuses even this, as for a session that it does not know."""
        session = self._client.session
        is_modern = self.version in MODERN_PROTOCOL_VERSIONS  # they have no ping
        with suppress(Exception):  # a refusal is an answer too, and who ended meanwhile is noticed elsewhere
            try:
                async with asyncio.timeout(self._server.timeout):
                    await (session.send_discover(self.version) if is_modern else session.send_ping())
            except TimeoutError:
                self._ending.because("it does not answer any more")
                self._over()
            except MCPError as error:
                refusal = Refusal.of(error.error.data)
                if refusal.forgotten or refusal.doubtful:
                    self._forget()

    async def _end_check(self) -> None:
        self._is_open = False
        if self._check is not None:
            await put_to_end(self._check)

    def _over(self) -> None:
        self._is_over = True
        self._changed.set()

    async def _notice(self, message: object) -> None:
        if isinstance(message, ToolListChangedNotification):
            self._changed.set()

    async def _subscribe(self) -> None:
        """Keeps the stream open on which a server that speaks the protocol of 2026 sends its notices. They
        come to `_notice` like those of older servers, which need not be asked."""
        while True:
            try:
                with suppress(SubscriptionLost, TimeoutError):
                    async with self._client.listen(tools_list_changed=True) as subscription:
                        async for _ in subscription:
                            pass
            except MCPError:  # it has none
                return
            except Exception:  # a mistake of ours, or the SDK's: tried again, too
                log.exception("mcp_notices_not_read", server=self._name)
            await asyncio.sleep(_LISTEN_AGAIN)
            self._changed.set()  # changes of the meantime came without a notification

    @asynccontextmanager
    async def _watched(self, transport: AbstractAsyncContextManager[Any]) -> AsyncGenerator[Any]:
        """The transport, with lists mended on their way, and its end noticed also between calls."""
        async with transport as (messages, answers):
            inbox, mended = anyio.create_memory_object_stream[SessionMessage | Exception]()

            async def pass_on() -> None:
                try:
                    with inbox, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                        async for message in messages:
                            await inbox.send(self._repaired(message))
                except Exception:  # a mistake of ours: without this task no answer would ever come
                    log.exception("mcp_messages_not_read", server=self._name)
                self._over()

            passing = asyncio.create_task(pass_on())
            try:
                yield mended, answers
            finally:
                mended.close()
                await put_to_end(passing)

    def _repaired(self, message: SessionMessage | Exception) -> SessionMessage | Exception:
        """A list of tools without those that are none, for which the SDK would refuse the others too. Nothing
        is kept of results' schemas: the SDK would check each result against the server's own patterns."""
        if not isinstance(message, SessionMessage) or not isinstance(message.message, JSONRPCResponse):
            return message
        result = message.message.result
        if self._is_open and "content" not in result and isinstance(tools := result.get("tools"), list):
            entries = [self._checked(tool) for tool in tools[: max(0, bounds.LISTED - self._looked_at)]]
            self._looked_at += len(entries)
            result["tools"] = [kept for kept in entries if kept is not None]
            result.pop("_meta", None)
            if (cursor := result.get("nextCursor")) is not None and not isinstance(cursor, str):
                result["nextCursor"] = str(cursor)
        elif self._is_open and not result.keys() & _HANDSHAKE:
            message.message.result = mended_result(result)
        return message

    def _checked(self, tool: Any) -> dict[str, Any] | None:
        kept = {key: tool[key] for key in _USED if key in tool} if isinstance(tool, dict) else {}
        try:
            self._budget -= len(to_json(kept)) if self._budget > 0 else 0
            if self._budget <= 0:
                raise ValueError(f"the list has more than {bounds.LIST} bytes")
            validate_server_result("tools/list", self.version, {**_PAGE, "tools": [kept]})
        except ValidationError as error:
            problem = problems_of(error)[0]
            where = ".".join(str(part) for part in problem["loc"][2:])
            reason = f"{where}: {plain_words(problem['type'], problem['msg'], unknown='unknown name')}"
        except ValueError as error:
            reason = str(error)
        else:
            return kept
        self._left_out.append(LeftOutTool(str(kept.get("name", "?"))[: bounds.LINE], reason[: bounds.LINE]))
        return None


def _listed(tool: Tool) -> ListedTool:
    hints = tool.annotations
    return ListedTool(
        tool.name,
        tool.description or tool.title or "",
        tool.input_schema,
        is_read_only=hints is not None and hints.read_only_hint is True,
        is_idempotent=hints is not None and hints.idempotent_hint is True,
    )


def _report_to(show: Progress) -> ProgressFnT:
    async def report(progress: float, total: float | None, message: str | None) -> None:
        show(message or None, progress / total if total else None)

    return report
