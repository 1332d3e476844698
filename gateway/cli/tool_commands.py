"""`gateway tools`: what the model can call, and one tool run alone. No gateway has to run."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gateway.cli.skill_commands import Servers

if TYPE_CHECKING:
    from gateway.events.tool_calls import CallResult

MAX_INPUT = 1_048_576
"""Bytes of arguments on the standard input."""


def list_(*, mcp: Servers = False) -> None:
    """Show the tools that the model can call: what a repetition would do, and their parameters."""
    from gateway.cli.skill_catalog import look
    from gateway.cli.terminal import show_table
    from gateway.tools.base import parameters

    tools = look(mcp=mcp).catalog.tools
    rows = [(each.spec.name, each.effect, parameters(each)) for each in tools]
    show_table(("Name", "Effect", "Parameters"), rows)


def run(
    name: Annotated[str, typer.Argument(help="The tool, as `gateway tools list` shows it.")],
    arguments: Annotated[str, typer.Argument(help="One JSON object; - reads it from stdin.")] = "{}",
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Run a tool with effects without asking.")] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Show what went into steps and came out, and tracebacks.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the data of the tool_result event, not its content alone.")
    ] = False,
) -> None:
    """Run one tool alone: its result goes to stdout, its progress and steps to stderr."""
    from gateway.cli.one_call import run_alone
    from gateway.settings import load_settings

    result = run_alone(load_settings(), name, _read(arguments), yes=yes, verbose=verbose)
    if as_json:
        print(result.model_dump_json(exclude_none=True))
    else:
        _show(result, verbose=verbose)
    sys.exit(0 if result.status == "ok" else 1)


def _read(arguments: str) -> dict[str, Any]:
    from gateway.model.strict_json import parse_object

    try:
        if arguments == "-":
            given = sys.stdin.buffer.read(MAX_INPUT + 1)
            if len(given) > MAX_INPUT:
                raise ValueError(f"more than {MAX_INPUT} bytes")
            arguments = given.decode()
        return parse_object(arguments)
    except UnicodeDecodeError:
        problem = "not UTF-8"
    except ValueError as error:
        problem = str(error)
    raise typer.BadParameter(
        f'The arguments are {problem}. Give one JSON object, such as \'{{"query": "resume"}}\'.'
    )


def _show(result: "CallResult", *, verbose: bool) -> None:
    import orjson

    from gateway.cli.terminal import to_stderr
    from gateway.session_pages.words import printable

    for step in result.steps or ():
        failed = f"  ✗ {step.error}" if step.error else ""
        to_stderr(f"{step.step_id}  {step.step_name}  {step.duration_ms} ms{failed}")
        if verbose:
            to_stderr(f"    input   {orjson.dumps(step.input).decode()}")
            to_stderr(f"    output  {orjson.dumps(step.output).decode()}")
    for write in result.memory_writes or ():
        to_stderr(f"✎ {write.type} of {write.owner_type} {write.owner_id}: {write.content}")
    to_stderr(f"← {result.name} {result.status} in {result.duration_ms} ms")
    if result.status == "ok":
        print(printable(result.content))
    else:
        to_stderr(f"✗ {result.content}")
