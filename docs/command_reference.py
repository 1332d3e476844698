"""The commands as docs/command-line.md lists them: what their help says, as Markdown."""

from collections.abc import Iterator
from typing import Any

import typer
import typer.core
import typer.main

from gateway.cli.command_examples import EXAMPLES
from gateway.cli.command_tree import command_tree

TYPED = frozenset(
    {
        'gateway chat "What is 17*23?"',
        'gateway chat --print --output-format json "What is 17*23?" | jq -r .result',
        "gateway export --all -o sessions.jsonl",
        "gateway config",
        "gateway config --json | jq -r '.[] | select(.origin != \"default\").name'",
        "gateway sessions list",
        "gateway sessions list invoice --archived all --json",
        "gateway approvals list",
        "gateway webhooks list",
        "gateway schedules list",
        'gateway schedules add "Summarise the open orders." --cron "0 8 * * 1-5" -z Europe/Berlin',
        'gateway schedules add "提醒我开会。" --at 2030-12-24T08:00 -z Asia/Shanghai',
        "gateway skills list",
        "gateway skills list --type markdown --json",
        "gateway skills new check-invoice",
        "gateway tools list",
        'gateway tools run calculate \'{"expression": "17*23"}\'',
        'echo \'{"query": "resume"}\' | gateway tools run search_docs -',
        "gateway memory list",
        "gateway memory list --type preference --json",
        'gateway memory search "what tea do I like?"',
        'gateway memory save "I like green tea." --type preference --tag food',
        "gateway memory export -o memories.jsonl",
        "gateway memory import memories.jsonl",
        "gateway memory profile",
        "gateway documents list",
        "gateway documents list --deprecated",
    }
)
"""Examples that anybody can type beside a gateway: they need no id, no file and no service of the reader's.
The tests of the documents type them."""


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
    # A block of text behind one that is typed would be what that prints.
    for language, is_typed in (("text", False), ("sh", True)):
        if lines := [line for line in EXAMPLES[path] if (line in TYPED) == is_typed]:
            yield "\n".join([f"```{language}", *lines, "```"])
