"""`gateway keys`: API keys of a running gateway."""

from datetime import timedelta
from time import time
from typing import Annotated, Any, Literal

import typer

from gateway.cli.options import LOCAL_URL, AsJson, Key, Url

NEVER = "-"


def list_(
    *,
    everybody: Annotated[bool, typer.Option("--all", help="Everybody's, for admins.")] = False,
    url: Url = LOCAL_URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Show your keys, without their secrets."""
    from gateway.cli.session_commands import print_json
    from gateway.cli.terminal import show_table, to_stderr
    from gateway.client import GatewayClient
    from gateway.session_pages.words import moment

    with GatewayClient(url, key) as client:
        found = client.keys(everybody=everybody or None)
    rows = [
        (
            each["id"],
            each["name"],
            each["user_id"],
            ", ".join(each["scopes"]),
            _state(each),
            moment(each["used_at"]) if "used_at" in each else NEVER,
        )
        for each in found["keys"]
    ]
    if as_json:
        print_json(found)
    elif rows:
        show_table(("Id", "Name", "User", "Scopes", "State", "Used"), rows)
    else:
        to_stderr(f"There is no stored key at {url}.")


def create(
    name: Annotated[str, typer.Argument(help="A few words by which people know it.")],
    *,
    user: Annotated[str | None, typer.Option(help="Whose it is, for admins. [default: you]")] = None,
    tenant: Annotated[str | None, typer.Option(help="Of which tenant. [default: yours]")] = None,
    role: Annotated[
        Literal["member", "reader", "service", "admin"], typer.Option(help="What it may at most.")
    ] = "member",
    scope: Annotated[
        list[str] | None,
        typer.Option(help="chat, read, memory, artifacts, admin or metrics; several times. [default: all]"),
    ] = None,
    days: Annotated[int | None, typer.Option(min=1, help="It holds for so many. [default: for good]")] = None,
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """Make a key. Prints it: it is shown once."""
    from gateway.cli.terminal import to_stderr
    from gateway.client import GatewayClient

    expires_at = int((time() + timedelta(days=days).total_seconds()) * 1000) if days else None
    given: dict[str, Any] = {"user": user, "tenant": tenant, "scopes": scope, "expires_at": expires_at}
    chosen = {option: value for option, value in given.items() if value is not None}
    with GatewayClient(url, key) as client:
        made = client.create_key(name, role=role, **chosen)
    to_stderr(
        f"{made['id']} is a key of {made['user_id']} for {', '.join(made['scopes'])}. It is not shown again:"
    )
    print(made["key"])


def revoke(
    key_id: Annotated[str, typer.Argument(metavar="ID", help="As `gateway keys list` shows it.")],
    *,
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """End a key for good."""
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        client.revoke_key(key_id)
    print(f"{key_id} is revoked.")


def _state(key: dict[str, Any]) -> str:
    from gateway.session_pages.words import moment

    if "revoked_at" in key:
        return "revoked"
    if "expires_at" not in key:
        return "active"
    return f"{'expires' if key['expires_at'] > time() * 1000 else 'expired'} {moment(key['expires_at'])}"
