"""`gateway move`: everything from one database into another."""

import sys
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from gateway.storage.moving import MoveProgress


def move(
    source: Annotated[str, typer.Argument(help="sqlite:///PATH or postgresql://…")],
    target: Annotated[str, typer.Argument(help="The same; an empty one, which is made if it is a file.")],
    blobs: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="FROM TO",
            help="Archives and artifacts as well: folders, file:///PATH or s3://BUCKET/PREFIX. Without it "
            "they stay where they are, and GATEWAY_BLOB_URL must lead there.",
        ),
    ] = None,
) -> None:
    """Move everything from one database into another. That is sessions, events and memories, and if asked,
    archives and artifacts. No gateway may run on either side. What was interrupted goes on when it is called
    again; the source stays as it is."""
    from gateway.cli.terminal import to_stderr
    from gateway.settings import load_settings
    from gateway.wiring.database_move import move_everything
    from gateway.wiring.encryption import open_keyring

    moved = move_everything(source, target, blobs, _ProgressLine().show, open_keyring(load_settings()))
    if moved.blobs is not None:
        print(f"{moved.blobs.copied + moved.blobs.present} blobs ({moved.blobs.present} were there already).")
        for what, paths in (("missing", moved.blobs.missing), ("damaged", moved.blobs.damaged)):
            for path in paths:
                to_stderr(f"! {what} at the source: {path}")
    elif moved.named_blobs:
        print(
            f"{moved.named_blobs} blobs stay where they are: GATEWAY_BLOB_URL must lead there (or --blobs)."
        )
    print(f"{moved.rows} rows in {moved.target}, the same as in {moved.source}.")


class _ProgressLine:
    """One line for each step: written over on a terminal, elsewhere when the step is done."""

    def __init__(self) -> None:
        self._step = ""

    def show(self, progress: "MoveProgress") -> None:
        over = sys.stderr.isatty()
        if not progress.total or (not over and progress.done < progress.total):
            return
        begins = "" if not self._step or self._step == progress.step else "\n"
        self._step = progress.step
        line = f"{progress.step}: {progress.done:,} of {progress.total:,}"
        print(
            f"{begins}\r{line}\x1b[K" if over else line, end="" if over else "\n", file=sys.stderr, flush=True
        )
