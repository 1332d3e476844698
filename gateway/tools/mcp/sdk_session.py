"""One session with a server. This is where the SDK begins: importing this file takes 1.1 s of CPU.

program or address ──▶ transport: results mended ──▶ watched: the end noticed ──▶ mcp.Client ──▶ calls
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from typing import Any, cast

import anyio
import structlog
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.message import SessionMessage
from mcp_types import Implementation, JSONRPCResponse, RequestParamsMeta, ToolListChangedNotification
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from gateway import __version__
from gateway.errors import ServerUnreachable, ToolError
from gateway.settings.value_types import McpServer
from gateway.tools.base import ToolContext, ToolOutput
from gateway.tools.mcp import bounds
from gateway.tools.mcp.call_results import bounded, mended_result
from gateway.tools.mcp.failure_messages import (
    ConnectionEnding,
    SessionForgotten,
    SignInNeeded,
    credentials_of,
    redacted,
    scrubbed,
    secrets_of,
    without_secrets,
)
from gateway.tools.mcp.handshake_results import is_handshake, mended_handshake
from gateway.tools.mcp.http_answers import Refusal
from gateway.tools.mcp.http_transport import http_client
from gateway.tools.mcp.oauth_tokens import NEEDS_SIGN_IN, BearerAuth, ServerTokens
from gateway.tools.mcp.remote_tools import LeftOutTool, ListedTool
from gateway.tools.mcp.sdk_failures import has_broken_off, reason_of
from gateway.tools.mcp.server_prompts import (
    ServerPrompt,
    draft_of,
    mended_prompt,
    mended_prompts,
    prompt_of,
)
from gateway.tools.mcp.set_aside import SetAside
from gateway.tools.mcp.sse_transport import sse_transport
from gateway.tools.mcp.stdio_transport import stdio_transport
from gateway.tools.mcp.task_ending import put_to_end
from gateway.tools.mcp.tool_list import ToolList
from gateway.tools.mcp.tool_results import output_of, outside_output, size_of
from gateway.tools.mcp.wire_messages import read_apart
from gateway.tools.progress import Progress

IDEMPOTENCY_KEY = "chat-gateway/idempotency-key"
"""The key in `_meta` under which a server finds the idempotency key of a call."""
_PROGRESS_PAUSE = 0.2  # seconds between two reports of progress that are passed on
_LISTEN_AGAIN = 5.0  # seconds after the stream of notices broke off
_OLDER = frozenset({400, 404, 405})  # HTTP status of a POST
_OF_CALLS = frozenset({"content", "structuredContent"})

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
        self._list: ToolList | None = None
        self._prompt_requests = 0
        self._check: asyncio.Task[None] | None = None
        self._aside = SetAside()
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
            return stdio_transport(self._server, self._ending, on_stderr, self._mended)
        auth = BearerAuth(self._tokens, self._ending, self._name) if self._tokens is not None else None
        client = http_client(self._server, self._ending, self._mended, self._aside, auth)
        http = await stack.enter_async_context(client)
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
        reading = ToolList()
        cursor: str | None = None
        seen: set[str | None] = set()
        if self._client.server_capabilities.tools is None:
            return reading.tools, reading.left_out
        self._list = reading
        try:
            async with asyncio.timeout(self._server.connect_timeout):
                for _ in range(bounds.PAGES):
                    page = await self._client.list_tools(cursor=cursor)
                    reading.take(tool.name for tool in page.tools)
                    cursor = page.next_cursor
                    if cursor is None or cursor in seen or reading.is_full:
                        break
                    seen.add(cursor)
        finally:
            self._list = None
        return reading.tools, reading.left_out

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
        return await read_apart(size_of(result), lambda: output_of(result, self._name))

    async def list_prompts(self) -> list[ServerPrompt]:
        """What prompts the server offers, at most bounds.PROMPTS, in its own order. Raises as
        `filled_prompt`."""
        if self._client.server_capabilities.prompts is None:
            return []
        found: dict[str, ServerPrompt] = {}
        cursor: str | None = None
        seen: set[str | None] = set()
        async with self._about_prompts():
            for _ in range(bounds.PAGES):
                page = await self._client.list_prompts(cursor=cursor)
                found |= {each.name: prompt_of(each) for each in page.prompts if each.name not in found}
                cursor = page.next_cursor
                if cursor is None or cursor in seen or len(found) >= bounds.PROMPTS:
                    break
                seen.add(cursor)
        return list(found.values())[: bounds.PROMPTS]

    async def filled_prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """The text of a prompt by the server's own name for it.

        Raises:
            ServerUnreachable: the session ended before the answer came, or it takes too long.
            ToolError: the server refused, or its answer is none; without a full stop.
        """
        async with self._about_prompts():
            return draft_of((await self._client.get_prompt(name, dict(arguments))).messages)

    @asynccontextmanager
    async def _about_prompts(self) -> AsyncGenerator[None]:
        self._prompt_requests += 1
        try:
            async with asyncio.timeout(min(self._server.timeout, bounds.PROMPT_WAIT)):
                yield
        except TimeoutError:
            raise ServerUnreachable("it does not answer") from None
        except MCPError as error:
            raise ToolError(self._words_of(error).removesuffix(".")) from None
        except (ValidationError, RuntimeError):
            raise ToolError("it answered with what is no prompt") from None
        finally:
            self._prompt_requests -= 1

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
        """What the model reads of an error. Raises as `_words_of`."""
        words = self._words_of(error)
        return outside_output(f"The server refused the call: {words}", self._name, is_error=True)

    def _words_of(self, error: MCPError) -> str:
        """What an error says. Raises SessionForgotten: the server did nothing, as it does not know the
        session."""
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
        return text

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
        """The transport, with its end noticed also between calls, and what is set aside put back."""
        async with transport as (messages, answers):
            inbox, mended = anyio.create_memory_object_stream[SessionMessage | Exception]()

            async def pass_on() -> None:
                try:
                    with inbox, suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
                        async for message in messages:
                            await inbox.send(self._whole(message))
                except Exception:  # a mistake of ours: without this task no answer would ever come
                    log.exception("mcp_messages_not_read", server=self._name)
                self._over()

            passing = asyncio.create_task(pass_on())
            try:
                yield mended, answers
            finally:
                mended.close()
                await put_to_end(passing)

    def _whole(self, message: SessionMessage | Exception) -> SessionMessage | Exception:
        if isinstance(message, SessionMessage) and isinstance(message.message, JSONRPCResponse):
            message.message.result = self._aside.taken(message.message.result)
        return message

    def _mended(self, result: dict[str, Any]) -> dict[str, Any]:
        """A result as the SDK takes it, without our secrets; also called in threads. In a session that is
        open, only those of a list, of calls and of prompts are looked at."""
        result = without_secrets(result, secrets_of(self._server, self._ending.tokens))
        if not result.keys().isdisjoint(_OF_CALLS):
            return mended_result(result)
        if self._prompt_requests and "prompts" in result:
            return mended_prompts(result)
        if self._prompt_requests and "messages" in result:
            return mended_prompt(result)
        if is_handshake(result):
            return mended_handshake(result)
        if self._list is not None:
            return self._list.mended(result)
        return mended_result(result) if self._is_open else bounded(result)


def _report_to(show: Progress) -> ProgressFnT:
    async def report(progress: float, total: float | None, message: str | None) -> None:
        show(message or None, progress / total if total else None)

    return report
