"""`gateway serve`: the server in production."""

import gc
from typing import Annotated

import typer


def serve(
    host: Annotated[
        str | None, typer.Option(help="Other than loopback needs GATEWAY_API_KEYS. [default: 127.0.0.1]")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="0 takes a free one. [default: 8000]")
    ] = None,
    workers: Annotated[
        int, typer.Option(min=1, max=64, help="Processes behind the port, each a replica. Needs PostgreSQL.")
    ] = 1,
    worker_port: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=65535,
            help="The first worker also listens here, the next on the next port: for scrapes of /metrics. "
            "0 takes free ones.",
        ),
    ] = None,
) -> None:
    """Run the server in production. It needs a model, and keys when others can reach it."""
    gc.disable()  # what is loaded stays: nothing is collected before the server has started
    from gateway.cli.http_server import run
    from gateway.errors import SettingsError
    from gateway.settings import load_settings

    settings = load_settings(host=host, port=port)
    if not settings.has_model:
        raise SettingsError(
            "No model is configured. Set ANTHROPIC_API_KEY, or ANTHROPIC_BASE_URL for an endpoint of your "
            "own. To try the gateway without either, run `gateway dev`."
        )
    if workers > 1 and not settings.is_shared:
        raise SettingsError(
            "A SQLite database belongs to one process: --workers needs a GATEWAY_DATABASE_URL=postgresql://…"
        )
    if worker_port is not None and workers == 1:
        raise SettingsError("--worker-port is for several --workers: one has --port alone.")
    run(settings, demo=False, workers=workers, worker_port=worker_port)
