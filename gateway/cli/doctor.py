"""`gateway doctor`: is everything that the gateway needs there, and what to do where it is not."""

import sys
from typing import Annotated

import typer

from gateway.cli.options import Key


def doctor(
    url: Annotated[
        str | None, typer.Argument(help="A running gateway; checks its streams and its MCP servers.")
    ] = None,
    key: Key = None,
) -> None:
    """Check settings, storage, models and telemetry. With a URL, its streams and MCP servers."""
    import asyncio

    from gateway.cli.file_checks import check_files
    from gateway.cli.findings import Finding, show_findings
    from gateway.cli.machine_checks import (
        check_blobs,
        check_documents,
        check_embeddings,
        check_model,
        check_settings,
        check_storage,
    )
    from gateway.cli.mcp_server_commands import check_mcp_servers
    from gateway.cli.server_checks import check_server
    from gateway.cli.stream_check import check_streaming
    from gateway.cli.telemetry_check import check_telemetry
    from gateway.errors import SettingsError
    from gateway.settings import load_settings
    from gateway.telemetry.lines.logs import configure_logging

    configure_logging("error")
    try:
        settings = load_settings()
    except SettingsError as error:
        show_findings([Finding("bad", "settings", str(error))])
        sys.exit(1)
    healthy = True
    for check in (
        lambda: check_settings(settings),
        lambda: check_server(settings) if settings.is_shared else check_storage(settings),
        lambda: [] if settings.is_shared else check_files(settings),
        lambda: asyncio.run(check_blobs(settings)),
        lambda: asyncio.run(check_model(settings)),
        lambda: asyncio.run(check_embeddings(settings)),
        lambda: check_documents(settings),
        check_telemetry,
        lambda: check_streaming(url, key) if url else [],
        lambda: check_mcp_servers(url, key) if url else [],
    ):
        healthy = show_findings(check()) and healthy
    sys.exit(0 if healthy else 1)
