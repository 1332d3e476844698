"""`gateway sessions`: what was said at a running gateway, listed and looked after."""

import sys
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gateway.cli.options import LOCAL_URL, AsJson, Key, Url, Yes

if TYPE_CHECKING:
    from gateway.client import GatewayClient

LOOKED_THROUGH = 200
"""Newest sessions among which one is looked for by the beginning of its id, and for what was meant."""
SHORTEST_BEGINNING = 4
TITLE_WIDTH = 60
UNTITLED = "(no title)"


def known_sessions(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Ids for a shell to complete, with their titles; none where nothing answers at once."""
    from gateway.client import GatewayClient
    from gateway.errors import GatewayError

    try:
        with GatewayClient(ctx.params.get("url") or LOCAL_URL, ctx.params.get("key")) as client:
            found = client.sessions(limit=50, archived="all")["sessions"]
    except GatewayError:
        return []
    return [(each["id"], title_of(each)) for each in found if each["id"].startswith(incomplete)]


Session = Annotated[
    str,
    typer.Argument(metavar="SESSION", help="Its id, or how it begins.", autocompletion=known_sessions),
]
Undo = Annotated[bool, typer.Option("--undo", help="Take it back.")]


def list_(
    words: Annotated[
        list[str] | None, typer.Argument(help="Words in the title or in one turn, all of them.")
    ] = None,
    *,
    archived: Annotated[
        Literal["false", "true", "all"], typer.Option(help="true: only archived ones.")
    ] = "false",
    pinned: Annotated[bool, typer.Option("--pinned", help="Only pinned ones.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=200, help="Most to show.")] = 20,
    url: Url = LOCAL_URL,
    key: Key = None,
    as_json: AsJson = False,
) -> None:
    """Show sessions, the last used first."""
    from gateway.cli.terminal import to_stderr
    from gateway.client import GatewayClient

    asked = " ".join(words or ()) or None
    with GatewayClient(url, key) as client:
        page = client.sessions(q=asked, limit=limit, archived=archived, pinned="true" if pinned else None)
    if as_json:
        print_json(page)
        return
    show_sessions(page["sessions"])
    if not page["sessions"]:
        to_stderr(f"There is no {'such ' if asked or pinned else ''}session at {url}.")
    elif "next" in page:
        to_stderr(f"The last used {limit}: --limit shows more, words find others.")


def show(session: Session, *, url: Url = LOCAL_URL, key: Key = None, as_json: AsJson = False) -> None:
    """Show what is known of a session; `gateway replay` shows what happened in it."""
    from gateway.client import GatewayClient
    from gateway.session_pages.words import moment, printable

    with GatewayClient(url, key) as client:
        found = find_session(client, session)
    if as_json:
        print_json(found)
        return
    facts = {
        "id": found["id"],
        "title": title_of(found),
        "made": moment(found["created_at"]),
        "last used": moment(found["updated_at"]),
        "events": str(found["head"]),
        "state": state_of(found),
        "project": found.get("project_id"),
        "role": found.get("role_id"),
        "branch": str(found["active_branch"] or ""),
        "summaries": ", ".join(str(each) for each in found["versions"]),
        "summary": found.get("compressed_context"),
    }
    for name, value in facts.items():
        if value:
            print(f"{name + ':':<11} {printable(value)}")


def rename(
    session: Session,
    title: Annotated[str, typer.Argument(help="Up to 200 characters.")],
    *,
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """Give a session another title."""
    _change(url, key, session, {"title": title}, "is now called “{title}”")


def archive(session: Session, *, undo: Undo = False, url: Url = LOCAL_URL, key: Key = None) -> None:
    """Put a session away: it is listed only where archived ones are asked for."""
    done = "is among the others again" if undo else "is archived"
    _change(url, key, session, {"archived": not undo}, done)


def pin(session: Session, *, undo: Undo = False, url: Url = LOCAL_URL, key: Key = None) -> None:
    """Keep a session at the top of lists."""
    _change(url, key, session, {"pinned": not undo}, "is no longer pinned" if undo else "is pinned")


def share(
    session: Session,
    project: Annotated[str | None, typer.Argument(help="Its id; absent: the session's own.")] = None,
    *,
    write: Annotated[bool, typer.Option("--write", help="Owners and editors write in it too.")] = False,
    undo: Undo = False,
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """Let the members of a project read a session, and know from then on nothing remembered of you."""
    change: dict[str, Any] = {"shared": "none" if undo else "write" if write else "read"}
    if project is not None:
        change["project_id"] = project
    done = "is yours alone again" if undo else "is shared" + (" for writing" if write else "")
    _change(url, key, session, change, done)


def delete(session: Session, *, yes: Yes = False, url: Url = LOCAL_URL, key: Key = None) -> None:
    """Remove a session for good, with all that belongs to it."""
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        found = find_session(client, session)
        if not yes:
            if not sys.stdin.isatty():
                raise typer.BadParameter("A deleted session cannot be had back: add --yes.")
            typer.confirm(f"Delete {found['id']}, “{title_of(found)}”, for good?", err=True, abort=True)
        client.delete_session(found["id"])
    print(f"{found['id']} is deleted.")


def find_session(client: "GatewayClient", named: str) -> dict[str, Any]:
    """The session of that id, or the only one of the newest whose id begins like that.

    Raises:
        RequestRefused: there is none; the message has those that may have been meant.
    """
    from difflib import get_close_matches

    from gateway.errors import RequestRefused

    try:
        return client.session(named)
    except RequestRefused as error:
        if error.code not in {"session_not_found", "not_found", "invalid_request"}:
            raise
    listed = client.sessions(limit=LOOKED_THROUGH, archived="all")["sessions"]
    begins = [each["id"] for each in listed if each["id"].startswith(named)]
    if len(begins) == 1 and len(named) >= SHORTEST_BEGINNING:
        return client.session(begins[0])
    titled = [each["id"] for each in listed if named.casefold() in title_of(each).casefold()]
    meant = begins or titled or get_close_matches(named, [each["id"] for each in listed])
    titles = {each["id"]: title_of(each) for each in listed}
    advice = (
        f"Did you mean {' or '.join(f'{each} (“{titles[each]}”)' for each in meant[:3])}?"
        if meant
        else "`gateway sessions list` shows those there are."
    )
    raise RequestRefused(
        f"There is no session {named[:100]} at {client.url}. {advice}", code="session_not_found"
    )


def last_session(client: "GatewayClient") -> dict[str, Any]:
    """The one that was used last. Raises RequestRefused: there is none."""
    from gateway.errors import RequestRefused

    if found := client.sessions(limit=1)["sessions"]:
        return found[0]
    raise RequestRefused(f"There is no session at {client.url} to go on with.", code="session_not_found")


def show_sessions(sessions: list[dict[str, Any]]) -> None:
    """A table, if there is one to show."""
    from gateway.cli.terminal import show_table
    from gateway.session_pages.words import moment

    if sessions:
        show_table(
            ("Id", "Last used", "State", "Title"),
            [
                (each["id"], moment(each["updated_at"])[:16], state_of(each), title_of(each))
                for each in sessions
            ],
        )


def title_of(session: dict[str, Any]) -> str:
    """The session's title, on one line."""
    title = " ".join(str(session.get("title") or UNTITLED).split())
    return title if len(title) <= TITLE_WIDTH else f"{title[: TITLE_WIDTH - 1]}…"


def state_of(session: dict[str, Any]) -> str:
    """The session's status and how it is kept: `running, pinned`."""
    kept = [name for name in ("pinned", "archived") if session[name]]
    return ", ".join([session["status"].replace("_", " "), *kept] if "status" in session else kept)


def print_json(value: object) -> None:
    """On stdout, for programs."""
    import json

    print(json.dumps(value, ensure_ascii=False, indent=2))


def _change(url: str, key: str | None, session: str, changes: dict[str, Any], done: str) -> None:
    from gateway.client import GatewayClient
    from gateway.session_pages.words import printable

    with GatewayClient(url, key) as client:
        changed = client.change_session(find_session(client, session)["id"], **changes)
    print(printable(f"{changed['id']} {done.format(title=title_of(changed))}."))
