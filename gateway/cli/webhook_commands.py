"""`gateway webhooks`: addresses that a running gateway tells what happens."""

import sys
from typing import Annotated, Literal

import typer

from gateway.cli.options import LOCAL_URL, AsJson, Key, Url

Webhook = Annotated[
    str, typer.Argument(metavar="WEBHOOK", help="Its id, as `gateway webhooks list` shows it.")
]
NOTHING = "-"


def list_(*, url: Url = LOCAL_URL, key: Key = None, as_json: AsJson = False) -> None:
    """Show your webhooks."""
    from gateway.cli.session_commands import print_json
    from gateway.cli.terminal import show_table, to_stderr
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        found = client.webhooks()
    rows = [
        (
            each["id"],
            each["url"],
            ", ".join(each["events"]),
            "off" if "disabled_at" in each else f"failed {each['failures']}x" if each["failures"] else "on",
        )
        for each in found["webhooks"]
    ]
    if as_json:
        print_json(found)
    elif rows:
        show_table(("Id", "Address", "Is told of", "State"), rows)
    else:
        to_stderr(f"There is no webhook at {url}.")


def add(
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="Where it is posted to: https://…")],
    *,
    event: Annotated[
        list[str] | None,
        typer.Option(
            help="turn.finished, approval.waiting, limit.near or schedule.failed; several times. "
            "[default: all of them]"
        ),
    ] = None,
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """Have an address told what happens. Prints its secret, which is shown once."""
    from gateway.cli.terminal import to_stderr
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        made = client.add_webhook(address, **({"events": list(event)} if event else {}))
    to_stderr(f"{made['id']} is told of {', '.join(made['events'])}. Its secret, which is not shown again:")
    print(made["secret"])


def test_(webhook: Webhook, *, url: Url = LOCAL_URL, key: Key = None) -> None:  # noqa: PT028 - a command
    """Post a signed message now, and say what came of it; exits with 1 when it did not arrive."""
    from gateway.client import GatewayClient
    from gateway.session_pages.words import printable

    with GatewayClient(url, key) as client:
        tested = client.test_webhook(webhook)
    what = f"Delivered: {tested['status']}" if tested["delivered"] else f"Not delivered: {tested['error']}"
    print(printable(f"{what} ({tested['duration_ms']} ms)"))
    if not tested["delivered"]:
        sys.exit(1)


def enable(webhook: Webhook, *, url: Url = LOCAL_URL, key: Key = None) -> None:
    """Tell it again what happens, and what has been pending."""
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        print(f"{client.change_webhook(webhook, enabled=True)['id']} is on.")


def disable(webhook: Webhook, *, url: Url = LOCAL_URL, key: Key = None) -> None:
    """Tell it nothing of what happens from now on."""
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        print(f"{client.change_webhook(webhook, enabled=False)['id']} is off.")


def deliveries(
    webhook: Webhook,
    *,
    state: Annotated[Literal["pending", "delivered", "dead"] | None, typer.Option(help="Only these.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Most to show.")] = 20,
    url: Url = LOCAL_URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Show what it was told and is to be told, the newest first."""
    from gateway.cli.session_commands import print_json
    from gateway.cli.terminal import show_table, to_stderr
    from gateway.client import GatewayClient
    from gateway.session_pages.words import moment

    with GatewayClient(url, key) as client:
        found = client.deliveries(webhook, state=state, limit=limit)
    rows = [
        (
            each["id"],
            moment(each["at"]),
            each["type"],
            each["state"],
            str(each["attempts"]),
            each.get("error", NOTHING),
        )
        for each in found["deliveries"]
    ]
    if as_json:
        print_json(found)
    elif rows:
        show_table(("Id", "Happened", "What", "State", "Tries", "Why not"), rows)
    else:
        to_stderr(f"{webhook} has no such deliveries.")


def replay(
    webhook: Webhook,
    delivery: Annotated[
        str | None, typer.Argument(metavar="[DELIVERY]", help="One that ended. [default: all that are dead]")
    ] = None,
    *,
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """Try what did not arrive again, or one delivery whatever became of it, under the ids they had."""
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        print(f"{client.replay_deliveries(webhook, delivery)['replayed']} are tried again.")


def delete(webhook: Webhook, *, url: Url = LOCAL_URL, key: Key = None) -> None:
    """Remove a webhook, with what it is still to be told."""
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        client.delete_webhook(webhook)
    print(f"{webhook} is deleted.")
