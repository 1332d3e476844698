"""The catalog of skills as a gateway with these settings has it, for commands that need none to run."""

import asyncio
from collections.abc import AsyncGenerator, Collection
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Literal, NamedTuple

from gateway import wiring
from gateway.cli.terminal import to_stderr
from gateway.demo.demo_tools import demo_tools
from gateway.model.model_limits import window
from gateway.model.prices import DEFAULT_WINDOW
from gateway.settings import Settings, load_settings
from gateway.skills.catalog import Catalog
from gateway.telemetry.lines.logs import LogLevel, configure_logging
from gateway.tools.mcp.configured_servers import McpServers
from gateway.tools.mcp.reconnecting_server import ServerState

if TYPE_CHECKING:
    from gateway.memory.services import MemoryServices

Purpose = Literal["list", "prompt", "run"]
"""What the catalog is looked at for."""

DEMO_MODEL = "demo"
"""What `gateway dev` answers through where no model is configured."""
SDK_TIMEOUT = 15.0
"""Seconds that MCP servers get beside their own `connect_timeout`: loading the SDK takes one or two."""


class Offered(NamedTuple):
    """The catalog. `warnings` are those of the catalog and what else could not be used, `unreachable` the
    MCP servers that were started and are not there, each with the reason."""

    catalog: Catalog
    warnings: list[str]
    unreachable: dict[str, str]


@asynccontextmanager
async def offered(
    settings: Settings,
    servers: Collection[str] = (),
    *,
    log_level: LogLevel = "error",
    purpose: Purpose = "list",
) -> AsyncGenerator[Offered]:
    """The catalog that the settings offer, with the tools of those MCP servers, which are connected until the
    context is left. The memory is opened for tools that are to run, and how much a model reads at once, which
    takes a quarter of a second to find out, is looked up for a prompt alone.

    Raises:
        SettingsError: a module that settings name cannot be used.
        StorageError: the database is there and cannot be read.
    """
    configure_logging(log_level)
    demo = () if settings.has_model else demo_tools(settings.data_dir)
    functions, warnings = wiring.find_functions(settings, demo)
    model = settings.model if settings.has_model else DEMO_MODEL
    tokens = await window(settings, model) if purpose == "prompt" else DEFAULT_WINDOW
    async with (
        _memory(settings, opens=purpose == "run") as memory,
        _connected(settings, servers) as (source, unreachable),
    ):
        functions = [wiring.artifact_skill(None), *wiring.schedule_skills(settings, None), *functions]
        if settings.memory:
            functions = [wiring.memory_skill(settings, memory), *functions]
        catalog = await wiring.look_at_skills(settings, functions, lambda: source.tools, tokens).refresh()
        warnings += catalog.warnings
        warnings += [f"MCP server {name}: {reason}." for name, reason in unreachable.items()]
        yield Offered(catalog, warnings, unreachable)


@asynccontextmanager
async def _memory(settings: Settings, *, opens: bool) -> AsyncGenerator["MemoryServices | None"]:
    """The memory, where there is one already and it `opens`: who only looks makes none."""
    if not opens or not settings.memory or not (settings.is_shared or settings.memory_path.exists()):
        yield None
        return
    async with wiring.open_memory(settings) as services:
        yield services


def look(*, mcp: bool, hint: bool = True, purpose: Purpose = "list") -> Offered:
    """The catalog of now, with the tools of MCP servers if they are to be started. Prints its warnings, and
    with `hint` that servers are left out. Raises as `offered` does."""
    settings = load_settings()

    async def at_once() -> Offered:
        async with offered(settings, settings.mcp_servers if mcp else (), purpose=purpose) as found:
            return found

    found = asyncio.run(at_once())
    for warning in found.warnings:
        to_stderr(f"! {warning}")
    if hint and settings.mcp_servers and not mcp:
        to_stderr(f"! Without the tools of {', '.join(settings.mcp_servers)}: --mcp starts these servers.")
    return found


@asynccontextmanager
async def _connected(
    settings: Settings, names: Collection[str]
) -> AsyncGenerator[tuple[McpServers, dict[str, str]]]:
    chosen = {name: settings.mcp_servers[name] for name in names}
    servers = McpServers(chosen, changed=lambda: None)
    running = asyncio.create_task(servers.run(), name="MCP servers")
    try:
        if chosen:
            to_stderr(f"Connecting to MCP servers: {', '.join(sorted(chosen))} …")
            patience = SDK_TIMEOUT + 2 * max(server.connect_timeout for server in chosen.values())
            with suppress(TimeoutError):
                await asyncio.wait_for(servers.tried(), patience)
        away = [state for state in servers.states if state.status != "connected"]
        yield servers, {state.name: _why(state) for state in away}
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


def _why(state: ServerState) -> str:
    """A token is renewed by the gateway alone, whose former one is void then."""
    if state.status == "needs_sign_in":
        return (
            "it asks for a sign-in, which the running gateway alone has: "
            "`gateway mcp list` and GET /api/skills show what it offers there"
        )
    return state.error or "it is not ready yet"
