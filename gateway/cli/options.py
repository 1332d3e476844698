"""Options of all commands that talk to a gateway: where it is, and how results are shown."""

from typing import Annotated

import typer

LOCAL_URL = "http://127.0.0.1:8000"

Url = Annotated[str, typer.Option(envvar="GATEWAY_URL", help="Address of the gateway.")]
Key = Annotated[str | None, typer.Option(envvar="GATEWAY_KEY", help="API key, where one is needed.")]
AsJson = Annotated[bool, typer.Option("--json", help="JSON instead of text for people.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
