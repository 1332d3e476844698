"""`gateway doctor`: is everything that the gateway needs there, and what to do where it is not."""

import sys
from typing import Annotated

import typer


def doctor(
    url: Annotated[
        str | None, typer.Argument(help="A running gateway; checks that its streams arrive unbuffered.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(envvar="GATEWAY_KEY", help="API key, where one is needed.")
    ] = None,
) -> None:
    """Check settings, model, storage and telemetry, and with a URL that the gateway there really streams."""
    import asyncio

    from rich.console import Console

    from gateway.cli.checks import check_model, check_settings, check_storage
    from gateway.cli.stream_check import check_streaming
    from gateway.cli.telemetry_check import check_telemetry
    from gateway.errors import SettingsError
    from gateway.settings import load_settings

    console = Console(highlight=False, soft_wrap=True)
    marks = {"good": "[green]✓[/]", "doubtful": "[yellow]![/]", "bad": "[red]✗[/]"}
    healthy = True
    try:
        settings = load_settings()
    except SettingsError as error:
        console.print(f"{marks['bad']} settings: ", end="")
        console.print(str(error), markup=False)
        sys.exit(1)
    for check in (
        lambda: check_settings(settings),
        lambda: check_storage(settings),
        lambda: asyncio.run(check_model(settings)),
        check_telemetry,
        lambda: check_streaming(url, key) if url else [],
    ):
        for finding in check():
            console.print(f"{marks[finding.state]} ", end="")
            console.print(f"{finding.subject}: {finding.says}", markup=False)
            healthy = healthy and finding.state != "bad"
    sys.exit(0 if healthy else 1)
