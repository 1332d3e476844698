"""`gateway backup` and `gateway restore`: everything into a folder, and back."""

from pathlib import Path
from typing import Annotated

import typer


def backup(
    folder: Annotated[Path, typer.Argument(help="A new folder; with --check one that has a backup.")],
    check: Annotated[
        bool,
        typer.Option("--check", help="Make none: read all of one that is there, and say if it is whole."),
    ] = False,
    without_blobs: Annotated[
        bool,
        typer.Option(
            "--without-blobs", help="Leave archives and artifacts in their bucket, which must keep them."
        ),
    ] = False,
) -> None:
    """Back up everything into a folder, while the gateway runs. That is sessions, memories, archives and
    artifacts, and the journal of `gateway slack`; not the settings, prompts and encryption keys. It is whole
    when its manifest.json is there."""
    from gateway.cli.progress_line import ProgressLine
    from gateway.cli.terminal import to_stderr
    from gateway.settings import load_settings
    from gateway.wiring import backups

    line = ProgressLine()
    if check:
        manifest, missing = backups.check(folder, line.show)
    else:
        manifest = backups.back_up_everything(
            load_settings(), folder, line.show, with_blobs=not without_blobs
        )
        missing = manifest.missing_count
    line.end()
    for path in manifest.missing:
        to_stderr(f"! missing when it was made: {path}")
    if missing:
        to_stderr(f"! {missing} archives or artifacts that rows name were lost before the backup was made.")
    if manifest.keys:
        to_stderr(f"! It may need the encryption keys {', '.join(manifest.keys)}, which are not in it.")
    said = "is whole" if check else "is done"
    print(f"The backup {folder} {said}: {manifest.files} files, {manifest.bytes / 1_000_000:.1f} MB.")


def restore(
    folder: Annotated[Path, typer.Argument(help="A folder that `gateway backup` wrote.")],
    replace: Annotated[
        bool,
        typer.Option("--replace", help="Move what is there into a folder beside it, instead of refusing."),
    ] = False,
) -> None:
    """Restore a backup to where the settings say. No gateway may run on the data folder. The backup is
    checked first, and it stays as it is."""
    from gateway.cli.progress_line import ProgressLine
    from gateway.settings import load_settings
    from gateway.wiring import backups

    line = ProgressLine()
    restored = backups.restore(load_settings(), folder, line.show, replace=replace)
    line.end()
    if restored.aside is not None:
        print(f"What was there is in {restored.aside}: remove it when nothing is missed.")
    print(f"{restored.files} files of {folder} are restored.")
