"""`gateway provider-keys`: your own key of the model's provider, at a running gateway."""

import sys
from typing import Annotated, Any

import typer

from gateway.cli.options import LOCAL_URL, AsJson, Key, Url

OfTenant = Annotated[bool, typer.Option("--tenant", help="That of your tenant, for admins.")]
WHOSE = {"user": "your own", "tenant": "your tenant's", "gateway": "the gateway's"}


def show(
    *,
    of_tenant: OfTenant = False,
    url: Url = LOCAL_URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Show whether there is a key: never the key."""
    from gateway.cli.session_commands import print_json
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        found = client.provider_key(of_tenant=of_tenant)
    if as_json:
        print_json(found)
    else:
        print(_state(found))


def set_(*, of_tenant: OfTenant = False, url: Url = LOCAL_URL, key: Key = None) -> None:
    """Store a key, in place of the one there was. It is read from standard input, or asked for."""
    from gateway.client import GatewayClient

    given = typer.prompt("Key", hide_input=True) if sys.stdin.isatty() else sys.stdin.read()
    if not (secret := given.strip()):
        raise typer.BadParameter("There is no key on standard input.")
    with GatewayClient(url, key) as client:
        print(_state(client.set_provider_key(secret, of_tenant=of_tenant)))


def remove(*, of_tenant: OfTenant = False, url: Url = LOCAL_URL, key: Key = None) -> None:
    """Remove the key."""
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        client.remove_provider_key(of_tenant=of_tenant)
    print("There is none any more.")


def _state(found: dict[str, Any]) -> str:
    from gateway.session_pages.words import moment

    lines = ["No key is set."]
    if found["is_set"]:
        ending = f" that ends in {found['ending']}" if "ending" in found else ""
        lines = [f"A key{ending} is set, since {moment(found['set_at'])}."]
    if "serving" in found:
        lines.append(f"Your calls of the model are made with {WHOSE[found['serving']]} key.")
    else:
        lines.append("Without a key of yours your calls of the model are refused.")
    return "\n".join(lines)
