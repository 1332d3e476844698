"""`gateway users`: everything about a person, as a file or erased; `gateway holds`, which stop that; and
`gateway retention`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from gateway.cli.options import LOCAL_URL, AsJson, Key, Url

User = Annotated[str, typer.Argument(metavar="USER", help="The user's id in their tenant.")]
Tenant = Annotated[str | None, typer.Option(help="The user's. [default: yours]")]
MAX_SHOWN = 20
FINISHES = 0.5
"""Seconds between two looks at an erasure."""


def export(
    user: User,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write. [default: USER.zip]")
    ] = None,
    *,
    tenant: Tenant = None,
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """Write everything about a user into a zip archive, for admins."""
    from gateway.cli.session_files import named_failures
    from gateway.cli.terminal import to_stderr
    from gateway.client import GatewayClient
    from gateway.files.replacement import replacing

    path = output or Path(f"{user}.zip")
    of_tenant = f"?tenant={tenant}" if tenant else ""
    with (
        GatewayClient(url, key) as client,
        client.stream(
            "GET", f"/api/users/{user}/export{of_tenant}", headers={"accept": "application/zip"}
        ) as response,
        named_failures(path, "written"),
        replacing(path) as file,
    ):
        for chunk in client.chunks(response):
            file.write(chunk)
    to_stderr(f"{path}: {path.stat().st_size:,} bytes.")


def erase(
    user: User,
    confirm: Annotated[str | None, typer.Option(help="The user's id once more. [default: asked for]")] = None,
    *,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Until it is done.")] = True,
    tenant: Tenant = None,
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """Erase everything about a user for good, for admins; print the report."""
    from time import sleep

    from gateway.cli.terminal import to_stderr
    from gateway.client import GatewayClient

    typed = confirm if confirm is not None else typer.prompt(f"Everything of {user} is erased. Type the id")
    with GatewayClient(url, key) as client:
        report = client.erase_user(user, typed, tenant=tenant)
        waits_for = None
        while wait and report["state"] != "done":
            if report.get("waits_for") not in {None, waits_for}:
                waits_for = report["waits_for"]
                to_stderr(waits_for)
            sleep(FINISHES)
            report = client.user_erasure(user, tenant=tenant)
    _tell(report)


def erasure(
    user: User,
    *,
    tenant: Tenant = None,
    url: Url = LOCAL_URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Show how far the erasure of a user is, or its report."""
    from gateway.cli.session_commands import print_json
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        report = client.user_erasure(user, tenant=tenant)
    if as_json:
        print_json(report)
    else:
        _tell(report)


def list_(
    *,
    url: Url = LOCAL_URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Show the legal holds."""
    from gateway.cli.session_commands import print_json
    from gateway.cli.terminal import show_table, to_stderr
    from gateway.client import GatewayClient
    from gateway.session_pages.words import moment

    with GatewayClient(url, key) as client:
        found = client.holds()
    rows = [
        (
            each["id"],
            each["kind"],
            each["subject_id"],
            each["owner"],
            moment(each["placed_at"]),
            each["reason"],
        )
        for each in found["holds"]
    ]
    if as_json:
        print_json(found)
    elif rows:
        show_table(("Id", "On", "Which", "User", "Since", "Reason"), rows)
    else:
        to_stderr(f"There is no legal hold at {url}.")


def place(
    reason: Annotated[str, typer.Argument(help="For admins alone.")],
    *,
    user: Annotated[str | None, typer.Option(help="All that this user has.")] = None,
    session: Annotated[str | None, typer.Option(help="This session.")] = None,
    tenant: Tenant = None,
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """Keep all of a user, or one session, from being deleted by anybody."""
    from gateway.client import GatewayClient

    if (user is None) == (session is None):
        raise typer.BadParameter("Give --user or --session.")
    given = {"user": user, "session_id": session, "tenant": tenant}
    with GatewayClient(url, key) as client:
        hold = client.place_hold(
            reason, **{name: value for name, value in given.items() if value is not None}
        )
    print(f"{hold['id']} holds the {hold['kind']} {hold['subject_id']}.")


def lift(
    hold: Annotated[str, typer.Argument(metavar="ID", help="As `gateway holds list` shows it.")],
    *,
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """End a legal hold."""
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        client.lift_hold(hold)
    print(f"{hold} is lifted.")


def show(
    *,
    tenant: Tenant = None,
    url: Url = LOCAL_URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Show after how many days without use sessions are archived and deleted."""
    from gateway.cli.session_commands import print_json
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        rule = client.retention(tenant=tenant)
    if as_json:
        print_json(rule)
        return
    _tell_rule(rule)


def set_(
    *,
    archive_days: Annotated[
        int | None, typer.Option(min=0, help="0: never. [default: as the settings say]")
    ] = None,
    delete_days: Annotated[
        int | None, typer.Option(min=0, help="0: never. [default: as the settings say]")
    ] = None,
    fixed: Annotated[bool, typer.Option("--fixed", help="Sessions have none of their own.")] = False,
    tenant: Tenant = None,
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """Give a tenant another rule, in place of the one it has. It holds at once."""
    from gateway.client import GatewayClient

    given = {"archive_days": archive_days, "delete_days": delete_days, "tenant": tenant}
    with GatewayClient(url, key) as client:
        rule = client.set_retention(
            fixed=fixed, **{name: value for name, value in given.items() if value is not None}
        )
    _tell_rule(rule)


def preview(*, url: Url = LOCAL_URL, key: Key = None, as_json: AsJson = False) -> None:
    """Show what would be deleted and archived now; nothing is done."""
    from gateway.cli.session_commands import print_json
    from gateway.cli.terminal import show_table, to_stderr
    from gateway.client import GatewayClient
    from gateway.session_pages.words import moment

    with GatewayClient(url, key) as client:
        found = client.preview_retention()
    if as_json:
        print_json(found)
        return
    if found["sessions"]:
        rows = [
            (each["action"], each["session_id"], each["user_id"], moment(each["updated_at"]))
            for each in found["sessions"][:MAX_SHOWN]
        ]
        show_table(("What", "Session", "User", "Used last"), rows)
    deleted, archived, held = (found[name] for name in ("deleted", "archived", "held"))
    to_stderr(f"{deleted} sessions would be deleted, {archived} archived; {held} are held.")


def _tell(report: dict[str, Any]) -> None:
    from gateway.session_pages.words import moment, printable

    when = f" at {moment(report['finished_at'])}" if "finished_at" in report else f": {report['step']}"
    print(printable(f"{report['id']} is {report['state']}{when}. The person: {report['person']}."))
    if "waits_for" in report:
        print(printable(report["waits_for"]))
    for name, count in report.get("found", {}).items():
        print(printable(f"  {count:>8,} {name}"))
    for each in report["kept"]:
        count = f"{each['count']:,} " if "count" in each else ""
        print(printable(f"  kept: {count}{each['what']}. {each['why']}"))


def _tell_rule(rule: dict[str, Any]) -> None:
    for name in ("archive", "delete"):
        days, seconds = rule.get(f"{name}_days"), rule.get(f"{name}_after")
        default = "never" if seconds is None else f"after {seconds / 86_400:g} days"
        when = f"{default}, by the settings" if days is None else f"after {days} days" if days else "never"
        print(f"{name}: {when}")
    print(f"sessions of {rule['tenant']} may have their own: {'no' if rule['fixed'] else 'yes'}")
