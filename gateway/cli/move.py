"""`gateway move`: everything from one database into another."""

from typing import Annotated

import typer


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
    from gateway.cli.progress_line import ProgressLine
    from gateway.cli.terminal import to_stderr
    from gateway.settings import load_settings
    from gateway.wiring.database_move import move_everything
    from gateway.wiring.encryption import open_keyring

    moved = move_everything(source, target, blobs, ProgressLine().show, open_keyring(load_settings()))
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
