"""`gateway dev`: the server on this machine, with the demo model when no real one is configured."""

import gc
from pathlib import Path
from typing import Annotated

import typer


def dev(
    host: Annotated[str | None, typer.Option(help="Address to listen on. [default: 127.0.0.1]")] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="0 takes a free one. [default: 8000]")
    ] = None,
    data_dir: Annotated[Path | None, typer.Option(help="Folder of the database. [default: data]")] = None,
    open_page: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in a browser.")] = False,
) -> None:
    """Run the server here. Without a model key it answers through a built-in demo model."""
    gc.disable()  # what is loaded stays: nothing is collected before the server has started
    from gateway.cli.http_server import run
    from gateway.settings import load_settings

    settings = load_settings(host=host, port=port, data_dir=data_dir)
    if settings.page_developer == "auto":
        settings = settings.model_copy(update={"page_developer": "on"})
    run(settings, demo=not settings.has_model, open_page=open_page, picks_model=True)
