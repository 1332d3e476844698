"""One call of a tool, outside of any turn: for authors of tools, and to see what a tool returns."""

import asyncio
import sys
import traceback
from contextlib import AsyncExitStack
from difflib import get_close_matches
from time import monotonic
from typing import Any

import typer

from gateway.artifacts.content import bytes_content, measure, plain_name
from gateway.artifacts.kinds import kind_of
from gateway.auth import LOCAL_USER
from gateway.cli.skill_catalog import Offered, offered
from gateway.cli.terminal import to_stderr
from gateway.errors import GatewayError, ServerUnreachable, ToolError, UnknownTool
from gateway.events.envelope import EventData
from gateway.events.tool_calls import CallResult, ResultStatus
from gateway.ids import new_session_id, new_turn_id
from gateway.lexical import estimate_tokens
from gateway.messages import clean_text
from gateway.session_pages.words import describe
from gateway.settings import Settings
from gateway.skills.call_gate import refusal
from gateway.tools.arguments import check_arguments
from gateway.tools.base import File, Tool, ToolContext, ToolOutput
from gateway.tools.time_limit import run_in_time
from gateway.tools.wrapping import wrap
from gateway.turn.tool_results import tool_result
from gateway.turn.tool_run import failure

CALL_ID = "toolu_alone"
LINE = 1000
"""Characters of what an exception says; --verbose shows it all."""


def run_alone(
    settings: Settings, name: str, arguments: dict[str, Any], *, yes: bool, verbose: bool
) -> CallResult:
    """Runs the tool, with its MCP server started for it. What it emits is printed on stderr. A tool with
    effects runs when `yes` is given, or a person at the terminal agrees.

    Raises:
        UnknownTool, ServerUnreachable, BadArguments: it cannot be called.
        GatewayError: it may not be called, or no person could agree.
        typer.Abort: the person refused.
    """
    servers = [each for each in settings.mcp_servers if name.startswith(f"mcp__{each}__")]
    opened = AsyncExitStack()
    with asyncio.Runner() as runner:
        try:
            offer = offered(settings, servers, log_level="debug" if verbose else "error", purpose="run")
            tool = _find(name, runner.run(opened.enter_async_context(offer)))
            runner.run(check_arguments(tool, arguments))
            _agree(tool, yes)  # outside of the loop, which would not pass on a Ctrl-C
            return runner.run(_call(tool, arguments, settings.artifact_tokens, verbose=verbose))
        finally:
            runner.run(opened.aclose())


def _find(name: str, found: Offered) -> Tool:
    tools = found.catalog.tools
    if name in tools:
        return tools.get(name)
    for server, reason in found.unreachable.items():
        raise ServerUnreachable(f"The MCP server {server} is not reachable: {reason}.")
    if (reason := refusal(name, found.catalog, (), ())) is not None:
        raise GatewayError(reason)
    close = get_close_matches(name, [tool.spec.name for tool in tools], n=3)
    all_of_them = "gateway tools list --mcp" if name.startswith("mcp__") else "gateway tools list"
    advice = f"Did you mean {' or '.join(close)}?" if close else f"`{all_of_them}` shows those there are."
    raise UnknownTool(f"There is no tool {name[:100]}. {advice}")


def _agree(tool: Tool, yes: bool) -> None:
    if yes or tool.effect != "effectful":
        return
    if not sys.stdin.isatty():
        raise GatewayError(
            f"{tool.spec.name} has effects, so it is not run without being asked for: add --yes."
        )
    typer.confirm(f"{tool.spec.name} has effects. Run it?", err=True, abort=True)


async def _call(tool: Tool, arguments: dict[str, Any], limit: int, *, verbose: bool) -> CallResult:
    turn_id = new_turn_id()
    context = ToolContext(
        session_id=new_session_id(),
        turn_id=turn_id,
        tool_call_id=CALL_ID,
        owner=LOCAL_USER.user_id,
        idempotency_key=f"{turn_id}:{CALL_ID}",
        emit=_print_event,
    )
    began = monotonic()
    status, output = await _outcome(tool, arguments, context, verbose=verbose)
    content = clean_text(output.content)
    if output.note is not None:
        content = wrap("tool_output", output.note, content)
    result = tool_result(tool.spec.name, status, content, int((monotonic() - began) * 1000))
    for problem in output.problems:
        to_stderr(f"! {problem}")
    for file in output.files:
        to_stderr(f"+ {_described(file)}: an artifact in a turn")
    if (tokens := estimate_tokens(content)) > limit and not output.bounded:
        to_stderr(
            f"! A model would get its compact form: it has about {tokens} tokens, {limit} is the limit."
        )
    steps, writes = context.steps.traces(output.steps), list(output.memory_writes)
    return result.model_copy(update={"steps": steps or None, "memory_writes": writes or None})


async def _outcome(
    tool: Tool, arguments: dict[str, Any], context: ToolContext, *, verbose: bool
) -> tuple[ResultStatus, ToolOutput]:
    """The result as the model would read it. Of an exception it reads the type alone; its author sees
    more."""
    try:
        output = await run_in_time(tool, arguments, context)
    except Exception as error:  # noqa: BLE001 - a tool may raise anything
        if not isinstance(error, ToolError):
            to_stderr("".join(traceback.format_exception(error)) if verbose else _in_short(error))
        status, message = failure(error)
        return status, ToolOutput(message)
    return "error" if output.is_error else "ok", output


def _described(file: File) -> str:
    name = plain_name(file.name)
    _, mime = kind_of(measure(bytes_content(file.data)), name, file.mime)
    named = [name] if name else []
    return ", ".join([*named, mime, f"{len(file.data)} bytes"])


def _in_short(error: Exception) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    summary = " ".join(traceback.format_exception_only(error)[-1].split())
    return f"{summary[:LINE]}, at {place.filename}:{place.lineno} in {place.name}"


def _print_event(data: EventData) -> None:
    line = describe(data.event_type, data.model_dump(mode="json", exclude_none=True))
    if line is not None:
        to_stderr(" ".join(line.split()))
