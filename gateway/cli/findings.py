"""Findings of a check, and how they look in a terminal."""

from collections.abc import Iterable
from typing import Literal, NamedTuple

from rich.console import Console

from gateway.session_pages.words import printable

State = Literal["good", "warning", "bad"]
_MARKS: dict[State, str] = {"good": "[green]✓[/]", "warning": "[yellow]![/]", "bad": "[red]✗[/]"}


class Finding(NamedTuple):
    """One line of a report; `text` includes what to do unless all is well."""

    state: State
    subject: str
    text: str


def show_findings(findings: Iterable[Finding]) -> bool:
    """Prints them, one a line; returns whether none is bad."""
    console = Console(highlight=False, soft_wrap=True)
    healthy = True
    for finding in findings:
        console.print(f"{_MARKS[finding.state]} ", end="")
        console.print(printable(f"{finding.subject}: {finding.text}"), markup=False)
        healthy = healthy and finding.state != "bad"
    return healthy
