"""`gateway prompts`: the components of a running gateway's prompt, and the versions of them."""

import sys
from typing import Annotated

import typer

from gateway.cli.options import LOCAL_URL, AsJson, Key, Url

Component = Annotated[
    str, typer.Argument(metavar="COMPONENT", help="Its name, as `gateway prompts list` shows it.")
]
Number = Annotated[
    int, typer.Argument(metavar="VERSION", min=1, max=2**53 - 1, help="Its number in the history.")
]
PAGES = 100
"""Pages of a history that are read."""


def list_(*, url: Url = LOCAL_URL, key: Key = None, as_json: AsJson = False) -> None:
    """Show the components of the prompt in their order."""
    from gateway.cli.session_commands import print_json
    from gateway.cli.terminal import show_table, to_stderr
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        found = client.prompt_components()
    if as_json:
        print_json(found)
        return
    rows = [
        (
            each["name"],
            each["layer"],
            each["source"],
            f"{each['tokens']:,}{' (cut)' if each['truncated'] else ''}",
            each["file"],
        )
        for each in found["components"]
    ]
    show_table(("Component", "Layer", "Text from", "Tokens", "File"), rows)
    for warning in found["warnings"]:
        to_stderr(f"! {warning}")


def history(component: Component, *, url: Url = LOCAL_URL, key: Key = None, as_json: AsJson = False) -> None:
    """Show the versions that were written of a component, the newest first; --json has their texts."""
    from gateway.cli.session_commands import print_json
    from gateway.cli.terminal import show_table, to_stderr
    from gateway.client import GatewayClient
    from gateway.session_pages.words import moment

    versions, before = [], None
    with GatewayClient(url, key) as client:
        for _ in range(PAGES):
            page = client.prompt_versions(component, before=before)
            versions += page["versions"]
            if (before := page.get("next")) is None:
                break
    if as_json:
        print_json({"versions": versions})
        return
    rows = [
        (
            str(each["number"]),
            moment(each["changed_at"]),
            each["changed_by"],
            f"{len(each['text']):,} characters" if "text" in each else "the file's",
            each["note"],
        )
        for each in versions
    ]
    if rows:
        show_table(("Version", "Written", "By", "Text", "Note"), rows)
    else:
        to_stderr(f"{component} says what its file says: nothing was written in its place at {url}.")


def restore(
    component: Component,
    version: Number,
    *,
    note: Annotated[
        str | None, typer.Option(help="What for. [default: that it is that version again]")
    ] = None,
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """Make a component say again what it said in a version, from the next turn on and for everybody."""
    from gateway.client import GatewayClient
    from gateway.errors import GatewayError

    with GatewayClient(url, key) as client:
        newest = client.prompt_versions(component)["versions"][:1]
        found = client.prompt_versions(component, before=version + 1)["versions"][:1]
        if not found or found[0]["number"] != version:
            raise GatewayError(
                f"{component} has no version {version}: `gateway prompts history {component}` shows those "
                "that it has."
            )
        wanted, now = found[0], newest[0]
        if wanted.get("text") == now.get("text"):
            print(f"{component} says that already, as version {now['number']}.", file=sys.stderr)
            return
        made = client.write_prompt(
            component, wanted.get("text"), after=now["number"], note=note or f"Version {version} again."
        )
    print(f"{component} says again what it said in version {version}: that is version {made['number']} now.")
