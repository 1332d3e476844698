"""`gateway export` and `gateway import`: a session as a file."""

import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from gateway.cli.options import LOCAL_URL, Key, Url
from gateway.cli.session_commands import find_session, known_sessions

if TYPE_CHECKING:
    from gateway.client import GatewayClient

CHUNK = 262_144
OF_ALL = b'{"kind":"sessions",'
"""How a file with all sessions begins."""


@contextmanager
def named_failures(path: object, verb: Literal["read", "written"]) -> Generator[None]:
    """Raises errors.GatewayError, with the reason, where a file cannot be read or written."""
    from gateway.errors import GatewayError

    try:
        yield
    except OSError as error:
        raise GatewayError(f"{path} cannot be {verb}: {error.strerror}.") from None


def export(
    session: Annotated[
        str | None,
        typer.Argument(
            metavar="SESSION",
            help="Its id, or how it begins; without it, --all.",
            autocompletion=known_sessions,
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="File to write. [default: stdout]")
    ] = None,
    form: Annotated[
        Literal["jsonl", "markdown", "html"],
        typer.Option("--format", help="jsonl, or a page to share: markdown or html."),
    ] = "jsonl",
    *,
    every: Annotated[
        bool, typer.Option("--all", help="All sessions, archived ones too, in one file.")
    ] = False,
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """Export a session to a file, or all sessions. It is complete, so that `gateway import` reads it,
    or a page to share."""
    if every == (session is not None) or (every and form != "jsonl"):
        raise typer.BadParameter("Give a session, or --all, which is jsonl.")
    from gateway.client import GatewayClient
    from gateway.files.replacement import replacing

    with (
        GatewayClient(url, key) as client,
        client.stream(
            "GET",
            "/api/export"
            if session is None
            else f"/api/sessions/{find_session(client, session)['id']}/export?format={form}",
        ) as response,
    ):
        chunks = client.chunks(response)
        lines = _whole(chunks) if form == "jsonl" else chunks
        if output is None:
            for chunk in lines:
                sys.stdout.buffer.write(chunk)
            sys.stdout.buffer.flush()
            return
        with named_failures(output, "written"), replacing(output) as file:
            file.writelines(lines)
        print(f"Wrote {output}.", file=sys.stderr)


def import_(
    file: Annotated[
        Path,
        typer.Argument(
            help="A file that `gateway export` wrote, or a file of ChatGPT, Claude, LibreChat or Open WebUI."
        ),
    ],
    *,
    preview: Annotated[
        bool, typer.Option("--preview", help="Of another product: list the chats, import nothing.")
    ] = False,
    only: Annotated[
        str | None, typer.Option(help="Of another product: chats by their numbers, such as 1-40,55.")
    ] = None,
    url: Url = LOCAL_URL,
    key: Key = None,
) -> None:
    """Import a session from an exported file, or all sessions in it. A damaged file is refused as a
    whole; of an export of another product all chats that can be read are imported, each once."""
    from gateway.cli.terminal import to_stderr
    from gateway.client import GatewayClient

    with named_failures(file, "read"), GatewayClient(url, key) as client, file.open("rb") as opened:
        chunks = iter(lambda: opened.read(CHUNK), b"")
        first = next(chunks, b"")
        if _is_foreign(first):
            raise typer.Exit(_import_chats(client, chain([first], chunks), preview=preview, only=only))
        if preview or only is not None:
            raise typer.BadParameter("--preview and --only are for exports of other products.")
        if not first.startswith(OF_ALL):
            print(client.import_session(chain([first], chunks))["id"])
            return
        found = client.import_sessions(chain([first], chunks))
    for each in found["reasons"]:
        to_stderr(f"Session {each['number']} of the file: {each['message']}")
    print(f"{found['imported']} imported, {found['refused']} refused")
    raise typer.Exit(int(found["refused"] > 0))


def _is_foreign(first: bytes) -> bool:
    """Whether a file that begins so is a zip file, or JSON that no export of ours is."""
    begins = first.removeprefix(b"\xef\xbb\xbf").lstrip()
    return begins.startswith((b"PK", b"[")) or (
        begins.startswith(b"{") and not begins.startswith(b'{"kind":')
    )


def _import_chats(
    client: "GatewayClient", chunks: Iterator[bytes], *, preview: bool, only: str | None
) -> int:
    """Tells of each chat as it is done. Returns the exit status."""
    from gateway.cli.terminal import to_stderr

    counts: dict[str, int] = {}
    for each in client.import_chats(chunks, preview=preview, only=only):
        if each["kind"] != "chat":
            continue
        counts[each["state"]] = counts.get(each["state"], 0) + 1
        title = each.get("title") or "untitled"
        if each["state"] == "refused":
            to_stderr(f"Chat {each['number']} of the file: {each['reason']}")
        elif preview:
            print(f"{each['number']}\t{each['state']}\t{each['messages']} messages\t{title}")
        elif each["state"] == "imported":
            print(f"{each['session_id']}\t{title}")
    words = {
        "new": "can be imported",
        "imported": "imported",
        "there": "were there already",
        "refused": "refused",
    }
    to_stderr(", ".join(f"{counts[state]} {said}" for state, said in words.items() if state in counts))
    return int(counts.get("refused", 0) > 0)


def _whole(chunks: Iterator[bytes]) -> Iterator[bytes]:
    """The chunks as they are. Raises errors.GatewayError after the last one unless the file is complete."""
    import orjson

    from gateway.errors import GatewayError

    last, broken_off = b"", None
    try:
        for chunk in chunks:
            *_, ending = (last + chunk).rstrip(b"\n").rsplit(b"\n", 1)
            last = ending + (b"\n" if chunk.endswith(b"\n") else b"")
            yield chunk
    except GatewayError as error:  # behind a line that says why, most often
        broken_off = error
    try:
        closing = orjson.loads(last)
        if closing["kind"] == "sessions_end":
            for each in closing["left_out"]:
                print(f"Left out: {each['session_id']}, {each['code']}.", file=sys.stderr)
            if broken_off is not None:
                raise GatewayError("Of some sessions not all could be read: import says which.")
        if closing["kind"] in {"end", "sessions_end"}:
            return
        reason = closing["message"] if closing["kind"] == "error" else "it is cut off"
    except (orjson.JSONDecodeError, KeyError, TypeError):
        if broken_off is not None:
            raise broken_off from None
        reason = "it is cut off"
    raise GatewayError(f"The export is not complete: {reason}")
