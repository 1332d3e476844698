"""The commands as docs/command-line.md lists them: what their help says, as Markdown."""

from collections.abc import Iterator
from typing import Any

import typer
import typer.core
import typer.main

from gateway.cli.command_tree import command_tree
from gateway.cli.examples import EXAMPLES


def commands() -> str:
    """A section for each command, with its arguments, options and examples."""
    return "\n\n".join(_sections(typer.main.get_group(command_tree()), "")) + "\n"


def _sections(group: typer.core.TyperGroup, path: str) -> Iterator[str]:
    for name, command in group.commands.items():
        inner = f"{path} {name}".strip()
        if isinstance(command, typer.core.TyperGroup):
            yield from _sections(command, inner)
        else:
            yield "\n\n".join(part for part in _section(inner, command) if part)


def _section(path: str, command: Any) -> Iterator[str]:
    yield f"### gateway {path}"
    yield "\n\n".join(" ".join(each.split()) for each in command.help.split("\n\n"))
    context = typer.Context(command)
    shown = [each.get_help_record(context) for each in command.params]
    rows = [
        "| `{}` | {} |".format(*(each.replace("|", "\\|") for each in (name, says)))
        for name, says in (each for each in shown if each)
    ]
    if rows:
        yield "\n".join(["| option | meaning |", "|---|---|", *(" ".join(row.split()) for row in rows)])
    yield "\n".join(["```text", *EXAMPLES[path], "```"])
