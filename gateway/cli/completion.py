"""`gateway completion`: what makes a shell complete commands, options and session ids."""

from typing import Annotated, Literal

import typer


def completion(
    shell: Annotated[Literal["bash", "zsh", "fish"], typer.Argument(help="For which shell.")],
) -> None:
    """Print a script that completes with Tab."""
    # typer exports neither this nor completion_init, only an option that edits files of the shell's
    from typer.completion import get_completion_script  # pyright: ignore[reportPrivateImportUsage]

    print(get_completion_script(prog_name="gateway", complete_var="_GATEWAY_COMPLETE", shell=shell))
