"""The meaning of a failure of the SDK, or below it, for a server."""

import httpx2
from mcp import MCPError
from mcp_types import CONNECTION_CLOSED
from pydantic import ValidationError

from gateway.errors import ServerUnreachable
from gateway.settings.value_types import McpServer
from gateway.tools.mcp.failure_messages import ConnectionEnding

_BROKEN_OFF = ("Connection closed", "SSE stream")  # how the SDK's own messages in a server's place begin


def has_broken_off(error: MCPError) -> bool:
    """Whether there will be no answer. Servers use the same code for errors of their own."""
    return error.code == CONNECTION_CLOSED and error.message.startswith(_BROKEN_OFF)


def reason_of(error: BaseException, ending: ConnectionEnding, server: McpServer) -> str:
    """Why a session with `server` is over, or never began, in our own words: the model reads it."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, MCPError):
        ending.detail = ending.detail or error.message
    return ending.reason or _in_words(error, ending, server)


def _in_words(error: BaseException, ending: ConnectionEnding, server: McpServer) -> str:
    match error:
        case ServerUnreachable():
            reason = error.message
        case MCPError() if ending.status is not None:
            reason = f"it answers with HTTP status {ending.status}"
        case MCPError():
            reason = "it closed the connection" if has_broken_off(error) else "it refuses the session"
        case TimeoutError():
            reason = f"it was not ready within {server.connect_timeout:g} seconds"
        case httpx2.ConnectError() | httpx2.ConnectTimeout():
            reason = "it cannot be connected to"
        case httpx2.HTTPError():
            reason = "the connection to it broke"
        case OSError():
            reason = f"its program cannot be started: {error.strerror}"
        case ValidationError():
            reason = "it answers with what is no message of the protocol"
        case ValueError() | httpx2.InvalidURL():
            reason = "its settings hold a value that cannot be used there"
        case RuntimeError():
            reason = "it speaks no version of the protocol that is known here"
        case _:
            reason = f"it breaks the protocol ({type(error).__name__})"
    return reason
