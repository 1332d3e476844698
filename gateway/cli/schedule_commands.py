"""`gateway schedules`: messages that a running gateway sends at set times."""

from typing import Annotated, Any, Literal

import typer

from gateway.cli.options import LOCAL_URL, AsJson, Key, Url

Schedule = Annotated[
    str, typer.Argument(metavar="SCHEDULE", help="Its id, as `gateway schedules list` shows it.")
]
NEVER = "-"


def list_(*, url: Url = LOCAL_URL, key: Key = None, as_json: AsJson = False) -> None:
    """Show your schedules, the newest first."""
    from gateway.cli.session_commands import print_json
    from gateway.cli.terminal import show_table, to_stderr
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        found = client.schedules()
    rows = [
        (each["id"], each["name"], timing_of(each), each["status"], due_of(each))
        for each in found["schedules"]
    ]
    if as_json:
        print_json(found)
    elif rows:
        show_table(("Id", "Name", "When", "State", "Next"), rows)
    else:
        to_stderr(f"There is no schedule at {url}.")


def show(schedule: Schedule, *, url: Url = LOCAL_URL, key: Key = None, as_json: AsJson = False) -> None:
    """Show a schedule and its last runs."""
    from gateway.cli.session_commands import print_json
    from gateway.cli.terminal import show_table
    from gateway.client import GatewayClient
    from gateway.session_pages.words import moment, printable

    with GatewayClient(url, key) as client:
        found = client.schedule(schedule)
    if as_json:
        print_json(found)
        return
    facts = {
        "id": found["id"],
        "name": found["name"],
        "when": timing_of(found),
        "late": found["late"],
        "state": found["status"] + (f": {found['reason']}" if "reason" in found else ""),
        "next": due_of(found),
        "session": found.get("session_id", "a new one each time"),
        "message": found["message"],
    }
    for name, value in facts.items():
        print(f"{name + ':':<9} {printable(value)}")
    runs = [
        (moment(each["due_at"]), each.get("code", each["status"]), each.get("session_id", NEVER))
        for each in found["runs"]
    ]
    if runs:
        show_table(("Due", "Became", "Session"), runs)


def add(
    message: Annotated[str, typer.Argument(help="What is sent.")],
    *,
    at: Annotated[str | None, typer.Option(help="Once: 2026-12-24T08:00.")] = None,
    every: Annotated[int | None, typer.Option(help="Again and again: seconds between two times.")] = None,
    cron: Annotated[str | None, typer.Option(help="Five fields, such as '0 8 * * 1-5'.")] = None,
    timezone: Annotated[str, typer.Option("--timezone", "-z", help="Whose clocks count.")] = "UTC",
    late: Annotated[
        Literal["skip", "once", "all"], typer.Option(help="What becomes of times that passed.")
    ] = "once",
    name: Annotated[str | None, typer.Option(help="A few words.")] = None,
    session: Annotated[
        str | None, typer.Option(help="Where it is sent. [default: a new session each time]")
    ] = None,
    destination: Annotated[
        str | None, typer.Option(help="Where results are delivered beside it, KIND:ADDRESS.")
    ] = None,
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """Make a schedule."""
    from gateway.client import GatewayClient
    from gateway.session_pages.words import printable

    given: dict[str, Any] = {
        "at": at,
        "every": every,
        "cron": cron,
        "name": name,
        "session_id": session,
        "destination": destination,
    }
    chosen = {option: value for option, value in given.items() if value is not None}
    with GatewayClient(url, key) as client:
        made = client.create_schedule(message, timezone=timezone, late=late, **chosen)
    print(printable(f"{made['id']}, “{made['name']}”, is due {due_of(made)}."))


def pause(schedule: Schedule, *, url: Url = LOCAL_URL, key: Key = None) -> None:
    """Have a schedule rest: what it would have sent meanwhile is not sent later."""
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        print(f"{client.change_schedule(schedule, 'paused')['id']} is paused.")


def resume(schedule: Schedule, *, url: Url = LOCAL_URL, key: Key = None) -> None:
    """Go on with a schedule that is paused."""
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        resumed = client.change_schedule(schedule, "active")
    print(f"{resumed['id']} is due {due_of(resumed)}.")


def run(schedule: Schedule, *, url: Url = LOCAL_URL, key: Key = None) -> None:
    """Send its message now, once."""
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        print(f"{client.run_schedule(schedule)['id']} runs now.")


def delete(schedule: Schedule, *, url: Url = LOCAL_URL, key: Key = None) -> None:
    """Remove a schedule; what it has sent stays."""
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        client.delete_schedule(schedule)
    print(f"{schedule} is deleted.")


def timing_of(schedule: dict[str, Any]) -> str:
    """When it is due, in a few words."""
    from gateway.session_pages.words import moment

    if "cron" in schedule:
        return f"{schedule['cron']} {schedule['timezone']}"
    return f"every {schedule['every']} s" if "every" in schedule else moment(schedule["at"])


def due_of(schedule: dict[str, Any]) -> str:
    """When it is due next."""
    from gateway.session_pages.words import moment

    return moment(schedule["due_at"]) if "due_at" in schedule else NEVER
