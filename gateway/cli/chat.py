"""`gateway chat`: a conversation in the terminal, over the same HTTP API as every other client."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.options import LOCAL_URL, Key, Url

if TYPE_CHECKING:
    from gateway.client import GatewayClient


def chat(
    message: Annotated[str | None, typer.Argument(help="One question; without it, a conversation.")] = None,
    url: Url = LOCAL_URL,
    session: Annotated[str | None, typer.Option(help="Id of a session to go on with.")] = None,
    key: Key = None,
    raw: Annotated[bool, typer.Option("--json", help="Print the events as they are, one a line.")] = False,
) -> None:
    """Chat with a running gateway. Ctrl-C stops the answer, on the server too."""
    from gateway.client import GatewayClient

    with GatewayClient(url, key) as client:
        session_id = session or str(client.create_session()["id"])
        if message is not None:
            sys.exit(_ask(client, session_id, message, raw=raw))
        print(f"Session {session_id}. Ctrl-D ends it, Ctrl-C stops an answer.", file=sys.stderr)
        while (line := _read_line()) is not None:
            if line.strip():
                _ask(client, session_id, line, raw=raw)


def _read_line() -> str | None:
    try:
        return input("› " if sys.stdin.isatty() else "")
    except (EOFError, KeyboardInterrupt):
        print(file=sys.stderr)
        return None


def _ask(client: "GatewayClient", session_id: str, message: str, *, raw: bool) -> int:
    """One turn, shown as it comes; what it returns is the exit code."""
    from gateway.cli.turn_view import Transcript

    turn = client.start_turn(session_id, message)
    transcript = Transcript(raw=raw)
    cursor = int(turn["seq"])
    stopping = False
    while True:
        try:
            for frame in client.follow_session(session_id, after=cursor, turn_id=turn["turn_id"]):
                cursor = frame.seq or cursor
                transcript.show(frame)
            return transcript.exit_code
        except KeyboardInterrupt:
            if stopping:
                raise
            stopping = True
            _stop(client, turn)


def _stop(client: "GatewayClient", turn: dict[str, Any]) -> None:
    from gateway.errors import GatewayError

    print("\nstopping…", file=sys.stderr)
    try:
        client.cancel(turn["session_id"], turn["turn_id"])
    except GatewayError as error:
        print(f"The turn could not be stopped and goes on: {error}", file=sys.stderr)
