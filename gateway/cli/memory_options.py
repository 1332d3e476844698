"""Options that all commands of the memory take: whose memories, which of them, what they say."""

import sys
from typing import Annotated

import typer

from gateway.storage.memories import MemoryType

MAX_INPUT = 1_048_576
"""Bytes of a content on the standard input."""

Id = Annotated[str, typer.Argument(help="Of the memory, as `gateway memory list` shows it.")]
User = Annotated[str, typer.Option(help="Whose memories.")]
Role = Annotated[str | None, typer.Option(help="As this role, or interface, sees them. [default: all]")]
Project = Annotated[str | None, typer.Option(help="As they are seen in this project. [default: all]")]
Kind = Annotated[MemoryType | None, typer.Option("--type", help="What kind of memory.")]
Tags = Annotated[list[str] | None, typer.Option("--tag", help="May be given several times.")]
Importance = Annotated[int | None, typer.Option(min=1, max=5, help="5 is always to be heeded.")]
Pinned = Annotated[
    bool | None, typer.Option("--pinned/--not-pinned", help="Whether it always stands in the prompt.")
]
Version = Annotated[int | None, typer.Option(min=1, help="Only while it is at this version.")]
Content = Annotated[str, typer.Argument(help="What to remember, in one sentence; - reads it from stdin.")]


def given_text(text: str) -> str:
    """Returns what was given, or what is on the standard input."""
    if text != "-":
        return text
    given = sys.stdin.buffer.read(MAX_INPUT + 1)
    if len(given) > MAX_INPUT:
        raise typer.BadParameter(f"There are more than {MAX_INPUT} bytes on stdin.")
    try:
        return given.decode()
    except UnicodeDecodeError:
        raise typer.BadParameter("What is on stdin is not UTF-8.") from None
