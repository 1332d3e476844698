"""`gateway replay`: an old session as it happened, turn by turn, with timings."""

import sys
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.options import LOCAL_URL, Key, Url
from gateway.cli.session_commands import Session, find_session

if TYPE_CHECKING:
    from gateway.client import GatewayClient
    from gateway.client.frames import Frame


def replay(
    session: Session,
    *,
    turn: Annotated[str | None, typer.Option(help="Only this turn.")] = None,
    first: Annotated[
        int | None,
        typer.Option("--from", min=1, help="seq of the first event. [default: the session's first]"),
    ] = None,
    last: Annotated[
        int | None, typer.Option("--to", min=1, help="seq of the last event. [default: the session's last]")
    ] = None,
    branch: Annotated[
        int | None, typer.Option(min=0, help="Only the turns of this branch. [default: all turns]")
    ] = None,
    speed: Annotated[str, typer.Option(help="1 is the original timing, 10 ten times as fast, max.")] = "max",
    html: Annotated[
        Path | None, typer.Option(help="Write one self-contained page to this file instead.")
    ] = None,
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """Show what happened in a session, with timings and costs."""
    if turn is not None and (first, last, branch) != (None, None, None):
        raise typer.BadParameter(
            "Give --turn, or --from and --to, or --branch: a turn is a range of its own, in one branch."
        )
    from gateway.cli.session_files import named_failures
    from gateway.cli.timeline import Timeline
    from gateway.client import GatewayClient
    from gateway.client.frames import Frame
    from gateway.files.replacement import replacing
    from gateway.history.replay import read_speed
    from gateway.session_pages.reader_page import ReaderPage, load_reader, picture_line
    from gateway.session_pages.shared_events import Pictures

    read_speed(speed)  # a page is made without waiting; a wrong speed is refused all the same
    with GatewayClient(url, key) as client:
        described = find_session(client, session)
        session = described["id"]
        query: dict[str, str | int] = {"speed": "max" if html is not None else speed}
        given = {"from": first, "to": last, "branch": branch}
        query |= {name: value for name, value in given.items() if value is not None}
        frames = _frames(client, session, turn, query)
        if html is None:
            timeline = Timeline(sys.stdout)
            for frame in frames:
                timeline.show(frame.load())
            timeline.end()
        else:
            page = ReaderPage(load_reader(), described, replay=True)
            with named_failures(html, "written"), replacing(html) as file:
                file.write(page.begin().encode())
                pictures = Pictures()
                for event in map(Frame.load, frames):
                    pictures.look(event)
                    file.writelines(line.encode() for line in page.events([event]))
                file.write(page.pictures().encode())
                for each in pictures.wanted:
                    if (content := _picture(client, each.ref)) is not None:
                        file.write(picture_line(each.ref, each.mime, content).encode())
                file.write(page.end().encode())
            print(f"Wrote {html}.", file=sys.stderr)


def _picture(client: "GatewayClient", ref: str) -> bytes | None:
    """The content of an artifact; None where it cannot be had any more."""
    from gateway.errors import RequestRefused

    try:
        with client.stream("GET", f"/api/artifacts/{ref}", headers={"accept": "*/*"}) as response:
            return b"".join(client.chunks(response))
    except RequestRefused:
        return None


def _frames(
    client: "GatewayClient", session_id: str, turn_id: str | None, query: dict[str, str | int]
) -> Generator["Frame"]:
    """The session's events that `query` asks for, or the turn's. A stream that broke goes on from where it
    was."""
    from urllib.parse import urlencode

    from gateway.client import Unreachable
    from gateway.client.frames import read_frames
    from gateway.errors import RequestRefused

    if turn_id is not None:
        found = client.turn(session_id, turn_id)
        if "first_seq" not in found:
            return  # it has not begun yet
        query = query | {"from": found["first_seq"], "to": found["last_seq"]}
    path = f"/api/sessions/{session_id}/replay?{urlencode(query)}"
    cursor, resumed_at = 0, -1
    while True:
        try:
            with client.stream("GET", path, headers={"last-event-id": str(cursor)}) as response:
                for frame in read_frames(client.chunks(response)):
                    if frame.event == "stream_error":
                        problem = frame.load()
                        raise RequestRefused(problem["message"], code=problem["code"])
                    if frame.seq is not None:
                        cursor = frame.seq
                        yield frame
            return
        except Unreachable:
            if cursor == resumed_at:
                raise
            resumed_at = cursor
