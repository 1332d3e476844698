"""`gateway mcp serve`, or `gateway mcp`: the memory as an MCP server, for programs with a model in them."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.options import Key

if TYPE_CHECKING:
    from socket import socket

    from gateway.adapters.mcp.mcp_memory_server import McpUser
    from gateway.auth.static_keys import StaticKeys
    from gateway.settings import Settings

GRACE = 5
"""Seconds that requests get which are under way when it is asked to stop."""

Role = Annotated[str | None, typer.Option(help="The role, or interface, that asks.")]
Project = Annotated[str | None, typer.Option(help="The project that is worked in.")]


def serve(
    *,
    user: Annotated[
        str | None, typer.Option(help="Whose memory it is. [default: local, or whoever the key names]")
    ] = None,
    role: Role = None,
    project: Project = None,
    http: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Serve over HTTP there, not over the standard streams."),
    ] = None,
    url: Annotated[
        str | None, typer.Option(help="Pass on what the gateway there offers: chat, memory, resources.")
    ] = None,
    key: Key = None,
) -> None:
    """Serve the memory to an MCP client.

    It has the tool manage_memory, over stdio or HTTP.

    A gateway that runs offers it at /mcp, with the tool chat; --url brings that to clients which start one.
    """
    from importlib.util import find_spec

    from gateway.cli.open_memory import checked_id
    from gateway.errors import GatewayError, SettingsError
    from gateway.settings import load_settings
    from gateway.telemetry.lines.logs import configure_logging

    if find_spec("mcp") is None:
        raise GatewayError("The MCP SDK is not installed: pip install 'mcp>=2.3,<3'")
    if url is not None:
        if any((user, role, project, http)):
            raise typer.BadParameter("With --url the key says who asks: give nothing but --key.")
        _forward(url, key)
        return
    from gateway.adapters.mcp.mcp_memory_server import McpUser
    from gateway.auth import LOCAL_USER

    host, port = _address(http) if http is not None else (None, None)
    settings = load_settings(host=host, port=port)
    if not settings.memory:
        raise SettingsError("GATEWAY_MEMORY is false: there is no memory to serve.")
    configure_logging(settings.log_level, settings.log_format)
    caller = McpUser(
        checked_id(user or LOCAL_USER.user_id, "--user"),
        role and checked_id(role, "--role"),
        project and checked_id(project, "--project"),
    )
    if http is None:
        _end_at_interrupt()
        asyncio.run(_over_stdio(settings, caller))
        return
    if user is not None and settings.api_keys.get_secret_value():
        raise typer.BadParameter("Leave --user out: with GATEWAY_API_KEYS the key of each request names it.")
    _over_http(settings, caller)


def _end_at_interrupt() -> None:
    """The SDK waits for the next line in a thread that nothing interrupts. What was saved is saved."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _forward(url: str, key: str | None) -> None:
    from gateway.adapters.mcp.mcp_stdio_proxy import forward_stdio
    from gateway.telemetry.lines.logs import configure_logging

    configure_logging("warning", "auto")
    _end_at_interrupt()
    asyncio.run(forward_stdio(url, key))


def _address(http: str) -> tuple[str, int]:
    host, _, port = http.rpartition(":")
    if not (port.isascii() and port.isdigit() and int(port) <= 65535):
        raise typer.BadParameter("--http takes HOST:PORT, such as 127.0.0.1:8765; port 0 takes a free one.")
    return host.strip("[]") or "127.0.0.1", int(port)


async def _over_stdio(settings: "Settings", caller: "McpUser") -> None:
    from gateway.adapters.mcp.mcp_memory_server import memory_server, memory_tool, serve_stdio
    from gateway.cli.memory_context import check_there
    from gateway.wiring import open_memory

    check_there(settings, makes=True)
    async with open_memory(settings) as services:
        await serve_stdio(memory_server(memory_tool(settings, services), caller))


def _over_http(settings: "Settings", caller: "McpUser") -> None:
    """Raises SettingsError where others could reach it and no key protects it: it takes no other
    credentials."""
    from gateway.auth.static_keys import StaticKeys
    from gateway.cli.http_server import bind, refuse_open_address

    keys = StaticKeys.of(settings)
    refuse_open_address(settings, is_closed=bool(keys))
    with bind(settings.host, settings.port, option="--http") as listener:
        asyncio.run(_listen(settings, caller, keys, listener))


async def _listen(settings: "Settings", caller: "McpUser", keys: "StaticKeys", listener: "socket") -> None:
    import uvicorn

    from gateway.adapters.mcp.mcp_memory_server import PATH, http_app, memory_server, memory_tool
    from gateway.cli.http_connections import Connections
    from gateway.cli.memory_context import check_there
    from gateway.cli.terminal import to_stderr
    from gateway.wiring import open_memory

    host, port = listener.getsockname()[:2]
    check_there(settings, makes=True)
    async with open_memory(settings) as services:
        config = uvicorn.Config(
            http_app(memory_server(memory_tool(settings, services), caller), keys, settings),
            http=Connections(settings).protocol,
            ws="none",
            lifespan="on",
            log_config=None,
            log_level="warning",
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=GRACE,
        )
        to_stderr(
            f"The memory is served over MCP at http://{f'[{host}]' if ':' in host else host}:{port}{PATH}"
        )
        server = uvicorn.Server(config)
        # Its own way of ending would raise the signal again, before the memory is closed.
        server.handle_exit = lambda sig, frame: setattr(server, "should_exit", True)
        await server.serve(sockets=[listener])
