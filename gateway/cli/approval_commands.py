"""`gateway approvals`: calls at a running gateway that wait for a person, and what they decide."""

from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gateway.cli.options import LOCAL_URL, AsJson, Key, Url

if TYPE_CHECKING:
    from gateway.client import GatewayClient

Call = Annotated[
    str, typer.Argument(metavar="CALL", help="Its id as `gateway approvals list` shows it, or how it begins.")
]

Session = Annotated[str | None, typer.Option(help="Only in this session, where several calls are named so.")]


def list_(*, url: Url = LOCAL_URL, key: Key = None, as_json: AsJson = False) -> None:
    """Show the calls that wait for you, those first that have waited longest."""
    from gateway.cli.session_commands import print_json
    from gateway.cli.terminal import show_table, to_stderr
    from gateway.client import GatewayClient
    from gateway.session_pages.words import moment

    with GatewayClient(url, key) as client:
        waiting = client.approvals()
    rows = [
        (each["tool_call_id"], each["session_id"], moment(each["requested_at"])[:16], wanted(each))
        for each in waiting["approvals"]
    ]
    if as_json:
        print_json(waiting)
    elif rows:
        show_table(("Call", "Session", "Since", "What it would do"), rows)
    else:
        to_stderr(f"Nothing is waiting for you at {url}.")


def approve(
    call: Call,
    *,
    scope: Annotated[
        Literal["once", "session", "always"],
        typer.Option(help="session, always: the tool is not asked about again, there or anywhere."),
    ] = "once",
    arguments: Annotated[
        str | None, typer.Option(metavar="JSON", help="Run it with these arguments instead, all of them.")
    ] = None,
    session: Session = None,
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """Let a call run; its turn goes on."""
    import json

    from gateway.client import GatewayClient

    given: dict[str, Any] = {"scope": scope}
    if arguments is not None:
        try:
            given["arguments"] = json.loads(arguments)
        except ValueError as error:
            raise typer.BadParameter(f"--arguments takes a JSON object: {error}.") from None
    with GatewayClient(url, key) as client:
        _decide(client, _find(client, call, session), "approve", given)


def deny(
    call: Call,
    *,
    reason: Annotated[str | None, typer.Option(help="What the model reads of it.")] = None,
    session: Session = None,
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """Refuse a call; its turn goes on without it."""
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        given = {} if reason is None else {"reason": reason}
        _decide(client, _find(client, call, session), "deny", given)


def wanted(call: dict[str, Any]) -> str:
    """The effect of a call, on one line."""
    import json

    return f"{call['name']} {json.dumps(call['arguments'], ensure_ascii=False)}"


def _decide(
    client: "GatewayClient", call: dict[str, Any], decision: Literal["approve", "deny"], given: dict[str, Any]
) -> None:
    from gateway.session_pages.words import printable

    client.decide(call["session_id"], call["turn_id"], call["tool_call_id"], decision, **given)
    print(printable(f"{'Approved' if decision == 'approve' else 'Denied'}: {wanted(call)}"))


def _find(client: "GatewayClient", named: str, session: str | None) -> dict[str, Any]:
    """Raises RequestRefused: none waits, or several, whose id begins like that."""
    from difflib import get_close_matches

    from gateway.errors import RequestRefused

    waiting = [
        each for each in client.approvals()["approvals"] if session is None or each["session_id"] == session
    ]
    found = [each for each in waiting if each["tool_call_id"] == named] or [
        each for each in waiting if each["tool_call_id"].startswith(named)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        several = ", ".join(f"{each['tool_call_id']} in {each['session_id']}" for each in found[:3])
        raise RequestRefused(f"Several such calls wait: {several}. --session says which.", code="not_found")
    close = get_close_matches(named, [each["tool_call_id"] for each in waiting])
    advice = (
        f"Did you mean {' or '.join(close)}?" if close else "`gateway approvals list` shows those that do."
    )
    raise RequestRefused(f"No call {named[:100]} waits at {client.url}. {advice}", code="not_found")
